"""The contract for the files of memory: read, edited and undone by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from hub.memory.scope import MemoryProvenance, MemoryScope


class MemoryFile(Struct, frozen=True):
    """A memory file.

    Attributes:
        path: The path, as in `Hit.path`.
        area: Its area: `private`, `shared`, `person-<id>`, `group-<id>`.
        size_bytes, changed_ms: Facts of the file; milliseconds since the epoch.
        day: `YYYY-MM-DD` when it is a day's.
        writable: Whether it can be edited here (not files of extra paths, nor conversations).
    """

    path: str
    area: str
    size_bytes: int
    changed_ms: int
    day: str | None = None
    writable: bool = True


class MemoryText(Struct, frozen=True):
    """A memory file's whole text, and the hash by which concurrent changes are detected."""

    path: str
    text: str
    hash: str


class Edit(Struct, frozen=True):
    """One file's new text; None deletes it. `base_hash` is the hash of what was read, None for a new file."""

    path: str
    text: str | None
    base_hash: str | None


class Change(Struct, frozen=True):
    """A set of changes that can be undone together.

    Attributes:
        id: By which it is named.
        time_ms: When, milliseconds since the epoch.
        reason: `add`, `edit`, `tidy`, `import`, `undo`, `note`, `forget`.
        who: The author, for people.
        summary: One line.
        diff: Unified diff of all files; empty for what was forgotten.
        undone: Whether it was undone.
        can_undo: Whether it can be undone; what was forgotten cannot.
    """

    id: str
    time_ms: int
    reason: str
    who: str
    summary: str
    diff: str
    undone: bool = False
    can_undo: bool = True


class Notebook(Protocol):
    """The files of memory, to be read and edited by people; every change is kept and can be undone."""

    async def files(self, *, agent_id: str, scope: MemoryScope) -> list[MemoryFile]:
        """Return the files visible in a scope, curated ones first, then the newest days."""
        ...

    async def read(self, path: str, *, agent_id: str, scope: MemoryScope) -> MemoryText:
        """Return a file's text.

        Raises:
            NotFound: There is no such file within `scope`.
        """
        ...

    async def write(
        self, edits: Sequence[Edit], *, agent_id: str, scope: MemoryScope, reason: str, who: str, summary: str
    ) -> Change:
        """Change files together: all or none.

        Raises:
            Conflict: A file changed since it was read; nothing was written.
            NotFound, Forbidden, InvalidRequest: It may not be written, or not so.
        """
        ...

    async def note(
        self, slug: str, title: str, text: str, provenance: MemoryProvenance, *, agent_id: str, scope: MemoryScope
    ) -> str:
        """Write the summary of a conversation into a separate file, and return its path.

        An owner's goes to `memory/YYYY-MM-DD-<slug>.md`, another person's below `memory/people/<id>/`, a group's below
        `memory/groups/<id>/`; a name that is taken gets a number.

        Raises:
            Forbidden: The session belongs to nobody who could have a memory.
        """
        ...

    async def changes(self, *, agent_id: str, scope: MemoryScope, limit: int = 50) -> list[Change]:
        """Return the changes, newest first."""
        ...

    async def undo(self, change_id: str, *, agent_id: str, scope: MemoryScope, who: str) -> Change:
        """Undo a change.

        Raises:
            NotFound: There is no such change within `scope`.
            Forbidden: Its files may be read, not written.
            Conflict: Its files were changed again since, or it is not kept.
        """
        ...

    async def bring_in(
        self, files: Mapping[str, str], *, origin: str, trusted: bool, agent_id: str, scope: MemoryScope
    ) -> list[str]:
        """Write files of another assistant below `memory/imported/<origin>/`; return the paths written.

        Args:
            files: Text by relative name.
            origin: A slug.
            trusted: Whether the owner vouches for them; without it they are words from outside.
        """
        ...
