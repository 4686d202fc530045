"""What hears and speaks in talks: the engines of satellites, with the settings of whoever talks."""

from __future__ import annotations

from collections.abc import Callable

from hub.core.context import Authority
from hub.voice.engines import VoiceEngines
from hub.voice.settings import SatelliteSettings
from hub.voice.sound import as_wav


class TalkEngines:
    """Hears and speaks.

    Args:
        settings: Returns what `voice:` says of satellites of a person, by id.
        language_of: Returns the language of a person, by id, or of the home.
    """

    def __init__(
        self,
        engines: VoiceEngines,
        settings: Callable[[str | None], SatelliteSettings],
        language_of: Callable[[str | None], str],
    ) -> None:
        self._engines, self._settings, self._language_of = engines, settings, language_of

    def hears(self) -> bool:
        """Whether anything does."""
        return self._engines.ear(self._settings(None)) is not None

    def speaks(self) -> bool:
        """Whether anything does."""
        return self._engines.mouth(self._settings(None))[0] is not None

    async def prepare(self, authority: Authority) -> None:
        """Have both ready, since somebody opened a talk."""
        await self._engines.prepare(*self._of(authority))

    async def text_of(self, samples: bytes, authority: Authority) -> str:
        """Return what was said.

        Raises:
            HubError: Nothing hears, or it failed.
        """
        return await self._engines.text_of(samples, *self._of(authority))

    async def sound_of(self, text: str, authority: Authority) -> bytes:
        """Return a text as a WAV file.

        Raises:
            HubError: Nothing speaks, or it failed.
        """
        return as_wav(await self._engines.sound_of(text, *self._of(authority)))

    def _of(self, authority: Authority) -> tuple[SatelliteSettings, str]:
        settings = self._settings(authority.person)
        return settings, settings.language or self._language_of(authority.person)
