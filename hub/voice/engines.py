"""What hears and what speaks at satellites and in talks, with its time limits and what is done when it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from hub.core.clock import Clock
from hub.core.errors import HubError, TimedOut, Unavailable
from hub.core.phrases import phrase
from hub.models.registry import ModelRegistry
from hub.models.speaker import speak
from hub.models.transcriber import listener, transcriber
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.contract import Sound
from hub.voice.settings import SatelliteSettings
from hub.voice.sound import as_wav, read_wav

_log = logging.getLogger(__name__)

HEARING_S = 30.0
"""From when on what hears is ready."""
STARTING_S = 60.0
SPEAKING_S = 30.0
SHORT_BYTES = 500_000
"""A WAV file of some ten seconds is read sooner than a thread is found that reads it."""
FLOOR = "espeak-ng"
"""A model of what speaks on this machine that works wherever the program is installed."""

Made = TypeVar("Made")


class VoiceEngines:
    """Turns what was said into text, and text into sound: by what `voice:` names, else as with voice messages.

    Args:
        usual_ear: Returns the model that hears voice messages; None if none is named.
        speech: Returns the section `speech`, whose model speaks in messages.
    """

    def __init__(
        self,
        models: ModelRegistry,
        clock: Clock,
        usual_ear: Callable[[], str | None],
        speech: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._models, self._clock, self._usual_ear, self._speech = models, clock, usual_ear, speech

    @property
    def usual(self) -> tuple[str | None, str | None]:
        """What hears and what speaks in messages, where no satellite is concerned."""
        return self.ear(SatelliteSettings()), self.mouth(SatelliteSettings())[0]

    def ear(self, settings: SatelliteSettings) -> str | None:
        """Return the model that hears; None if there is none."""
        return settings.transcription_model or self._usual_ear() or self._models.speech_ref

    def mouth(self, settings: SatelliteSettings) -> tuple[str | None, str]:
        """Return the model that speaks, None if there is none, and its voice, empty for its usual one."""
        section = {} if settings.speech_model else self._speech()
        ref = settings.speech_model or section.get("model") or self._models.speech_ref
        return ref, settings.voice or section.get("voice", "")

    async def prepare(self, settings: SatelliteSettings, language: str | None) -> None:
        """Have what hears and what speaks ready, since somebody is about to speak."""
        ear, (mouth, voice) = self.ear(settings), self.mouth(settings)
        await asyncio.gather(
            *([self._models.prepare(ear, language)] if ear is not None else ()),
            *([self._models.prepare(mouth, language, voice=voice)] if mouth is not None else ()),
        )

    async def text_of(self, samples: bytes, settings: SatelliteSettings, language: str | None) -> str:
        """Return what was said, without spaces around it; empty if it was no speech.

        Args:
            samples: 16-bit samples at `RATE`.

        Raises:
            HubError: Nothing hears, or it failed, or took too long.
        """
        ref = self._required_ear(settings)
        recording = as_wav(Sound(samples))
        await self._be_ready(ref, language)
        hearing = transcriber(self._models, ref)(recording, "speech.wav", language)
        return (await within(self._clock, hearing, HEARING_S, _late(ref))).strip()

    async def listen(
        self,
        pieces: AsyncIterator[SpeechPiece],
        settings: SatelliteSettings,
        language: str | None,
        tell: TellWords,
        *,
        may_work: bool,
    ) -> str:
        """Return what is said, as `text_of` does, soon after its end; see `CanListen.listen`."""
        ref = self._required_ear(settings)
        found = await listener(self._models, ref)
        if found is None:
            return await self.text_of(b"".join([each.samples async for each in pieces]), settings, language)
        ended = asyncio.Event()

        async def to_the_end() -> AsyncIterator[SpeechPiece]:
            async for each in pieces:
                yield each
            await self._be_ready(ref, language)
            ended.set()

        able, model = found
        hearing = able.listen(model, to_the_end(), language, tell, may_work=may_work)
        return (await within(self._clock, hearing, HEARING_S, _late(ref), since=ended)).strip()

    async def _be_ready(self, ref: str, language: str | None) -> None:
        """Wait for the start of what hears, which does not count as hearing."""
        with suppress(TimedOut):  # it may yet answer
            await within(self._clock, self._models.prepare(ref, language), STARTING_S, "")

    def _required_ear(self, settings: SatelliteSettings) -> str:
        if (ref := self.ear(settings)) is None:
            raise Unavailable(phrase("nothing turns speech into text: set `voice:` or transcription_model"))
        return ref

    async def sound_of(self, text: str, settings: SatelliteSettings, language: str | None) -> Sound:
        """Return a text as sound; where what should speak fails, what speaks on this machine does.

        Raises:
            HubError: Nothing speaks.
        """
        try:
            return await self.spoken_by(*self.mouth(settings), text, language)
        except HubError as error:
            local = self._models.speech_ref
            if local is None:
                raise
            _log.warning("what should speak failed, and %s speaks instead: %s", FLOOR, error.message)
            return await self.spoken_by(f"{local.rpartition('/')[0]}/{FLOOR}", "", text, language)

    async def spoken_by(self, ref: str | None, voice: str, text: str, language: str | None) -> Sound:
        """Return a text as sound by one model and no other.

        Raises:
            HubError: It failed, or took too long.
        """
        late = phrase("what speaks did not answer within {seconds} s", seconds=int(SPEAKING_S))
        speaking = speak(self._models, ref, text, voice, "wav", language)
        data = await within(self._clock, speaking, SPEAKING_S, late)
        sound = read_wav(data) if len(data) <= SHORT_BYTES else await asyncio.to_thread(read_wav, data)
        if sound is None or not sound.samples:
            raise Unavailable(phrase("what speaks gave no WAV file"))
        return sound


async def within(
    clock: Clock, work: Awaitable[Made], limit_s: float, late: str, *, since: asyncio.Event | None = None
) -> Made:
    """Return what work comes to; it is cancelled when it takes longer, or when this is.

    Args:
        late: Says that it took longer.
        since: The time counts from then on; None is now.

    Raises:
        TimedOut: It took longer.
    """
    task = asyncio.ensure_future(work)
    limit = asyncio.ensure_future(_limit(clock, limit_s, since))
    try:
        await asyncio.wait((task, limit), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimedOut(late)
        return task.result()
    finally:
        for each in (task, limit):
            each.cancel()


async def _limit(clock: Clock, limit_s: float, since: asyncio.Event | None) -> None:
    if since is not None:
        await since.wait()
    await clock.sleep(limit_s)


def _late(ref: str) -> str:
    return phrase("{model} did not say what was said within {seconds} s", model=ref, seconds=int(HEARING_S))
