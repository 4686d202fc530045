"""What hears and speaks in talks, by the settings of voice messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from hub.core.context import Authority
from hub.core.errors import TimedOut, Unavailable
from hub.models.registry import ModelRegistry
from hub.models.speaker import speak
from hub.models.transcription import Transcribe
from hub.voice.contract import Sound
from hub.voice.sound import as_wav

LIMIT_S = 60.0


class TalkEngines:
    """Hears and speaks.

    Args:
        transcriber: Returns what hears a sender; None when nothing does.
        speech: Returns the section `speech`.
        language_of: Returns the language of a person, by id, or of the home.
    """

    def __init__(
        self,
        models: ModelRegistry,
        transcriber: Callable[[str], Transcribe | None],
        *,
        speech: Callable[[], Mapping[str, Any]],
        language_of: Callable[[str | None], str],
    ) -> None:
        self._models, self._transcriber, self._speech, self._language_of = models, transcriber, speech, language_of

    def hears(self) -> bool:
        """Whether anything does."""
        return self._transcriber("") is not None

    def speaks(self) -> bool:
        """Whether anything does."""
        return self._models.speech_ref is not None or "model" in self._speech()

    async def text_of(self, samples: bytes, authority: Authority) -> str:
        """Return what was said.

        Raises:
            HubError: Nothing hears, or it failed.
        """
        if (transcribe := self._transcriber("")) is None:
            raise Unavailable("nothing turns speech into text here")
        try:
            async with asyncio.timeout(LIMIT_S):
                return (
                    await transcribe(as_wav(Sound(samples)), "talk.wav", self._language_of(authority.person))
                ).strip()
        except TimeoutError as error:
            raise TimedOut("what hears does not answer") from error

    async def sound_of(self, text: str, authority: Authority) -> bytes:
        """Return a recording of a text.

        Raises:
            HubError: Nothing speaks, or it failed.
        """
        section, language = self._speech(), self._language_of(authority.person)
        try:
            async with asyncio.timeout(LIMIT_S):
                return await speak(self._models, section.get("model"), text, section.get("voice", ""), "wav", language)
        except TimeoutError as error:
            raise TimedOut("what speaks does not answer") from error
