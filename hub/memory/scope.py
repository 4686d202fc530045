"""Scopes of memory, and the sources of entries."""

from __future__ import annotations

from msgspec import Struct


class MemoryScope(Struct, frozen=True):
    """The memory that may be read and written.

    Attributes:
        person: Id of the person the session belongs to; None for a group or a stranger.
        private: Whether this is an owner's private session, which alone sees `MEMORY.md` and the days.
        group: Of a group's session, its `<channel>-<id>` as it is in a file name; such a memory is seen in that
            group alone.
        shared: Whether the home's shared memory is seen.
    """

    person: str | None
    private: bool
    group: str | None = None
    shared: bool = False


NOBODY = MemoryScope(person=None, private=False)


class MemoryProvenance(Struct, frozen=True):
    """Where an entry came from; kept in the Markdown in a form people can read."""

    session_key: str
    person: str | None
    time: float
    trusted: bool
