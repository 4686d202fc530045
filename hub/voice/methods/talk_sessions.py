"""`talk.session.*`: a talk of an OpenClaw client, whose sound goes through the gateway both ways.

The client sends what its microphone hears and plays what comes; what is said goes into the conversation that it named,
as the client's own words and with its rights. It is told all as `talk.event`, in OpenClaw's shapes.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import HubError, InvalidRequest, LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, integer, number, string
from hub.core.surfaces import Method, MethodCall, Push
from hub.core.tasks import TaskOwner
from hub.models.transcription import SpeechPiece, TellWords
from hub.sessions.keys import SessionKey, main_key
from hub.voice.contract import BYTES_PER_S, Sound
from hub.voice.ear import Ear
from hub.voice.methods.talk import CONSULT, OWNER, PROVIDER, RATE, REALTIME, RELAY, SILENCE_MS, TALK
from hub.voice.mouth import REWIND_S
from hub.voice.segmenter import SpeechBegan
from hub.voice.sound import Resampler, read_wav, resampled
from hub.voice.talk import Put, Talk, TalkState
from hub.voice.talk_engines import TalkEngines
from hub.voice.turn import Turn

EVENT = "talk.event"
SESSIONS_LIMIT, EACH_LIMIT = 16, 2
"""Talks at once, and of one client."""
LIFE_MS = 1_800_000
READY_S = 0.2
"""A client is told that it may speak after it knows the id of its talk."""
AUDIO_LIMIT_CHARS = 131_072
PIECE_BYTES = 24_000
LATE_S = 1.5
"""A client that does not say what it played has played it so much later."""
RELAYED: Mapping[str, Any] = {"mode": REALTIME, "transport": RELAY, "brain": CONSULT}
DICTATED: Mapping[str, Any] = {"mode": "transcription", "transport": RELAY, "brain": "none"}
MULAW_RATE = 8_000
_FORMAT = {
    f"{way}{key}": value
    for way in ("input", "output")
    for key, value in (("Encoding", "pcm16"), ("SampleRateHz", RATE))
}
_MULAW_FORMAT = {"inputEncoding": "g711_ulaw", "inputSampleRateHz": MULAW_RATE}
_ID = All(string, Length(min=1, max=128))
_MODES = In(("status", "steer", "cancel", "followup"))

MakeTalk = Callable[[str, Authority, Put], Talk]
"""Begins a talk in a conversation."""
Steer = Callable[[MethodCall, str, str], Awaitable[None]]
"""Sends the text of a call to a conversation, as its client does, in a mode of its queue."""


def _linear(code: int) -> bytes:
    """Return the sample that a code of G.711's mu-law is."""
    code = ~code & 0xFF
    size = (((code & 0x0F) << 3) + 0x84 << (code >> 4 & 7)) - 0x84
    return (-size if code & 0x80 else size).to_bytes(2, "little", signed=True)


_MULAW = tuple(map(_linear, range(256)))


class _ClientSession:
    """What a client began, and is told of by events.

    Args:
        kind: Its mode, transport and brain.
        named: The key of its id in events.
        push: Sends an event.
    """

    def __init__(
        self, kind: Mapping[str, Any], named: str, clock: Clock, connection_id: str, push: Callable[[Push], Any]
    ) -> None:
        self.id, self.connection_id = f"talk-{new_id()}", connection_id
        self._kind, self._named, self._clock, self._push = kind, named, clock, push
        self._seq = self._turns = 0
        self._turn = ""
        self._is_over = True

    def _next_turn(self, type: str, payload: Mapping[str, Any]) -> None:
        self._is_over = False
        self._turns += 1
        self._turn = f"turn-{self._turns}"
        self.tell(type, "turn.started", payload)

    @property
    def turn(self) -> str:
        """The id of the present turn; empty before the first."""
        return self._turn

    def tell(self, type: str | None, event: str, payload: Mapping[str, Any], *, audio: bytes | None = None) -> None:
        """Send an event, in the shape of the relay and in the common one of talks."""
        self._seq += 1
        common: dict[str, Any] = {
            "id": new_id(),
            "type": event,
            "sessionId": self.id,
            "seq": self._seq,
            "timestamp": datetime.fromtimestamp(self._clock.time(), UTC).isoformat(),
            "provider": PROVIDER,
            **self._kind,
            "payload": dict(payload),
        }
        if event.partition(".")[0] != "session":
            common["turnId"] = self._turn or "turn-0"
        if event.endswith((".done", ".ended", ".cancelled", ".closed", ".error")):
            common["final"] = True
        shown: dict[str, Any] = {self._named: self.id, "talkEvent": common}
        if type is not None:
            shown |= {"type": type, **payload}
        if audio is not None:
            shown["audioBase64"] = base64.b64encode(audio).decode()
        self._push(Push(EVENT, shown, scope=None, connection_ids=frozenset({self.connection_id})))


class _Dictation(_ClientSession):
    """Somebody who dictates: what they say becomes text, and nothing answers.

    Args:
        ear: Makes what hears, given what gets the words so far.
    """

    def __init__(
        self,
        ear: Callable[[Callable[[Turn, str], None]], Ear],
        tasks: TaskOwner,
        clock: Clock,
        connection_id: str,
        push: Callable[[Push], Any],
    ) -> None:
        super().__init__(DICTATED, "transcriptionSessionId", clock, connection_id, push)
        self._ear = ear(self._words)
        self._resampler = Resampler(MULAW_RATE)
        self._spoken: Turn | None = None
        self._said: asyncio.Queue[tuple[Turn, bytes]] = asyncio.Queue()
        self._writing = tasks.spawn(self._write(), name="write down what a client says")

    def feed(self, data: bytes) -> None:
        """Take sound of G.711, which the protocol has here."""
        self._hear(self._resampler.feed(b"".join(map(_MULAW.__getitem__, data))))

    def _hear(self, samples: bytes) -> None:
        for each in self._ear.feed(samples):
            if isinstance(each, SpeechBegan):
                self._spoken = Turn(self.id, "", self._clock.time(), self._clock.monotonic(), None)
                self._ear.attend()
                self._next_turn("speechStart", {})
            elif (turn := self._spoken) is not None:
                self._spoken = None
                self._ear.rest()
                if each.sound:
                    self._said.put_nowait((turn, each.sound))
                else:
                    turn.hear_no_more()
        if self._spoken is not None:
            self._ear.hear(self._spoken)

    def _words(self, turn: Turn, words: str) -> None:
        self.tell("partial", "transcript.delta", {"text": words})

    async def close(self) -> None:
        """End it, once all that was said is written."""
        self._hear(bytes(BYTES_PER_S * (SILENCE_MS + 200) // 1_000 // 2 * 2))
        await self._said.join()
        self._writing.cancel()

    async def _write(self) -> None:
        while True:
            turn, sound = await self._said.get()
            try:
                if text := await self._ear.understood(turn, sound):
                    self.tell("transcript", "transcript.done", {"text": text, "final": True})
            except HubError as error:
                self.tell("error", "session.error", {"message": error.message})
            finally:
                self._said.task_done()


class _Said(Struct, frozen=True):
    """A sentence that the client plays.

    Attributes:
        begins: When, in seconds.
        from_s: How much of it was played before.
    """

    number: int
    sound: Sound
    begins: float
    from_s: float = 0.0

    @property
    def ends(self) -> float:
        """When it has been played."""
        return self.begins + self.sound.seconds - self.from_s


class _Session(_ClientSession):
    """One talk, and what its client was told.

    Args:
        push: Sends an event to the client.

    Attributes:
        is_active: Whether it works or speaks.
    """

    def __init__(
        self, clock: Clock, tasks: TaskOwner, connection_id: str, key: str, push: Callable[[Push], Any]
    ) -> None:
        super().__init__(RELAYED, "relaySessionId", clock, connection_id, push)
        self.key, self._tasks = key, tasks
        self.talk: Talk
        self._hears = Resampler(RATE)
        self._said: list[_Said] = []
        self._speaking = self._is_paused = self.is_active = False

    def feed(self, data: bytes) -> None:
        """Take samples at `RATE`."""
        self.talk.feed(self._hears.feed(data))

    async def close(self) -> None:
        """End the talk."""
        await self.talk.close()

    def put(self, told: Mapping[str, Any], sound: bytes | None) -> None:
        """Take what the talk tells; see `Talk`."""
        if told["t"] == "state":
            self.is_active = told["state"] != TalkState.LISTENING.value
        match told["t"]:
            case "hearing" if told["on"] and not self._is_paused:
                self._begin()
            case "words":
                self.tell("transcript", "transcript.delta", {"role": "user", "text": told["text"], "final": False})
            case "heard":
                self._begin()
                self.tell("transcript", "transcript.done", {"role": "user", "text": told["text"], "final": True})
            case "said":
                words = {"role": "assistant", "text": told["text"], "final": True}
                self.tell("transcript", "output.text.done", words)
                if sound is not None:
                    self._play(told["n"], sound)
            case "pause":
                self._pause()
            case "resume":
                self._resume()
            case "hush":
                self.clear("barge-in")
            case "error":
                self.tell("error", "session.error", {"message": told["why"]})
            case "state" if told["state"] == TalkState.SPEAKING.value:
                self._speaking = True
            case "state" if self._speaking and told["state"] == TalkState.LISTENING.value:
                self._speaking = False
                self.tell("audioDone", "output.audio.done", {})
                self.tell(None, "turn.ended", {})
                self._is_over = True

    def _begin(self) -> None:
        if self._is_over or self._said:
            self._next_turn("inputAudio", {"byteLength": 0})

    def _play(self, number: int, data: bytes) -> None:
        recording = read_wav(data)
        if recording is None:
            self.tell("error", "session.error", {"message": str(phrase("what speaks here made no recording"))})
            self._played(number)
            return
        self._send(number, resampled(recording, RATE))

    def _send(self, number: int, sound: Sound, from_s: float = 0.0) -> None:
        """Have a sentence played behind the others, from a place on; while it is paused, later."""
        begins = max([self._clock.monotonic(), *(each.ends for each in self._said)])
        said = _Said(number, sound, begins, from_s)
        self._said.append(said)
        if self._is_paused:
            return
        for at in range(2 * int(from_s * sound.rate), len(sound.samples), PIECE_BYTES):
            piece = sound.samples[at : at + PIECE_BYTES]
            self.tell("audio", "output.audio.delta", {"byteLength": len(piece)}, audio=piece)
        self.tell("mark", "output.audio.done", {"markName": str(number)})
        self._tasks.spawn(self._play_out(said), name="wait for a client's loudspeaker")

    async def _play_out(self, said: _Said) -> None:
        await self._clock.sleep(said.ends + LATE_S - self._clock.monotonic())
        if said in self._said:  # else it was played, or is played anew
            self._played(said.number)

    def _pause(self) -> None:
        """Have the client be silent for now: it knows no pause, so it forgets all, and is sent the rest again."""
        number, part = self.place()
        self.talk.heard(number, part)
        self._is_paused = True
        rest = [each for each in self._said if each.number >= number]
        self._said = [
            _Said(each.number, each.sound, 0.0, part * each.sound.seconds if each.number == number else 0.0)
            for each in rest
        ]
        self.tell("clear", "output.audio.done", {"reason": "barge-in"})

    def _resume(self) -> None:
        self._is_paused = False
        rest, self._said = self._said, []
        for each in rest:
            self._send(each.number, each.sound, max(0.0, each.from_s - REWIND_S))

    def _played(self, number: int) -> None:
        self._said = [each for each in self._said if each.number > number]
        self.talk.played(number)

    def acknowledge(self, mark: str) -> None:
        """A sentence was played."""
        if mark.isdecimal():
            self._played(int(mark))

    def place(self) -> tuple[int, float]:
        """Return the sentence that is played now, and how much of it was."""
        now = self._clock.monotonic()
        begun = [each for each in self._said if each.begins <= now]
        if not begun:
            return 0, 0.0
        last, seconds = begun[-1], begun[-1].sound.seconds
        return last.number, min(1.0, (now - last.begins + last.from_s) / seconds if seconds else 1.0)

    def clear(self, reason: str) -> bool:
        """Have the client be silent; return whether it spoke."""
        was_speaking, self._said = bool(self._said), []
        self._speaking = self._is_paused = False
        self.tell("clear", "output.audio.done", {"reason": reason})
        if self._turn and not self._is_over:
            self.tell(None, "turn.cancelled", {"reason": reason})
            self._is_over = True
        return was_speaking


class TalkSessions:
    """The methods.

    Args:
        talk: Begins a talk.
        engines: Hear and speak.
        steer: Sends what is typed during a talk.
        push: Sends events.
    """

    def __init__(
        self,
        talk: MakeTalk,
        agents: Agents,
        clock: Clock,
        tasks: TaskOwner,
        *,
        engines: TalkEngines,
        steer: Steer,
        push: Callable[[Push], Any],
    ) -> None:
        self._make, self._agents, self._clock, self._tasks = talk, agents, clock, tasks
        self._engines = engines
        self._steer_run, self._push = steer, push
        self._sessions: dict[str, _Session | _Dictation] = {}

    def methods(self) -> list[Method]:
        """Return the methods."""
        create = Schema(
            {
                Optional("sessionKey"): AnyOf(None, All(string, Length(max=2_048))),
                Optional("mode", default=REALTIME): In((REALTIME, DICTATED["mode"])),
                Optional("transport", default=RELAY): In((RELAY,)),
                Optional("brain"): In((CONSULT, DICTATED["brain"])),
                Optional("ttlMs", default=LIFE_MS): All(integer, Range(min=1_000, max=3_600_000)),
            }
        )
        one = {Required("sessionId"): _ID}
        audio = All(string, Length(min=1, max=AUDIO_LIMIT_CHARS))
        reason = {Optional("turnId"): AnyOf(None, _ID), Optional("reason"): AnyOf(None, All(string, Length(max=200)))}
        said = {Required("text"): All(string, Length(min=1, max=20_000)), Optional("mode"): AnyOf(None, _MODES)}
        heard = {Required("audioBase64"): audio, Optional("timestamp"): AnyOf(None, number)}
        return [
            Method("talk.session.create", self._create, OWNER, create, TALK),
            Method("talk.session.appendAudio", self._append, OWNER, Schema(one | heard), TALK),
            Method("talk.session.cancelOutput", self._cancel, OWNER, Schema(one | reason), TALK),
            Method("talk.session.acknowledgeMark", self._mark, OWNER, Schema(one | {Required("markName"): _ID}), TALK),
            Method("talk.session.steer", self._steer, OWNER, Schema(one | said), TALK),
            Method("talk.session.close", self._close, OWNER, Schema(one), TALK),
        ]

    def left(self, connection_id: str) -> None:
        """End the talks of a client that has left."""
        for session in [each for each in self._sessions.values() if each.connection_id == connection_id]:
            self._tasks.spawn(self._end(session, "completed"), name="end the talk of a client that left")

    async def _create(self, call: MethodCall) -> Mapping[str, Any]:
        if call.connection_id is None:
            raise InvalidRequest(phrase("a talk needs a WebSocket: its sound comes back as events"))
        kind = DICTATED if call.params["mode"] == DICTATED["mode"] else RELAYED
        if call.params.get("brain", kind["brain"]) != kind["brain"]:
            raise InvalidRequest(
                phrase("a talk of the mode {mode} has the brain {brain}", mode=kind["mode"], brain=kind["brain"])
            )
        if not self._engines.hears() or (kind is RELAYED and not self._engines.speaks()):
            details = {"talkIssue": {"code": "realtime_unavailable", "transport": RELAY, "phase": "request"}}
            raise InvalidRequest(phrase("nothing here hears and speaks: set `voice:` (docs/voice.md)"), details=details)
        own = sum(each.connection_id == call.connection_id for each in self._sessions.values())
        if own >= EACH_LIMIT or len(self._sessions) >= SESSIONS_LIMIT:
            raise LimitExceeded(phrase("too many talks are open already; end one"))
        session = self._dictation(call) if kind is DICTATED else self._talk(call)
        self._sessions[session.id] = session
        life_s = call.params["ttlMs"] / 1_000
        self._tasks.spawn(self._live(session, life_s), name="a talk of a client")
        own_id = "transcriptionSessionId" if kind is DICTATED else "relaySessionId"
        expires = {"expiresAt": int(self._clock.time() + life_s)}
        audio = _MULAW_FORMAT if kind is DICTATED else _FORMAT
        return {"sessionId": session.id, own_id: session.id, "provider": PROVIDER, **kind, "audio": audio, **expires}

    def _dictation(self, call: MethodCall) -> _Dictation:
        authority = call.caller.authority

        def listen(pieces: AsyncIterator[SpeechPiece], tell: TellWords) -> Awaitable[str]:
            return self._engines.listen(pieces, authority, tell)

        def ear(tell: Callable[[Turn, str], None]) -> Ear:
            return Ear(listen, partial(self._engines.judge, authority), tell, self._tasks, silence_ms=SILENCE_MS)

        return _Dictation(ear, self._tasks, self._clock, call.connection_id or "", self._push)

    def _talk(self, call: MethodCall) -> _Session:
        default, named = self._agents.default().id, call.params.get("sessionKey")
        key = str(SessionKey.parse(named, default_agent=default)) if named else main_key(default)
        self._agents.get(SessionKey.parse(key).agent)
        session = _Session(self._clock, self._tasks, call.connection_id or "", key, self._push)
        session.talk = self._make(key, call.caller.authority, session.put)
        session.talk.free_hands(on=True)
        return session

    async def _live(self, session: _Session | _Dictation, life_s: float) -> None:
        await self._clock.sleep(READY_S)
        session.tell("ready", "session.ready", {})
        await self._clock.sleep(life_s)
        await self._end(session, "completed")

    async def _append(self, call: MethodCall) -> Mapping[str, Any]:
        session = self._of(call)
        try:
            data = base64.b64decode(call.params["audioBase64"], validate=True)
        except binascii.Error as error:
            raise InvalidRequest(f"audioBase64: {error}") from None
        session.feed(data)
        return {"ok": True}

    async def _cancel(self, call: MethodCall) -> Mapping[str, Any]:
        session = self._talk_of(call)
        if call.params.get("turnId") not in (None, session.turn):
            return {"ok": True, "status": "stale"}
        session.talk.stop(*session.place())
        spoke = session.clear(call.params.get("reason") or "output-cancelled")
        return {
            "ok": True,
            "status": "applied" if spoke else "idle",
            **({"turnId": session.turn} if session.turn else {}),
        }

    async def _mark(self, call: MethodCall) -> Mapping[str, Any]:
        self._talk_of(call).acknowledge(call.params["markName"])
        return {"ok": True}

    async def _steer(self, call: MethodCall) -> Mapping[str, Any]:
        session, mode = self._talk_of(call), call.params.get("mode") or "steer"
        answer = {"ok": True, "mode": mode, "sessionKey": session.key, "speak": False, "show": True, "suppress": False}
        is_active = session.is_active
        if mode == "cancel":
            session.talk.stop(*session.place())
            session.clear("cancelled")
            return answer | {
                "active": False,
                "aborted": is_active,
                "message": "stopped" if is_active else "nothing ran",
            }
        if mode == "status":
            return answer | {"active": is_active, "message": "it is working" if is_active else "it is not working"}
        await self._steer_run(call, session.key, mode)
        return answer | {"active": True, "queued": True, "message": "passed on"}

    async def _close(self, call: MethodCall) -> Mapping[str, Any]:
        await self._end(self._of(call), "completed")
        return {"ok": True}

    async def _end(self, session: _Session | _Dictation, reason: str) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        with suppress(HubError):
            await session.close()
        session.tell("close", "session.closed", {"reason": reason})

    def _talk_of(self, call: MethodCall) -> _Session:
        session = self._of(call)
        if not isinstance(session, _Session):
            raise InvalidRequest(phrase("this client dictates; nothing answers it"))
        return session

    def _of(self, call: MethodCall) -> _Session | _Dictation:
        """Return what a call names, which is its own client's."""
        session = self._sessions.get(call.params["sessionId"])
        if session is None or session.connection_id != call.connection_id:
            raise NotFound(phrase("there is no such talk of this client"))
        return session
