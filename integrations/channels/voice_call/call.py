"""One telephone call: Twilio's Media Streams, as a line on which both sides speak.

https://www.twilio.com/docs/voice/media-streams/websocket-messages
"""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web
from msgspec import Struct

from hub.core.errors import TimedOut, Unavailable
from hub.voice.mouth import heard_of, joined
from hub.voice.segmenter import Coding, Segmenter, SpeechBegan
from integrations.channels.acknowledging import skip_if_malformed
from integrations.channels.voice_call.mulaw import FRAME_BYTES, FRAMES_PER_S, RATE, power

PIECE_BYTES = 8_000
"""A second: Twilio keeps what it has not played yet."""
PUT_LIMIT_S = 10.0
PLAYED_LATE_S = 20.0
"""How much later than it takes to play it is told that something was played."""
TALK_LIMIT_S = 90.0
DIGITS_PAUSE_FRAMES = 3 * FRAMES_PER_S
DIGITS_LIMIT = 64
HEARD_LIMIT = 200


class HungUp(Unavailable):
    """The call is over."""


class _Sounding(Struct, eq=False):
    """Something that is spoken.

    Attributes:
        played: Whether it was heard to its end.
        began: The frame in which it began.
    """

    played: asyncio.Future[bool]
    run_id: str | None
    text: str
    seconds: float
    began: int


class PhoneCall:
    """A call whose stream is open.

    Args:
        sid: Its id at Twilio.
        number: The other side's.
        limit_s: How long it may last.
        silence_ms: Silence that ends what is said.

    Attributes:
        words: What was said, as sound, or the keys that were pressed, in order; None at the end.
        heard: What the other side said, where they do not speak with an agent of their own.
        keys: The conversations that may act on it.
        unwanted: The runs whose answers nobody hears any more, because the caller interrupted them.
        interrupted: How much was heard of the answer that was interrupted last; None for none since it was told.
        seconds: How long it has lasted; the stream's own time, which is what is paid.
    """

    def __init__(self, sid: str, number: str, *, outgoing: bool, limit_s: int, silence_ms: int) -> None:
        self.sid = sid
        self.number = number
        self.outgoing = outgoing
        self.limit_s = limit_s
        self.words: asyncio.Queue[bytes | str | None] = asyncio.Queue()
        self.heard: asyncio.Queue[str] = asyncio.Queue(HEARD_LIMIT)
        self.keys: set[str] = set()
        self.unwanted: set[str | None] = set()
        self.interrupted: str | None = None
        self._spoken: tuple[str | None, list[str]] = None, []
        self.ended = asyncio.Event()
        self.over_time = asyncio.Event()
        self._segmenter = Segmenter(silence_ms, Coding(FRAME_BYTES, power))
        self._frames = 0
        self._digits = ""
        self._digit_at = 0
        self._turn = asyncio.Lock()
        self._listening = asyncio.Event()
        self._listening.set()
        self._marks: dict[str, _Sounding] = {}
        self._names = itertools.count(1)
        self._socket: web.WebSocketResponse | None = None
        self._stream = ""
        self.utterances = itertools.count(1)

    @property
    def seconds(self) -> int:
        return -(-self._frames // FRAMES_PER_S)

    @property
    def is_up(self) -> bool:
        """Whether its stream is open."""
        return self._socket is not None and not self.ended.is_set()

    async def run(self, socket: web.WebSocketResponse, stream: str) -> None:
        """Listen until the call ends."""
        self._socket, self._stream = socket, stream
        try:
            async for message in socket:
                if message.type is not web.WSMsgType.TEXT:
                    break
                with skip_if_malformed("voice_call: a frame"):
                    frame = orjson.loads(message.data)
                    if frame["event"] == "stop":
                        break
                    await self._take(frame)
        finally:
            self._end()

    def _end(self) -> None:
        self.ended.set()
        self._listening.set()
        self._flush_digits()
        self.words.put_nowait(None)
        for each in self._marks.values():
            if not each.played.done():
                each.played.set_exception(HungUp("the call is over"))

    async def hang_up(self) -> None:
        """Close the stream, on which Twilio ends the call."""
        if self._socket is not None:
            await self._socket.close()

    # --- hearing ---

    async def _take(self, frame: Mapping[str, Any]) -> None:
        match frame["event"]:
            case "media" if frame["media"].get("track", "inbound") == "inbound":
                await self._hear(base64.b64decode(frame["media"]["payload"]))
            case "dtmf":
                digit = str(frame["dtmf"]["digit"])
                await self._interrupt()
                self._digits = (self._digits + digit.strip("#"))[:DIGITS_LIMIT]
                self._digit_at = self._frames
                if digit == "#":
                    self._flush_digits()
            case "mark":
                if (waiting := self._marks.get(str(frame["mark"]["name"]))) and not waiting.played.done():
                    waiting.played.set_result(True)

    async def _hear(self, sound: bytes) -> None:
        self._frames += max(1, len(sound) * FRAMES_PER_S // RATE)
        if self._frames - self._digit_at >= DIGITS_PAUSE_FRAMES:
            self._flush_digits()
        if self.seconds >= self.limit_s:
            self.over_time.set()
        for each in self._segmenter.feed(sound):
            if isinstance(each, SpeechBegan):
                self._listening.clear()
                await self._interrupt()
                continue
            self._listening.set()
            if each.sound:
                self.words.put_nowait(each.sound)

    def _flush_digits(self) -> None:
        if self._digits:
            self.words.put_nowait(self._digits)
        self._digits = ""

    # --- speaking ---

    async def speak(self, sound: bytes, run_id: str | None = None, text: str = "") -> bool:
        """Speak in turn, when the other side does not; return whether it was heard to its end.

        Raises:
            HungUp: The call ended before.
            TimedOut: Twilio did not say that it was played.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(TALK_LIMIT_S):
                    await self._listening.wait()
            except TimeoutError:
                pass  # somebody who never stops is spoken to
            if self._socket is None or self.ended.is_set():
                raise HungUp("the call is over")
            if run_id is not None and run_id in self.unwanted:
                return False
            name = str(next(self._names))
            played: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._marks[name] = _Sounding(played, run_id, text, len(sound) / RATE, self._frames)
            if self._spoken[0] != run_id:
                self._spoken = run_id, []
            try:
                for at in range(0, len(sound), PIECE_BYTES):
                    payload = base64.b64encode(sound[at : at + PIECE_BYTES]).decode()
                    await self._put({"event": "media", "media": {"payload": payload}})
                await self._put({"event": "mark", "mark": {"name": name}})
                async with asyncio.timeout(len(sound) / RATE + PLAYED_LATE_S):
                    is_whole = await played
                if is_whole:
                    self._spoken[1].append(text)
                return is_whole
            except TimeoutError as error:
                raise TimedOut("Twilio did not say whether it was played") from error
            finally:
                del self._marks[name]
                if played.done() and not played.cancelled():
                    played.exception()

    async def _interrupt(self) -> None:
        """Be silent, since the other side speaks."""
        for each in self._marks.values():
            if not each.played.done():
                each.played.set_result(False)
                self.unwanted.add(each.run_id)
                share = (self._frames - each.began) / FRAMES_PER_S / each.seconds if each.seconds else 0.0
                self.interrupted = joined([*self._spoken[1], heard_of(each.text, share)]).strip()
        if self._marks:
            await self._put({"event": "clear"})

    async def _put(self, frame: dict[str, Any]) -> None:
        if self._socket is None or self.ended.is_set():
            raise HungUp("the call is over")
        try:
            async with asyncio.timeout(PUT_LIMIT_S):
                await self._socket.send_str(orjson.dumps({**frame, "streamSid": self._stream}).decode())
        except (ConnectionError, TimeoutError) as error:
            raise HungUp("the call is over") from error
