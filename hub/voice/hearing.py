"""What somebody says, heard while they say it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from hub.core.errors import HubError
from hub.core.tasks import TaskOwner
from hub.models.transcription import SpeechPiece, TellWords

Listen = Callable[[AsyncIterator[SpeechPiece], TellWords], Awaitable[str]]
"""Returns what is said, and tells the words so far; see `VoiceEngines.listen`."""


class Hearing:
    """One thing that is said: it is fed while it is, and asked for its words at the end.

    Args:
        listen: Hears it.
        tell: Gets the words so far, until it is closed.
    """

    def __init__(self, listen: Listen, tell: TellWords, tasks: TaskOwner) -> None:
        self._pieces: asyncio.Queue[SpeechPiece | None] = asyncio.Queue()
        self._size_bytes = 0
        self._tell: TellWords | None = tell
        self._task = tasks.spawn(self._guarded(listen), name="hear what is said")

    @property
    def size_bytes(self) -> int:
        """How much was said until now."""
        return self._size_bytes

    def feed(self, samples: bytes, *, is_quiet: bool = False) -> None:
        """Take what is said next."""
        self._size_bytes += len(samples)
        if samples:
            self._pieces.put_nowait(SpeechPiece(samples, is_quiet))

    async def text(self, said: bytes) -> str:
        """Return the words of what was said, whose beginning was fed.

        Raises:
            HubError: It could not be heard.
        """
        self._tell = None
        self.feed(said[self._size_bytes :])
        self._pieces.put_nowait(None)
        try:
            found = await self._task
        finally:
            self.close()
        if isinstance(found, HubError):
            raise found
        return found

    def close(self) -> None:
        """Hear no more."""
        self._tell = None
        self._task.cancel()

    async def _guarded(self, listen: Listen) -> str | HubError:
        """Keep an error for who asks for the text; if nobody does, it is no matter."""
        try:
            return await listen(self._each(), self._told)
        except HubError as error:
            return error

    async def _each(self) -> AsyncIterator[SpeechPiece]:
        while (piece := await self._pieces.get()) is not None:
            yield piece

    def _told(self, words: str) -> None:
        if self._tell is not None and words:
            self._tell(words)
