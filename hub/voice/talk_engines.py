"""What hears and speaks in talks: the engines of satellites, with the settings of whoever talks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from hub.core.context import Authority
from hub.core.ids import new_id
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.contract import TALK
from hub.voice.engines import VoiceEngines
from hub.voice.settings import SatelliteSettings
from hub.voice.sound import as_wav
from hub.voice.wake import SoundStream


class TalkEngines:
    """Hears and speaks.

    Args:
        settings: Returns what `voice:` says of satellites of a person, by id.
        language_of: Returns the language of a person, by id, or of the home.
        judge: Tells speech from other sounds; see `CanJudgeSpeech.judge`.
    """

    def __init__(
        self,
        engines: VoiceEngines,
        settings: Callable[[str | None], SatelliteSettings],
        language_of: Callable[[str | None], str],
        judge: Callable[[str, Callable[[float], None]], SoundStream | None],
    ) -> None:
        self._engines, self._settings, self._language_of, self._judge = engines, settings, language_of, judge

    def hears(self) -> bool:
        """Whether anything does."""
        return self._engines.ear(self._settings(None)) is not None

    def speaks(self) -> bool:
        """Whether anything does."""
        return self._engines.mouth(self._settings(None))[0] is not None

    async def prepare(self, authority: Authority) -> None:
        """Have both ready, since somebody opened a talk."""
        await self._engines.prepare(*self._of(authority))

    async def listen(self, pieces: AsyncIterator[SpeechPiece], authority: Authority, tell: TellWords) -> str:
        """Return what is said, and tell the words so far.

        Raises:
            HubError: Nothing hears, or it failed.
        """
        return await self._engines.listen(pieces, *self._of(authority), tell, may_work=True)

    def judge(self, authority: Authority, judged: Callable[[float], None]) -> SoundStream | None:
        """Tell speech from other sounds in a talk, if that is wanted and anything can."""
        wanted = self._settings(authority.person).vad == "auto"
        return self._judge(f"{TALK}-{new_id()}", judged) if wanted else None

    async def sound_of(self, text: str, authority: Authority) -> bytes:
        """Return a text as a WAV file.

        Raises:
            HubError: Nothing speaks, or it failed.
        """
        return as_wav(await self._engines.sound_of(text, *self._of(authority)))

    def _of(self, authority: Authority) -> tuple[SatelliteSettings, str]:
        settings = self._settings(authority.person)
        return settings, settings.language or self._language_of(authority.person)
