"""The contract for memory: Markdown files that are the truth, searched by whoever keeps an index over them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

UNTRUSTED_MARK = " · untrusted_"
"""Ends the last line of an entry in a memory file that came from outside."""


class Kind(StrEnum):
    """What sort of thing is remembered."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    PERSON = "person"
    TODO = "todo"


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory may be seen.

    Attributes:
        person: Id of the person the session belongs to; None for a group or a stranger.
        private: Whether this is an owner's private session, which alone sees `MEMORY.md` and the days.
    """

    person: str | None
    private: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an entry came from; kept in the Markdown in a form people can read."""

    session_key: str
    person: str | None
    time: float
    trusted: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to remember."""

    text: str
    kind: Kind
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers a query.

    Attributes:
        path: Relative to the workspace.
        start_line, end_line: From 1, inclusive.
        text: The passage, at most 700 characters.
        score: 0 to 1, the higher the better.
        trusted: Whether all of it came from this home's people.
    """

    path: str
    start_line: int
    end_line: int
    text: str
    score: float
    trusted: bool = True


class Memory(Protocol):
    """Keeps the memory of every agent."""

    async def search(self, query: str, *, agent_id: str, scope: Scope, limit: int = 6) -> list[Hit]:
        """Return the passages that answer `query` best, within `scope`, best first."""
        ...

    async def get(self, path: str, *, agent_id: str, scope: Scope, start: int = 1, lines: int = 200) -> str:
        """Return lines of a memory file.

        Raises:
            NotFound: There is no such file within `scope`.
        """
        ...

    async def add(self, entry: Entry, *, agent_id: str, scope: Scope) -> Hit:
        """Write an entry into the right file and return where it is."""
        ...

    async def forget(self, query: str, *, agent_id: str, scope: Scope) -> list[Hit]:
        """Remove the entries that match `query` by word and return what was removed."""
        ...

    async def sync(self, *, agent_id: str) -> None:
        """Bring an index up to date with the files; nothing to do where there is none."""
        ...

    async def status(self, *, agent_id: str) -> dict[str, Any]:
        """Return facts on files and index."""
        ...
