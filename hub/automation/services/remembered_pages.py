"""Snapshots of pages from the last look, by the name an automation gave them; disposable, one small file each."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from hub.storage.versioned_file import VersionedFile

PAGES_LIMIT = 500
"""Pages that are remembered; the one that was looked at longest ago is forgotten first."""
TEXT_LIMIT = 20_000

_VERSION = 1


class RememberedPage(Struct, frozen=True):
    """The snapshot of a page.

    Attributes:
        hash: The hash of its whole text.
        text: Its beginning.
    """

    hash: str
    text: str


class RememberedPages:
    """Keeps snapshots in a folder. Its methods block.

    Args:
        folder: Made when the first page is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> RememberedPage | None:
        """Return a snapshot; None if it is unknown or damaged."""
        data = self._file(key).read()
        if not isinstance(data, dict) or data.get("key") != key:
            return None
        hash, text = data.get("hash"), data.get("text")
        return RememberedPage(hash, text) if isinstance(hash, str) and isinstance(text, str) else None

    def put(self, key: str, page: RememberedPage) -> None:
        """Store a snapshot, replacing the one of the same key."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file(key).write({"key": key, "hash": page.hash, "text": page.text[:TEXT_LIMIT]})
        self._forget_the_oldest()

    def _file(self, key: str) -> VersionedFile:
        name = hashlib.sha256(key.encode()).hexdigest()[:40]
        return VersionedFile(self._folder / f"{name}.json", _VERSION)

    def _forget_the_oldest(self) -> None:
        files = list(self._folder.iterdir())
        if len(files) <= PAGES_LIMIT:
            return
        for file in sorted(files, key=lambda each: each.stat().st_mtime_ns)[: len(files) - PAGES_LIMIT]:
            file.unlink(missing_ok=True)
