"""The contract of satellites: the devices that hear and speak, and what the hub's pipeline is to each of them.

An integration adds a `Satellite` and is given its `Line`: what the device hears goes into the line, what the hub says
comes out by `Satellite.play`. All sound is 16-bit little-endian samples of one channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

RATE = 16_000
"""Samples a second of what satellites hear."""
BYTES_PER_S = 2 * RATE

DOMAIN = "assist_satellite"
"""The domain of the entities of satellites; that of a satellite has the unique id `<domain>_<id>`."""
TALK = "talk"
"""Stands for a satellite where somebody talks in a browser, or by an app."""
EVENT_STAGE = "voice_stage"
"""Fired at each stage of a turn: `satellite` or `TALK`, `turn`, `stage`, `ms` since the turn began, and what belongs to
it (`wake_word`, `text`, `error`). The stage `hearing` comes again and again, with the words so far."""
EVENT_STOPPED = "voice_stopped"
"""Fired when somebody ends what a satellite says or rings, by a touch, by saying stop, or by `Satellites.stop`:
`satellite`."""


class Sound(Struct, frozen=True):
    """Samples of one channel, 16 bits each.

    Attributes:
        rate: Samples a second.
    """

    samples: bytes
    rate: int = RATE

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / (2 * self.rate)


class Stage(StrEnum):
    """What a satellite does; also the state of its entity, in Home Assistant's words."""

    IDLE = "idle"
    LISTENING = "listening"
    PROCESSING = "processing"
    RESPONDING = "responding"


class TimerChange(StrEnum):
    """What happened to a timer."""

    STARTED = "started"
    UPDATED = "updated"
    CANCELLED = "cancelled"
    FINISHED = "finished"


class TimerView(Struct, frozen=True):
    """A timer, as it is shown on a device.

    Attributes:
        total_s, left_s: Seconds.
    """

    id: str
    name: str
    total_s: int
    left_s: int
    is_active: bool = True


class SatelliteInfo(Struct, frozen=True):
    """What an integration says of a satellite.

    Attributes:
        id: Stable, a slug such as `kitchen` or `esphome_a1b2c3`: names its entity `assist_satellite.<id>` and its
            conversation. A satellite of another integration with the same id is refused.
        name: For people.
        platform: The integration's domain.
        device_id: The device in the registry whose area is the satellite's room, if there is one.
        wakes_itself: Whether it hears its wake words itself; else it sends all it hears, or is pushed to talk.
        always_sends: Whether it sends all that it hears, so that wake words are found here.
        wake_words: Those that it can hear itself, as it names them.
        person: Id of the person whom the device belongs to, such as the owner of a phone; None is a room's.
        language: What is spoken there; None is the home's.
        rings: Whether it rings by itself when it is shown that a timer has ended.
    """

    id: str
    name: str
    platform: str
    device_id: str | None = None
    wakes_itself: bool = True
    always_sends: bool = False
    wake_words: tuple[str, ...] = ()
    person: str | None = None
    language: str | None = None
    rings: bool = False


class Satellite(Protocol):
    """A device that listens and speaks; what is optional are the protocols below."""

    @property
    def info(self) -> SatelliteInfo:
        """What is known of it now."""
        ...

    async def listen(self) -> None:
        """Begin to send what it hears, without a wake word: a question was asked, or a follow-up is expected.

        Raises:
            Unavailable: It is away, or cannot.
        """
        ...

    async def play(self, sound: Sound) -> None:
        """Play a sound, and return when it was played to its end. Cancelling it silences the device at once.

        Raises:
            HubError: It could not be played.
        """
        ...

    async def show(self, stage: Stage, text: str = "") -> None:
        """Show what goes on, by lights or on a screen. Never raises.

        Args:
            text: The wake word (`listening`), what was heard (`processing`; first without), what is said
                (`responding`), or why it failed (`idle`).
        """
        ...


@runtime_checkable
class CanShowTimers(Protocol):
    """A satellite that shows timers."""

    async def show_timer(self, change: TimerChange, timer: TimerView) -> None:
        """Show a timer that was set there. Never raises."""
        ...


@runtime_checkable
class CanChooseWakeWords(Protocol):
    """A satellite that hears the wake words it is told."""

    async def choose_wake_words(self, words: Sequence[str]) -> None:
        """Listen for these of its `wake_words`."""
        ...


class Line(Protocol):
    """The hub, as a satellite sees it. No method blocks or raises; what takes time is done behind it."""

    def wake(self, word: str | None = None) -> None:
        """It woke: what is fed from now on is meant for the hub. What it says is broken off.

        Args:
            word: The wake word; None if a button was pressed or nothing is known.
        """
        ...

    def feed(self, samples: bytes) -> None:
        """Take what it hears, at `RATE`."""
        ...

    def end(self) -> None:
        """What was said has ended, as the device says: the button was let go, or it found the silence."""
        ...

    def heard(self, text: str) -> None:
        """Take words that the device understood itself."""
        ...

    def stop(self) -> None:
        """Somebody touched it or said stop: what it says, does or rings there ends."""
        ...

    def connected(self, *, is_connected: bool) -> None:
        """Report whether the device can be reached; it is away until this says otherwise."""
        ...

    def changed(self) -> None:
        """Report that `Satellite.info` says something else now."""
        ...


class SatelliteView(Struct, frozen=True):
    """A satellite as pages and services see it.

    Attributes:
        area_id: Its room.
        trouble: Why it does not listen for its wake words, for people.
    """

    info: SatelliteInfo
    stage: Stage
    is_connected: bool
    area_id: str | None
    trouble: str = ""


class VoiceTurn(Struct, frozen=True):
    """What was said to a satellite or in a talk once, and what came of it; of the last ones, newest first.

    Attributes:
        satellite: Its id, or `TALK`; the words of a talk are its conversation's, and not here.
        name: Where it was, for people.
        began_at: Seconds since the epoch.
        stages: Milliseconds since the beginning, by stage: `heard` (end of speech), `text`, `answer` (its first words),
            `speech` (its first sound), `done`; those that were reached.
        wake_word: None if it began without one.
        text: What was understood.
        answer: What was said.
        outcome: `answered`, `silence`, `noise`, `interrupted`, `elsewhere` (a nearer satellite answered), `failed`.
        error: Why it failed, for people.
        run_id: The run that answered.
    """

    id: str
    satellite: str
    name: str
    began_at: float
    stages: dict[str, int] = {}
    wake_word: str | None = None
    text: str = ""
    answer: str = ""
    outcome: str = ""
    error: str = ""
    run_id: str | None = None


class SpeechHeard(Struct, frozen=True):
    """How much of a text was spoken before it was broken off.

    Attributes:
        text: What was heard, by whole words.
        is_whole: Whether nothing was left out.
    """

    text: str
    is_whole: bool


class Satellites(Protocol):
    """All satellites of the home; an integration has it as `host.satellites.registry`, and adds its own by
    `host.satellites.add`, which is undone on unload.
    """

    def add(self, satellite: Satellite) -> tuple[Line, Callable[[], Any]]:
        """Add a satellite; return its line, and a function that removes it.

        Raises:
            Conflict: There is one with that id.
        """
        ...

    def all(self) -> list[SatelliteView]:
        """Return all of them, by name."""
        ...

    def get(self, id: str) -> SatelliteView | None:
        """Return one."""
        ...

    def turns(self, id: str | None = None) -> list[VoiceTurn]:
        """Return the last turns, newest first; of one satellite, or of all."""
        ...

    async def say(self, id: str, text: str, *, language: str | None = None, chime: bool = False) -> SpeechHeard:
        """Say something there, after what is being said; `chime` sounds before it.

        Raises:
            NotFound: There is no such satellite.
            Unavailable: It is away.
            HubError: Nothing speaks, or it could not be played.
        """
        ...

    async def play(self, id: str, sound: Sound) -> bool:
        """Play a sound there, in turn; return whether it was played to its end, and not stopped.

        Raises:
            HubError: See `say`.
        """
        ...

    async def ask(self, id: str, question: str, *, language: str | None = None, timeout_s: float = 30.0) -> str:
        """Say a question, listen without a wake word, and return what was answered; empty for silence.

        Raises:
            HubError: See `say`; what hears failed.
        """
        ...

    async def converse(
        self, id: str, text: str, *, extra_system_prompt: str | None = None, language: str | None = None
    ) -> None:
        """Say something and listen without a wake word; the agent hears the answer, and what was said before it.

        Args:
            extra_system_prompt: What the agent is told for that answer.

        Raises:
            HubError: See `say`.
        """
        ...

    async def overhear(self, id: str, window_s: float) -> str:
        """Listen between two rings, without a wake word; return what was said, empty for nothing.

        Args:
            id: The satellite.
            window_s: How long it is waited for somebody to begin to speak.

        Raises:
            NotFound: There is no such satellite.
            Unavailable: It is away, or listens only after its wake word.
            HubError: What hears failed.
        """
        ...

    async def show_timer(self, id: str, change: TimerChange, timer: TimerView) -> None:
        """Show a timer on the device, if it is there and shows timers. Never raises."""
        ...

    def ring(self, id: str, *, is_ringing: bool) -> None:
        """Note that it rings there, or no more: between the rings it is not idle."""
        ...

    def stop(self, id: str) -> None:
        """End what is said or rings there."""
        ...

    def held_at(self, session_key: str, place: str) -> None:
        """Note that a conversation is held at a satellite of another hub: what is set in it rings there.

        Args:
            session_key: The conversation.
            place: The satellite's entity here; empty for one that is not here.
        """
        ...

    def place_of(self, session_key: str) -> str | None:
        """Return where a conversation was noted to be held; None for any other."""
        ...
