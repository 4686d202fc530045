"""Snapshots of pages from the last look, by the name an automation gave them; disposable, one small file each."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from hub.storage.files import FILES, Documents
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
        documents: Where the home keeps them.
    """

    def __init__(self, folder: Path, documents: Documents = FILES) -> None:
        self._folder = folder
        self._documents = documents

    def get(self, key: str) -> RememberedPage | None:
        """Return a snapshot; None if it is unknown or damaged."""
        data = self._file(key).read()
        if not isinstance(data, dict) or data.get("key") != key:
            return None
        hash, text = data.get("hash"), data.get("text")
        return RememberedPage(hash, text) if isinstance(hash, str) and isinstance(text, str) else None

    def put(self, key: str, page: RememberedPage) -> None:
        """Store a snapshot, replacing the one of the same key."""
        self._file(key).write({"key": key, "hash": page.hash, "text": page.text[:TEXT_LIMIT]})
        self._documents.prune(self._folder, PAGES_LIMIT)

    def _file(self, key: str) -> VersionedFile:
        name = hashlib.sha256(key.encode()).hexdigest()[:40]
        return VersionedFile(self._folder / f"{name}.json", _VERSION, documents=self._documents)
