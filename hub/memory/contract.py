"""The contract for memory: Markdown files that are the truth, and an index over them that can always be rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from hub.memory.notebook import Notebook
from hub.memory.scope import MemoryProvenance, MemoryScope

UNTRUSTED_MARK = " · untrusted_"
"""Ends the last line of an entry in a memory file that came from outside."""

EVENT_CHANGED = "memory_changed"
"""Fired after the files or the index of an agent's memory changed, whoever changed them; data: `agent`."""

BY_HAND = "by hand"
"""The session key of an entry from outside any conversation."""

ENTRY_LIMIT = 4_000
"""Characters of an entry."""
QUERY_LIMIT = 2_000
"""Characters of a query, and of the words that name what is replaced or forgotten."""
HITS_LIMIT = 50
"""Passages that a search returns at most."""
LINES_LIMIT = 2_000
"""Lines of a memory file that are read at once."""
CHANGES_LIMIT = 200
"""Changes that are listed at once."""
FILES_ENGINE = "grep"
"""How `SearchAnswer.engines` names a look through the files themselves."""


class MemoryKind(StrEnum):
    """The kind of a memory."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    PERSON = "person"
    TODO = "todo"


class MemoryEntry(Struct, frozen=True):
    """Something to remember.

    Attributes:
        text: One sentence that can be understood on its own.
        kind: Its kind.
        provenance: Its origin.
        replaces: Words of the entry that holds no longer; it is struck, not deleted.
        shared: Whether everybody in this home may know it.
    """

    text: str
    kind: MemoryKind
    provenance: MemoryProvenance
    replaces: str | None = None
    shared: bool = False


class Filters(Struct, frozen=True):
    """Conditions on passages, applied before ranking; None sets no condition.

    Attributes:
        person: The speaker.
        session: Key of the session it was said in.
        kind: Its kind.
        trusted: Whether it came from this home's people.
    """

    person: str | None = None
    session: str | None = None
    kind: MemoryKind | None = None
    trusted: bool | None = None


NO_FILTERS = Filters()


class Hit(Struct, frozen=True):
    """A passage that answers a query.

    Attributes:
        path: Relative to the workspace; `extra/<name>/…` for files of an extra path, `transcripts/<id>` for a
            conversation.
        start_line, end_line: From 1, inclusive.
        text: The passage, at most 700 characters.
        before, after: The text of neighbouring entries, for a short entry: an answer often follows its question.
        score: 0 to 1, the higher the better.
        trusted: Whether all of it came from this home's people.
        vector_score: Cosine between query and passage; None without vectors.
        text_score: Its strength by word as a share of the strongest; None when it was not found by word.
        kind, person, session, day: Its origin, as far as it is known; the day is `YYYY-MM-DD`.
        why: What moved it up or down (`recency`, `diverse`, …) with the factor, for people.
    """

    path: str
    start_line: int
    end_line: int
    text: str
    score: float
    trusted: bool = True
    vector_score: float | None = None
    text_score: float | None = None
    kind: str | None = None
    person: str | None = None
    session: str | None = None
    day: str | None = None
    why: Mapping[str, float] | None = None
    before: str | None = None
    after: str | None = None

    @property
    def shown(self) -> str:
        """The passage with its surroundings."""
        return "\n".join(each for each in (self.before, self.text, self.after) if each is not None)


class SearchAnswer(Struct, frozen=True):
    """A search result.

    Attributes:
        hits: Best first.
        engines: The engines used: `vectors:exact`, `keywords:fts5`, `grep`, …
        took_ms: How long it took.
        degraded: Why an engine that should have been asked was not; None when all is well.
    """

    hits: Sequence[Hit]
    engines: Sequence[str]
    took_ms: float
    degraded: str | None = None


class Added(Struct, frozen=True):
    """A written entry: its place, whether it existed before, and the entry it replaced."""

    hit: Hit
    known: bool = False
    struck: Sequence[Hit] = ()


class Forget(Struct, frozen=True):
    """A request to forget, in files and searched conversations.

    At least one is given, and all that are given must hold.

    Attributes:
        query: All its words are in the entry or the message, or it is exactly that.
        session: Key of the session that the entry came from.
        person: The entry's person.
    """

    query: str | None = None
    session: str | None = None
    person: str | None = None


class Synced(Struct, frozen=True):
    """The result of an index update.

    Attributes:
        files, chunks: How many there are now.
        embedded: Chunks that were sent for embedding.
        requests: Requests that took.
        seconds: How long it took.
        waiting: Chunks that have no vector yet.
        problem: Why not all of it could be done; what exists can be searched.
    """

    files: int
    chunks: int
    embedded: int
    requests: int
    seconds: float
    waiting: int = 0
    problem: str | None = None


class Verified(Struct, frozen=True):
    """The result of comparing files and index.

    Attributes:
        files, chunks: How many were compared.
        problems: The disagreements, a sentence each.
        repaired: Whether a rebuild was begun.
    """

    files: int
    chunks: int
    problems: Sequence[str]
    repaired: bool = False


class Memory(Protocol):
    """Keeps the memory of every agent."""

    notebook: Notebook

    async def search(
        self,
        query: str,
        *,
        agent_id: str,
        scope: MemoryScope,
        limit: int | None = None,
        filters: Filters = NO_FILTERS,
        within_s: float | None = None,
    ) -> SearchAnswer:
        """Return the passages that answer `query` best, within `scope`, best first.

        It does not fail because of an engine: it asks the others, and finally reads the files themselves.

        Args:
            query: The search words; an empty query returns the latest entries.
            agent_id: The agent of the memory.
            scope: What may be seen.
            limit: How many at most; as configured without it.
            filters: Conditions on passages.
            within_s: For who cannot wait: an engine that takes longer counts as one that cannot be asked.

        Raises:
            InvalidRequest: The query is too long.
        """
        ...

    def is_empty(self, *, agent_id: str, scope: MemoryScope) -> bool | None:
        """Whether a scope has no memories, as far as known without looking; None if unknown."""
        ...

    async def get(self, path: str, *, agent_id: str, scope: MemoryScope, start: int = 1, lines: int = 200) -> str:
        """Return lines of a memory file, an entry always with its source line.

        What came from outside as a whole ends with a line that says so; see
        `hub.memory.front_matter.holds_outside_words`.

        Raises:
            NotFound: There is no such file within `scope`.
        """
        ...

    async def add(self, entry: MemoryEntry, *, agent_id: str, scope: MemoryScope) -> Added:
        """Write an entry into the right file and return where it is.

        Raises:
            InvalidRequest: The text is empty or too long.
            Forbidden: The session belongs to nobody who could have a memory.
            Unavailable: The file cannot be written.
        """
        ...

    async def forget(self, what: Forget, *, agent_id: str, scope: MemoryScope, dry_run: bool = False) -> list[Hit]:
        """Remove matching entries from files, history, index and cache, and return the removed ones.

        Raises:
            InvalidRequest: It names nothing, or a query names too many; nothing is removed then.
            Forbidden: The session belongs to nobody who could have a memory.
            Conflict, LimitExceeded: A file changed meanwhile, or too much of conversations is left out; nothing was
                removed.
            Unavailable: A file cannot be written, or the omissions of conversations cannot be read.
        """
        ...

    async def left_out(self, session_id: str, *, agent_id: str) -> frozenset[str] | None:
        """Return the ids of forgotten entries of a conversation's transcript that are in no note; None for all."""
        ...

    async def similar(
        self, *, agent_id: str, scope: MemoryScope, threshold: float, limit: int = 200
    ) -> list[tuple[Hit, Hit, float]]:
        """Return pairs of similar entries, with their similarity 0 to 1 (cosine, or shared words), highest first."""
        ...

    async def sync(self, *, agent_id: str, force: bool = False) -> Synced:
        """Update the index from the files; `force` rebuilds it beside the old one."""
        ...

    async def verify(self, *, agent_id: str) -> Verified:
        """Compare files and index; differences are repaired."""
        ...

    async def status(self, *, agent_id: str) -> dict[str, Any]:
        """Return facts on files, index, engines and embeddings, for people and programs."""
        ...
