"""A talk: what is said becomes a message of the conversation, its answer is spoken, and can be broken off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.context import Authority, Context, system_context
from hub.core.errors import HubError, Unavailable
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.messaging.contract import ClientMessage, Receipt
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.contract import BYTES_PER_S
from hub.voice.talk import AHEAD, Talk, TalkParts
from hub.voice.turn_log import TurnLog
from tests.until import until

KEY = "agent:main:main"
LOUD = (b"\x00\x20\x00\xe0" * (BYTES_PER_S // 4))[:BYTES_PER_S]
"""A second that a segmenter takes for speech."""
QUIET = bytes(2 * BYTES_PER_S)
OWNER = Authority("owner", "ann", owner=True)


class Room:
    """A talk, the hub around it, and what it told."""

    def __init__(self, authority: Authority = OWNER) -> None:
        self.tasks = TaskOwner("test")
        self.bus = EventBus(self.tasks)
        self.told: list[Mapping[str, Any]] = []
        self.sounds: list[bytes] = []
        self.messages: list[tuple[ClientMessage, Context]] = []
        self.aborted: list[str] = []
        self.text: str | HubError = "Good morning"
        self.tell: TellWords = print
        self.heard: list[bytes] = []
        self.understands = asyncio.Event()
        self.understands.set()
        self.mute = False
        self.prepared: list[Authority] = []
        self.receipt: Callable[[ClientMessage], Receipt] = lambda message: Receipt(
            "row", accepted=True, session_key=KEY, run_id=message.run_id
        )
        self.turns = TurnLog(self.bus, ManualClock())
        parts = TalkParts(
            self.bus,
            self.tasks,
            self._receive,
            self.aborted.append,
            self._listen,
            lambda authority, judged: None,
            self._sound_of,
            lambda: "webchat",
            self._prepare,
            self.turns,
        )
        self.talk = Talk(KEY, authority, parts, self._put)

    def _put(self, told: Mapping[str, Any], sound: bytes | None) -> None:
        self.told.append(told)
        if sound is not None:
            self.sounds.append(sound)

    async def _receive(self, message: ClientMessage, context: Context) -> Receipt:
        self.messages.append((message, context))
        return self.receipt(message)

    async def _prepare(self, authority: Authority) -> None:
        self.prepared.append(authority)

    async def _listen(self, pieces: AsyncIterator[SpeechPiece], authority: Authority, tell: TellWords) -> str:
        self.tell, sound = tell, b""
        async for piece in pieces:
            sound += piece.samples
        self.heard.append(sound)
        await self.understands.wait()
        if isinstance(self.text, HubError):
            raise self.text
        return self.text

    async def _sound_of(self, text: str, authority: Authority) -> bytes:
        if self.mute:
            raise Unavailable("no voice")
        return text.encode()

    @property
    def ended(self) -> list[tuple[str, str]]:
        """What came of each turn, newest first, and why it failed."""
        return [(each.outcome, each.error) for each in self.turns.all()]

    def fire(self, type: str, run_id: str, **data: Any) -> None:
        self.bus.fire(type, {"run_id": run_id, "session_key": KEY, **data}, system_context())

    def all(self, kind: str) -> list[Mapping[str, Any]]:
        return [each for each in self.told if each["t"] == kind]

    @property
    def state(self) -> str:
        return str(self.all("state")[-1]["state"])

    async def say(self) -> str:
        """Hold the button and speak; return the run that is to answer."""
        count = len(self.messages)
        self.talk.hold()
        self.talk.feed(LOUD)
        self.talk.release()
        await until(lambda: len(self.messages) > count)
        return str(self.messages[-1][0].run_id)

    async def answer(self, text: str) -> str:
        """Say something, and have it answered by a run that goes on."""
        run_id = await self.say()
        self.fire("run_started", run_id)
        self.fire("run_delta", run_id, text=text)
        await until(lambda: self.sounds)
        return run_id


@pytest.fixture
async def room() -> AsyncIterator[Room]:
    made = Room()
    yield made
    await made.talk.close()
    assert not made.tasks.names()


async def test_what_hears_and_speaks_is_prepared_when_a_talk_opens(room: Room) -> None:
    await until(lambda: room.prepared == [OWNER])


async def test_what_is_said_is_a_message_with_the_rights_of_who_talks_and_its_answer_is_spoken(room: Room) -> None:
    run_id = await room.answer("The light is on. Good")
    message, context = room.messages[0]

    assert (message.text, message.session_key, message.sender) == ("Good morning", KEY, "webchat:user:ann")
    assert context.authority == OWNER
    assert "recognised from speech" in message.options["extra_system_prompt"]
    assert room.all("heard") == [{"t": "heard", "text": "Good morning"}]
    assert room.sounds == [b"The light is on."]  # before the answer is whole
    assert room.state == "speaking"

    room.fire("run_delta", run_id, text=" bye.")
    room.fire("run_finished", run_id, status="ok")
    await until(lambda: len(room.sounds) == 2)
    room.talk.played(1)
    assert room.state == "speaking"
    room.talk.played(2)
    assert room.state == "listening"


async def test_how_a_turn_went_is_kept_without_its_words_as_that_of_a_satellite(room: Room) -> None:
    told: list[Mapping[str, Any]] = []
    stages: list[Mapping[str, Any]] = []
    room.bus.listen("voice_turn", lambda event: told.append(event.data))
    room.bus.listen("voice_stage", lambda event: stages.append(event.data))
    run_id = await room.answer("The light is on. ")
    room.fire("run_finished", run_id, status="ok")
    assert room.ended == []
    room.talk.played(1)

    assert [each["stage"] for each in stages] == ["heard", "text", "answer", "speech", "done"]
    assert (told[0]["satellite"], told[0]["name"], told[0]["run_id"]) == ("talk", "the browser", run_id)
    assert list(told[0]["stages"]) == ["heard", "text", "answer", "speech", "done"]
    (turn,) = room.turns.all("talk")
    assert (turn.outcome, turn.run_id, turn.text, turn.answer) == ("answered", run_id, "", "")
    assert not any("text" in each for each in stages)


async def test_hands_free_it_finds_the_end_of_what_is_said(room: Room) -> None:
    room.talk.free_hands(on=True)
    for sound in (QUIET, LOUD, QUIET):
        room.talk.feed(sound)

    await until(lambda: room.messages)
    assert [each["on"] for each in room.all("hearing")] == [False, True, False]
    assert room.state == "thinking"


async def test_without_the_button_nothing_is_heard(room: Room) -> None:
    room.talk.feed(LOUD)
    room.talk.hold()
    room.talk.release()

    assert room.all("silence") == [{"t": "silence"}]
    assert room.messages == []
    assert room.state == "listening"


async def interrupted(room: Room) -> None:
    """Have an answer spoken, hands-free, whose second sentence is heard half when somebody speaks."""
    room.talk.free_hands(on=True)
    room.talk.feed(QUIET)
    run_id = await room.answer("One two three four. Five six seven eight. ")
    room.fire("run_delta", run_id, text="Nine ten eleven twelve. ")
    await until(lambda: len(room.sounds) == AHEAD)
    room.understands.clear()
    room.talk.feed(LOUD)
    room.talk.heard(2, 0.5)


async def test_speaking_over_an_answer_pauses_it_and_words_end_it(room: Room) -> None:
    await interrupted(room)
    assert (room.all("pause"), room.all("hush"), room.aborted) == ([{"t": "pause"}], [], [])
    room.talk.feed(QUIET)
    await until(lambda: room.heard[1:])
    assert (room.all("hush"), room.aborted) == ([], [])

    room.understands.set()
    await until(lambda: len(room.messages) == 2)
    room.fire("run_delta", str(room.messages[0][0].run_id), text="Nobody wants to hear this. ")

    assert (room.all("hush"), room.all("resume"), room.aborted) == ([{"t": "hush"}], [], [KEY])
    told = room.messages[1][0].options["extra_system_prompt"]
    assert told.endswith("of the 12 words of it that were there, they heard 6.")
    assert len(room.sounds) == AHEAD
    assert room.messages[1][0].options["queue"] == "steer"  # the run ends soon


@pytest.mark.parametrize("text", ["…", "", "five six seven eight", Unavailable("it is out of order")])
async def test_noise_and_the_answer_itself_and_what_is_not_understood_let_it_go_on(
    room: Room, text: str | HubError
) -> None:
    await interrupted(room)
    room.text = text
    room.talk.feed(QUIET)
    room.understands.set()
    await until(lambda: room.all("resume"))
    room.talk.played(2)

    assert (room.all("hush"), room.aborted, len(room.messages)) == ([], [], 1)
    await until(lambda: len(room.sounds) == 3)
    assert room.state == "speaking"


async def test_a_click_lets_it_go_on_at_once(room: Room) -> None:
    room.talk.free_hands(on=True)
    room.talk.feed(QUIET)
    await room.answer("One two three four. ")
    room.talk.feed(LOUD[: BYTES_PER_S // 10])
    room.talk.feed(QUIET)

    assert [each["t"] for each in room.told if each["t"] in ("pause", "resume", "hush")] == ["pause", "resume"]
    assert len(room.heard) == 1


async def test_who_says_stop_over_an_answer_is_obeyed_and_no_agent_hears_it(room: Room) -> None:
    await interrupted(room)
    room.text = "Stop!"
    room.talk.feed(QUIET)
    room.understands.set()
    await until(lambda: room.all("hush"))

    await until(lambda: room.state == "listening")
    assert (room.aborted, len(room.messages)) == ([KEY], 1)
    assert room.all("heard")[-1] == {"t": "heard", "text": "Stop!"}
    assert [outcome for outcome, _ in room.ended] == ["answered", "interrupted"]


async def test_an_answer_waits_for_whoever_speaks_while_it_comes(room: Room) -> None:
    room.talk.free_hands(on=True)
    room.talk.feed(QUIET)
    run_id = await room.say()
    room.fire("run_started", run_id)
    room.talk.feed(LOUD)
    assert room.all("pause")
    room.text = "…"
    room.talk.feed(QUIET)

    await until(lambda: room.all("resume"))
    assert room.state == "thinking"


@pytest.mark.parametrize("is_free", [True, False])
async def test_words_are_told_while_they_are_heard_and_none_after_that(room: Room, is_free: bool) -> None:
    if is_free:
        room.talk.free_hands(on=True)
        room.talk.feed(QUIET)
    else:
        room.talk.hold()
    room.understands.clear()
    room.talk.feed(LOUD)
    await until(lambda: room.tell is not print)
    for words in ("Good", "Good mourning"):
        room.tell(words)
    room.talk.feed(QUIET)
    if not is_free:
        room.talk.release()
    await until(lambda: room.heard)
    room.tell("Too late")
    room.understands.set()
    await until(lambda: room.messages)
    room.tell("Too late")

    assert room.all("words") == [{"t": "words", "text": "Good"}, {"t": "words", "text": "Good mourning"}]
    assert room.messages[0][0].text == "Good morning"
    assert len(room.heard) == 1
    assert LOUD in room.heard[0]


async def test_a_touch_ends_what_is_said_and_worked_on_and_an_answer_heard_whole_is_not_mentioned(room: Room) -> None:
    await room.answer("One two three four. ")
    room.talk.stop(1, 1.0)

    assert room.state == "listening"
    assert room.aborted == [KEY]
    assert room.ended == [("interrupted", "")]
    await room.say()
    assert "interrupted" not in room.messages[1][0].options["extra_system_prompt"]


async def test_who_is_no_owner_adds_nothing_to_the_prompt() -> None:
    room = Room(Authority("token:x"))
    await room.say()
    await room.talk.close()

    assert room.messages[0][0].options == {}
    assert room.messages[0][0].sender == "webchat:user:token:x"


async def test_runs_that_nobody_here_asked_for_are_not_spoken(room: Room) -> None:
    room.fire("run_started", "heartbeat")
    room.fire("run_delta", "heartbeat", text="All is well here. ")
    room.fire("run_message", "heartbeat", message={"role": "assistant", "content": "All is well here. "})
    room.fire("run_finished", "heartbeat", status="ok")
    await asyncio.sleep(0)

    assert (room.sounds, room.state) == ([], "listening")


async def test_words_that_a_run_takes_while_it_works_are_answered_by_it(room: Room) -> None:
    room.fire("run_started", "typed")
    run_id = await room.say()
    await until(lambda: room.state == "thinking")
    room.fire("run_settled", run_id, status="ok")
    room.fire("run_delta", "typed", text="Both are done now. ")
    room.fire("run_finished", "typed", status="ok")

    await until(lambda: room.sounds)
    assert room.sounds == [b"Both are done now."]
    room.talk.played(1)
    assert [(each.outcome, each.run_id) for each in room.turns.all()] == [("answered", "typed")]


async def test_an_answer_that_does_not_stream_and_one_of_a_command_are_spoken_too(room: Room) -> None:
    run_id = await room.say()
    room.fire("run_started", run_id)
    room.fire("run_message", run_id, message={"role": "assistant", "content": [{"type": "text", "text": "Here I am"}]})
    room.fire("run_finished", run_id, status="ok")
    await until(lambda: room.sounds == [b"Here I am"])
    room.talk.played(1)

    room.receipt = lambda message: Receipt("row", accepted=True, reply="The lamp is on")
    await room.say()
    await until(lambda: room.sounds == [b"Here I am", b"The lamp is on"])
    room.talk.played(2)
    assert [(each.outcome, each.run_id) for each in room.turns.all()] == [("answered", None), ("answered", run_id)]


@pytest.mark.parametrize(
    ("text", "told", "ended"),
    [
        ("…", {"t": "silence"}, ("noise", "")),
        (
            Unavailable("nothing hears"),
            {"t": "error", "what": "hearing", "why": "nothing hears"},
            ("failed", "nothing hears"),
        ),
    ],
)
async def test_what_is_not_understood_has_an_outcome(
    room: Room, text: str | HubError, told: Mapping[str, Any], ended: tuple[str, str]
) -> None:
    room.text = text
    room.talk.hold()
    room.talk.feed(LOUD)
    room.talk.release()

    await until(lambda: told in room.told and room.state == "listening")
    assert room.messages == []
    assert room.ended == [ended]


async def test_a_message_that_is_refused_and_a_run_that_fails_are_told(room: Room) -> None:
    room.receipt = lambda message: Receipt("row", accepted=False, reason="too many messages")
    await room.say()
    await until(lambda: room.all("error"))
    assert room.all("error")[0]["why"] == "too many messages"

    room.receipt = lambda message: Receipt("row", accepted=True, run_id=message.run_id)
    run_id = await room.say()
    room.fire("run_started", run_id)
    room.fire("run_tool_updated", run_id, waits=True)
    room.fire("run_finished", run_id, status="error", error={"message": "the model is away"})

    assert room.all("waits") == [{"t": "waits"}]
    assert room.all("error")[1] == {"t": "error", "what": "answer", "why": "the model is away"}
    assert room.state == "listening"
    assert room.ended == [("failed", "the model is away"), ("failed", "too many messages")]


async def test_an_answer_that_cannot_be_spoken_is_shown(room: Room) -> None:
    room.mute = True
    run_id = await room.say()
    room.fire("run_started", run_id)
    room.fire("run_delta", run_id, text="The light is on. ")
    room.fire("run_finished", run_id, status="ok")

    await until(lambda: room.state == "listening" and room.all("said"))
    assert room.all("said") == [{"t": "said", "n": 1, "text": "The light is on."}]
    assert room.all("error") == [{"t": "error", "what": "speaking", "why": "no voice"}]
