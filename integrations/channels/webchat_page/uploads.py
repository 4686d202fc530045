"""Files of visitors: taken piece by piece from the page that has them, and kept until their message is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from hub.core.clock import Clock
from hub.core.errors import NotFound
from hub.core.executors import FILES
from hub.core.ids import new_id
from hub.messaging.contract import Media, MediaKind
from hub.models.images import image_type

FILES_LIMIT = 10
"""Files of one message."""
PIECE_BYTES = 60_000
VISITOR_BYTES = 200_000_000
"""Of one visitor, at a time."""
KEPT_BYTES = 1_000_000_000
"""Of all visitors of a page, at a time."""
KEPT_S = 86_400.0
_AUDIO = (b"OggS", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xf1", b"\xff\xf9", b"fLaC")
_FAMILIES = {MediaKind.IMAGE: "image", MediaKind.AUDIO: "audio", MediaKind.VIDEO: "video"}


class PageFile(Struct, frozen=True):
    """A file that a page has; all of it is what the page says."""

    name: Annotated[str, Meta(min_length=1, max_length=255)]
    size: Annotated[int, Meta(ge=0, le=2**53)]
    type: Annotated[str, Meta(max_length=100)] = ""
    voice: bool = False


class Problem(StrEnum):
    """Why a file was not taken."""

    STRANGER = "stranger"
    LARGE = "large"
    FULL = "full"
    UNREADABLE = "unreadable"


class SentFile(Struct, frozen=True):
    """A file of a visitor, as their page shows it."""

    name: str
    size: int
    voice: bool = False
    problem: Problem | None = None
    limit_mb: int = 0


Ask = Callable[[int, int], Awaitable[bytes]]
"""Asks a page for the bytes of a file from one position to another."""


class Uploads:
    """The files of one page's visitors.

    Args:
        folder: Where they are kept.
        limit_bytes: Returns the most bytes of a file.
    """

    def __init__(self, folder: Path, clock: Clock, limit_bytes: Callable[[], int]) -> None:
        self._folder = folder
        self._clock = clock
        self._limit_bytes = limit_bytes
        self._coming: dict[str, int] = {}

    @property
    def limit_mb(self) -> int:
        """The most megabytes of a file."""
        return min(self._limit_bytes(), VISITOR_BYTES) // 1_000_000

    async def take(self, visitor: str, reference: str, offered: PageFile, ask: Ask) -> Problem | None:
        """Fetch a file from a page, unless it is here; return why it was not taken.

        Args:
            visitor: Whose it is; `reference` begins with it.

        Raises:
            ConnectionError, TimeoutError: The page is gone.
            OSError: It cannot be stored.
        """
        if offered.size > self.limit_mb * 1_000_000:
            return Problem.LARGE
        path = self._folder / reference
        if await FILES.run(_size_of, path) == offered.size > 0:
            return None
        part = path.with_suffix(f".{new_id()}")  # its own: another page of theirs may offer the same
        self._coming[part.name] = offered.size
        try:
            if not await FILES.run(self._has_room, visitor, dict(self._coming)):
                return Problem.FULL
            for begin in range(0, offered.size, PIECE_BYTES):
                end = min(begin + PIECE_BYTES, offered.size)
                piece = await ask(begin, end)
                if len(piece) != end - begin:
                    return Problem.UNREADABLE
                await FILES.run(_append, part, piece)
            if not offered.size:
                return Problem.UNREADABLE
            await FILES.run(part.replace, path)
            return None
        finally:
            del self._coming[part.name]
            await FILES.run(part.unlink, missing_ok=True)

    async def media_of(self, reference: str, offered: PageFile) -> Media:
        """Return a file as an attachment: of the kind that it says, if its first bytes say so too; else just a file."""
        head = await FILES.run(_head, self._folder / reference)
        family = offered.type.partition("/")[0]
        kind = next((kind for kind in _kinds(head) if _FAMILIES[kind] == family), MediaKind.FILE)
        is_so = kind is not MediaKind.FILE or family not in _FAMILIES.values()
        voice = offered.voice and kind is MediaKind.AUDIO
        return Media(kind, reference, offered.type if is_so else None, offered.name, offered.size, voice=voice)

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file.

        Raises:
            NotFound: It was not taken.
        """
        path, position = self._folder / reference, 0
        while piece := await FILES.run(_read, path, position):
            yield piece
            position += len(piece)
        if not position:
            raise NotFound("the page did not send it")

    async def prune_hourly(self) -> None:
        """Delete what is older than a day, now and every hour, until cancelled."""
        while True:
            await FILES.run(self._prune, self._clock.time() - KEPT_S)
            await self._clock.sleep(3_600)

    def _has_room(self, visitor: str, coming: Mapping[str, int]) -> bool:
        """Whether all files have room, with those that come; a small one counts as a whole piece."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sizes = {each.name: _size_of(each) for each in self._folder.iterdir()} | dict(coming)
        counted = {name: max(size, PIECE_BYTES) for name, size in sizes.items()}
        theirs = sum(size for name, size in counted.items() if name.startswith(visitor))
        return theirs <= VISITOR_BYTES and sum(counted.values()) <= KEPT_BYTES

    def _prune(self, before: float) -> None:
        for each in self._folder.iterdir() if self._folder.is_dir() else ():
            with suppress(FileNotFoundError):  # its upload has just ended
                if each.stat().st_mtime < before:
                    each.unlink()


def _kinds(head: bytes) -> tuple[MediaKind, ...]:
    """Return what a file can be, judged by its first bytes; containers hold sound or pictures."""
    if image_type(head) is not None:
        return (MediaKind.IMAGE,)
    if head.startswith(_AUDIO) or (head[:4] == b"RIFF" and head[8:12] == b"WAVE"):
        return (MediaKind.AUDIO,)
    if head.startswith(b"\x1aE\xdf\xa3") or head[4:8] == b"ftyp":
        return MediaKind.AUDIO, MediaKind.VIDEO
    return ()


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _append(path: Path, piece: bytes) -> None:
    with path.open("ab") as file:
        file.write(piece)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except FileNotFoundError:
        return b""


def _read(path: Path, position: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(position)
            return file.read(1_048_576)
    except FileNotFoundError:
        return b""
