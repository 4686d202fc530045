"""An extra path: a directory or a single file outside the workspace, and its memory files. Blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from hub.security.folder_entry import FolderEntry
from hub.security.root import Root
from integrations.memory.notes.job import FILES_LIMIT, Source


class ExtraPath(Struct, frozen=True):
    """The present target of an extra path.

    Attributes:
        root: The directory.
        only: The one file, when it is a file.
    """

    root: Root
    only: str | None

    @classmethod
    def of(cls, source: Source) -> ExtraPath:
        """Return the target of a source's extra path."""
        path = Path(source.root)
        return cls(Root(path.parent), path.name) if path.is_file() else cls(Root(path), None)

    def holds(self, rel: str) -> bool:
        """Whether a name below the directory is a memory file: Markdown, and not hidden."""
        is_hidden = any(name.startswith(".") for name in rel.split("/"))
        return self.only in (None, rel) and rel.lower().endswith(".md") and not is_hidden

    def files(self) -> Iterator[FolderEntry]:
        """Yield its files.

        Raises:
            OSError, HubError: It cannot be looked through.
        """
        for entry in [self.root.stat(self.only)] if self.only is not None else self.root.walk(".", FILES_LIMIT):
            if entry.is_file and self.holds(entry.path):
                yield entry
