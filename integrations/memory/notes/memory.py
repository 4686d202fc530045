"""The memory: Markdown files in each agent's workspace, searched by word. The files are the truth."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo
from typing import Any, TypeVar

from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.memory.contract import NO_FILTERS, Added, Answer, Entry, Filters, Forget, Hit, Scope
from hub.memory.dates import asked_for
from hub.memory.markdown import Passage, format_entry, passages
from hub.memory.words import fold, words_asked
from hub.security.root import Root
from integrations.memory.notes.grep import Found, IndexedFile, Term, excerpt, having_all, latest, search
from integrations.memory.notes.places import may_see, own_file, place_for
from integrations.memory.notes.shelf import Shelf

QUERY_LIMIT = 2_000
TEXT_LIMIT = 4_000
HITS_LIMIT = 50
USUAL_LIMIT = 6
LINES_LIMIT = 2_000
FORGET_LIMIT = 5
SCORE_LIMIT = 0.2
"""What has less than this share of what was asked is no answer."""
LATEST_SCORE = 0.25

T = TypeVar("T")


class NotesMemory:
    """Keeps memory in Markdown files; see `hub.memory.contract.Memory`.

    Args:
        root_of: Gives the whole workspace of an agent.
        now: Seconds since the epoch.
        zone: The time zone of this home, in which days begin.
    """

    def __init__(
        self,
        root_of: Callable[[str], Root],
        *,
        now: Callable[[], float] = time.time,
        zone: Callable[[], tzinfo] = lambda: UTC,
    ) -> None:
        self._root_of = root_of
        self._now = now
        self._zone = zone
        self._shelves: dict[str, tuple[Shelf, asyncio.Lock]] = {}

    async def search(
        self, query: str, *, agent_id: str, scope: Scope, limit: int | None = None, filters: Filters = NO_FILTERS
    ) -> Answer:
        """Return the passages that have the most telling words of `query`, the best first.

        A query that names nothing gives the latest entries.
        """
        terms = self._terms(query)
        most = min(limit or USUAL_LIMIT, HITS_LIMIT)
        began = time.monotonic()
        hits = await self._on_shelf(agent_id, lambda shelf: self._search(shelf, terms, scope, most))
        return Answer(hits, ("grep",), round((time.monotonic() - began) * 1000, 1))

    async def get(self, path: str, *, agent_id: str, scope: Scope, start: int = 1, lines: int = 200) -> str:
        """Return lines of a memory file.

        Raises:
            NotFound: There is no such file within `scope`.
            InvalidRequest: The lines asked for cannot be.
        """
        if start < 1 or not 1 <= lines <= LINES_LIMIT:
            raise InvalidRequest(f"start is at least 1, lines are 1 to {LINES_LIMIT}")
        if not may_see(path, scope):
            raise NotFound(f"there is no memory file {path!r:.200}")
        text = await self._on_shelf(agent_id, lambda shelf: shelf.text(path))
        last = start + lines - 1
        # An entry is never shown without its last line, which says where it came from.
        ends = [each.end_line for each in passages(text) if each.start_line <= last <= each.end_line and each.kind]
        return "\n".join(text.split("\n")[start - 1 : max([last, *ends])])

    async def add(self, entry: Entry, *, agent_id: str, scope: Scope) -> Added:
        """Write an entry into the right file and return where it is; what is there already is not written again.

        Raises:
            InvalidRequest: There is nothing to remember, or too much.
            Forbidden: The session belongs to nobody who could have a memory.
            Unavailable: The file cannot be written.
        """
        if not entry.text.strip():
            raise InvalidRequest("there is nothing to remember")
        if len(entry.text) > TEXT_LIMIT:
            raise InvalidRequest(f"that is longer than {TEXT_LIMIT} characters; remember what matters of it")
        zone = self._zone()
        item = format_entry(entry, zone)
        today = datetime.fromtimestamp(entry.provenance.time, zone).date()

        def write(shelf: Shelf) -> Added:
            place = place_for(
                entry.kind,
                scope,
                today,
                trusted=entry.provenance.trusted,
                curated_bytes=shelf.curated_bytes(),
            )
            written = shelf.add(place, item)
            return Added(_hit(written.path, written.passage, 1.0), known=written.known)

        return await self._on_shelf(agent_id, write)

    async def forget(self, what: Forget, *, agent_id: str, scope: Scope, dry_run: bool = False) -> list[Hit]:
        """Remove the list items that have every word of `query`, or say exactly it, and return them.

        Raises:
            InvalidRequest: It names nothing, or more than 5 items; nothing is removed then.
            Forbidden: The session belongs to nobody who could have a memory.
            Unavailable: A file cannot be written.
        """
        query = what.query or ""
        terms = self._terms(query)
        if not terms:
            raise InvalidRequest("say what to forget, with a word that stands in it")
        if not scope.private:
            own_file(scope)
        return await self._on_shelf(agent_id, lambda shelf: self._forget(shelf, query, terms, scope, dry_run=dry_run))

    async def sync(self, *, agent_id: str) -> None:
        """Read again the files that changed; searching does so too."""
        await self._on_shelf(agent_id, lambda shelf: shelf.refresh())

    async def status(self, *, agent_id: str) -> dict[str, Any]:
        """Return how many files and passages there are, and which files could not be read."""
        everything = Scope(person=None, private=True)

        def count(shelf: Shelf) -> dict[str, Any]:
            files = shelf.visible(everything)
            return {
                "engine": "words",
                "files": len(files),
                "passages": sum(len(file.passages) for file in files),
                "skipped": shelf.skipped(),
            }

        return await self._on_shelf(agent_id, count)

    def _terms(self, query: str) -> list[Term]:
        if len(query) > QUERY_LIMIT:
            raise InvalidRequest(f"a query has at most {QUERY_LIMIT} characters")
        rest, dates = asked_for(query, self._today())
        return [*(frozenset([word]) for word in words_asked(rest)), *dates]

    def _today(self) -> date:
        return datetime.fromtimestamp(self._now(), self._zone()).date()

    def _search(self, shelf: Shelf, terms: list[Term], scope: Scope, limit: int) -> list[Hit]:
        files = shelf.visible(scope)
        if not terms:
            return [_hit(found.path, found.passage, found.score) for found in latest(files, limit, LATEST_SCORE)]
        words = frozenset[str]().union(*terms)
        return [
            _hit(found.path, found.passage, found.score, words)
            for found in search(files, terms, self._today(), limit)
            if found.score >= SCORE_LIMIT
        ]

    def _forget(self, shelf: Shelf, query: str, terms: list[Term], scope: Scope, *, dry_run: bool) -> list[Hit]:
        matches = _matches(shelf.visible(scope), query, terms)
        if len(matches) > FORGET_LIMIT:
            some = "; ".join(excerpt(each.passage.text, frozenset())[:80] for each in matches[:FORGET_LIMIT])
            raise InvalidRequest(
                f"{len(matches)} entries match, and nothing was forgotten. Say more exactly which, for example: {some}"
            )
        for path in () if dry_run else dict.fromkeys(each.path for each in matches):
            shelf.cut(path, [each.passage for each in matches if each.path == path])
        return [_hit(each.path, each.passage, 1.0) for each in matches]

    async def _on_shelf(self, agent_id: str, work: Callable[[Shelf], T]) -> T:
        """Run blocking work on an agent's files in a thread, after what came before; cancelling waits for nothing."""
        root = self._root_of(agent_id)
        known = self._shelves.get(agent_id)
        if known is None or known[0].root.path != root.path:  # an agent may be given another workspace
            known = self._shelves[agent_id] = (Shelf(root), asyncio.Lock())
        shelf, lock = known
        async with lock:
            try:
                return await asyncio.to_thread(work, shelf)
            except HubError:
                raise
            except FileNotFoundError as error:
                raise NotFound(f"there is no memory file {error.filename}") from error
            except OSError as error:
                raise Unavailable(f"memory cannot be read or written: {error.strerror}") from error


def _matches(files: list[IndexedFile], query: str, terms: list[Term]) -> list[Found]:
    wanted = fold(query).strip().rstrip(".。")
    exact = [
        Found(file.path, passage, 1.0)
        for file in files
        for passage in file.passages
        if passage.is_item and fold(passage.text).strip().rstrip(".。") == wanted
    ]
    return exact or [Found(file.path, passage, 1.0) for file in files for passage in having_all(file, terms)]


def _hit(path: str, passage: Passage, score: float, words: frozenset[str] = frozenset()) -> Hit:
    return Hit(path, passage.start_line, passage.end_line, excerpt(passage.text, words), score, trusted=passage.trusted)
