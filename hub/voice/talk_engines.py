"""What hears and speaks in talks: what `voice:` says, else what is set up for voice messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from hub.core.context import Authority
from hub.core.errors import TimedOut, Unavailable
from hub.models.registry import ModelRegistry
from hub.models.speaker import speak
from hub.models.transcriber import transcriber
from hub.models.transcription import Transcribe
from hub.voice.contract import Sound
from hub.voice.settings import SatelliteSettings
from hub.voice.sound import as_wav

LIMIT_S = 60.0


class TalkEngines:
    """Hears and speaks.

    Args:
        usual_ear: Returns what hears a sender; None when nothing does.
        settings: Returns what `voice:` says of satellites of a person, by id; it comes first.
        speech: Returns the section `speech`.
        language_of: Returns the language of a person, by id, or of the home.
    """

    def __init__(
        self,
        models: ModelRegistry,
        usual_ear: Callable[[str], Transcribe | None],
        *,
        settings: Callable[[str | None], SatelliteSettings],
        speech: Callable[[], Mapping[str, Any]],
        language_of: Callable[[str | None], str],
    ) -> None:
        self._models, self._usual_ear, self._settings = models, usual_ear, settings
        self._speech, self._language_of = speech, language_of

    def hears(self) -> bool:
        """Whether anything does."""
        return self._settings(None).transcription_model is not None or self._usual_ear("") is not None

    def speaks(self) -> bool:
        """Whether anything does."""
        named = self._settings(None).speech_model or self._speech().get("model") or self._models.speech_ref
        return named is not None

    async def text_of(self, samples: bytes, authority: Authority) -> str:
        """Return what was said.

        Raises:
            HubError: Nothing hears, or it failed.
        """
        settings = self._settings(authority.person)
        language = settings.language or self._language_of(authority.person)
        ref = settings.transcription_model
        transcribe = transcriber(self._models, ref) if ref is not None else self._usual_ear("")
        if transcribe is None:
            raise Unavailable("nothing turns speech into text here")
        try:
            async with asyncio.timeout(LIMIT_S):
                return (await transcribe(as_wav(Sound(samples)), "talk.wav", language)).strip()
        except TimeoutError as error:
            raise TimedOut("what hears does not answer") from error

    async def sound_of(self, text: str, authority: Authority) -> bytes:
        """Return a recording of a text.

        Raises:
            HubError: Nothing speaks, or it failed.
        """
        settings, section = self._settings(authority.person), self._speech()
        ref, voice = settings.speech_model or section.get("model"), settings.voice or section.get("voice", "")
        language = settings.language or self._language_of(authority.person)
        try:
            async with asyncio.timeout(LIMIT_S):
                return await speak(self._models, ref, text, voice, "wav", language)
        except TimeoutError as error:
            raise TimedOut("what speaks does not answer") from error
