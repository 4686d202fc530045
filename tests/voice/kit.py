"""A home with satellites: doubles of devices, and of what hears and speaks, which do as they are told."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hub.core.clock import ManualClock
from hub.core.errors import HubError, Unavailable
from hub.models.contract import ModelInfo
from hub.models.speech import SpeechRequest
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.contract import BYTES_PER_S, RATE, Line, SatelliteInfo, Sound, Stage, VoiceTurn
from hub.voice.satellites import SatelliteRegistry
from hub.voice.sound import as_wav
from tests.hub_fixture import HubFixture, scripted_model
from tests.until import as_time_passes

API = "scripted_voice"
SPOKEN_RATE = 22_050
LETTER_S = 0.06
"""So long is a letter spoken."""
PEOPLE = [
    {"id": "me", "name": "Me", "owner": True, "language": "de"},
    {"id": "anna", "name": "Anna", "identities": ["telegram:user:2"]},
]


def speech(seconds: float = 0.6, loudness: int = 8_000, pitch: float = 0.3) -> bytes:
    """Return the sound of somebody who speaks."""
    tone = (int(loudness * math.sin(at * pitch)) for at in range(int(RATE * seconds)))
    return array("h", tone).tobytes()


def silence(seconds: float) -> bytes:
    return bytes(int(BYTES_PER_S * seconds) // 2 * 2)


class Ears:
    """What hears and what speaks: it hears what it is told, in turn, and speaks as long as a text has letters.

    Attributes:
        hears: What it hears next; an error is raised, and None is never heard.
        understood: What it hears by a model, once that is known; a model that is not among them hears in turn.
        asked: The models that were to hear, in order.
        heard: The size in bytes and the language of each recording.
        spoken: Model, text, voice and language of what was spoken.
        fails: Texts that cannot be spoken by any model but the floor, `""` none at all.
        prepared: Model, language and voice of what it was asked to have ready; that takes until `is_ready`.
    """

    def __init__(self, name: str = "voice") -> None:
        self.name = name
        self.hears: list[str | HubError | None] = []
        self.understood: dict[str, asyncio.Future[str]] = {}
        self.asked: list[str] = []
        self.heard: list[tuple[int, str | None]] = []
        self.spoken: list[tuple[str, str, str, str | None]] = []
        self.broken: set[str] = set()
        self.prepared: list[tuple[str, str | None, str | None]] = []
        self.is_ready = asyncio.Event()
        self.is_ready.set()

    def stream(self, request: Any) -> Any:
        raise Unavailable("it does not chat")

    async def models(self) -> list[ModelInfo]:
        return [self.known("auto")]

    def known(self, model_id: str) -> ModelInfo:
        return ModelInfo(model_id, self.name)

    async def prepare(self, model: str, language: str | None, voice: str | None = None) -> None:
        self.prepared.append((model, language, voice))
        await self.is_ready.wait()

    async def transcribe(self, model: str, data: bytes, name: str, language: str | None = None) -> str:
        await self.is_ready.wait()
        self.asked.append(model)
        self.heard.append((len(data), language))
        if model in self.understood:
            return await self.understood[model]
        said = self.hears.pop(0)
        if said is None:
            await asyncio.Event().wait()
        if isinstance(said, HubError):
            raise said
        return said or ""

    async def speak(self, request: SpeechRequest) -> bytes:
        self.spoken.append((request.model, request.text, request.voice, request.language))
        if request.model in self.broken:
            raise Unavailable("it has lost its voice")
        return as_wav(Sound(bytes(2 * int(SPOKEN_RATE * LETTER_S * len(request.text))), SPOKEN_RATE))

    async def close(self) -> None:
        pass


class Listeners(Ears):
    """Hears while somebody speaks, and tells as words so far how many pieces it took.

    Attributes:
        eager: Whether it was to work for the words so far, of each time that somebody spoke.
    """

    def __init__(self) -> None:
        super().__init__()
        self.eager: list[bool] = []

    async def listen(
        self,
        model: str,
        pieces: AsyncIterator[SpeechPiece],
        language: str | None,
        tell: TellWords,
        *,
        may_work: bool = True,
    ) -> str:
        self.eager.append(may_work)
        samples, count = b"", 0
        async for each in pieces:
            samples, count = samples + each.samples, count + 1
            tell(f"{count} words")
        return await self.transcribe(model, as_wav(Sound(samples)), "speech.wav", language)


class Kiosk:
    """A satellite that plays as long as a sound lasts on the clock, and notes everything.

    Attributes:
        played: Seconds of each sound that was played to its end.
        shown: What it showed.
        listens: How often it was asked to listen; `cannot_listen` refuses.
    """

    def __init__(self, home: VoiceHome, info: SatelliteInfo) -> None:
        self.info = info
        self._home = home
        self.played: list[float] = []
        self.begun = 0
        self.shown: list[tuple[Stage, str]] = []
        self.listens = 0
        self.cannot_listen: HubError | None = None
        self.breaks: HubError | None = None
        self.line: Line
        self.line, self.remove = home.satellites.add(self)

    async def listen(self) -> None:
        self.listens += 1
        if self.cannot_listen is not None:
            raise self.cannot_listen

    async def play(self, sound: Sound) -> None:
        if self.breaks is not None:
            raise self.breaks
        self.begun += 1
        await self._home.clock.sleep(sound.seconds)
        self.played.append(round(sound.seconds, 2))

    async def show(self, stage: Stage, text: str = "") -> None:
        self.shown.append((stage, text))

    def say(self, seconds: float = 0.6, loudness: int = 8_000, pitch: float = 0.3) -> None:
        """Let somebody speak, and be silent."""
        self.line.feed(silence(0.1))
        self.line.feed(speech(seconds, loudness, pitch))
        self.line.feed(silence(0.8))


class VoiceHome(HubFixture):
    """A hub with what hears and speaks, whose agent is a scripted model; its clock is the test's."""

    clock: ManualClock

    def __init__(
        self,
        folder: Path,
        base_url: str,
        sections: Mapping[str, Any] | None = None,
        *further: str,
        files: Mapping[str, str] | None = None,
    ) -> None:
        self.ears = Ears()
        models = scripted_model(base_url)
        models["providers"]["voice"] = {"api": API}
        super().__init__(
            folder,
            base_url,
            sections={"people": PEOPLE, "models": models, **(sections or {})},
            files=files,
            integrations=("openai_compatible", "webchat", *further),
            clock=ManualClock(),
        )
        self.models.register_api(API, lambda name, config: self.ears, provides=False)
        self.told: list[dict[str, Any]] = []
        self.contexts: list[Any] = []
        self.stopped: list[str] = []
        self.bus.listen("voice_stage", self._note)
        self.bus.listen("voice_stopped", lambda event: self.stopped.append(event.data["satellite"]))

    def _note(self, event: Any) -> None:
        self.told.append(event.data)
        self.contexts.append(event.context)

    @property
    def satellites(self) -> SatelliteRegistry:
        return self.satellites_here()

    def kiosk(self, id: str = "kitchen", **about: Any) -> Kiosk:
        """Add a satellite that is there."""
        kiosk = Kiosk(self, SatelliteInfo(id, about.pop("name", f"The {id}"), "kiosk", **about))
        kiosk.line.connected(is_connected=True)
        return kiosk

    async def passing(self, find: Callable[[], Any]) -> Any:
        """Let time pass until something is found."""
        return await as_time_passes(self.clock, 0.05, find)

    def has_heard(self, count: int) -> bool:
        """Whether so many recordings were heard."""
        return len(self.ears.heard) >= count

    async def turn(self, count: int = 1) -> VoiceTurn:
        """Return the last turn, once so many have ended."""
        await self.passing(lambda: len(self.satellites.turns()) >= count)
        return self.satellites.turns()[0]


@asynccontextmanager
async def voice_home(
    folder: Path, base_url: str, *, integrations: Sequence[str] = (), **sections: Any
) -> AsyncIterator[VoiceHome]:
    """Run a home with `voice: {transcription_model: voice/auto, speech_model: voice/auto}` and what is stated."""
    home = VoiceHome(folder, base_url, sections, *integrations)
    async with home:
        home.voice.configure({"transcription_model": "voice/auto", "speech_model": "voice/auto"})
        yield home
