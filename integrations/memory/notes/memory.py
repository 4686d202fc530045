"""The memory: Markdown files in each agent's workspace, which are the truth, and an index over them that finds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest, TimedOut, Unavailable
from hub.core.tasks import TaskOwner
from hub.memory.contract import (
    ENTRY_LIMIT,
    FILES_ENGINE,
    HITS_LIMIT,
    LINES_LIMIT,
    NO_FILTERS,
    UNTRUSTED_MARK,
    Added,
    Filters,
    Forget,
    Hit,
    MemoryEntry,
    SearchAnswer,
    Synced,
    Verified,
)
from hub.memory.front_matter import front_matter
from hub.memory.markdown import passages
from hub.memory.notebook import Notebook
from hub.memory.places import area_of, areas_of, may_see, own_file
from hub.memory.scope import MemoryScope
from hub.memory.words import search_words
from hub.security.root import Root
from integrations.memory.notes.client.deadline import IN_TIME_SHARE, within_deadline
from integrations.memory.notes.files import elsewhere, grep
from integrations.memory.notes.files.decoding import decode_text
from integrations.memory.notes.files.file_facts import count_files, facts, heal, texts
from integrations.memory.notes.files.file_worker import FileWorker, FileWorkers
from integrations.memory.notes.files.matching import terms_of
from integrations.memory.notes.files.memory_files import has_files
from integrations.memory.notes.files.notebook import NotesNotebook, no_such_file
from integrations.memory.notes.files.remembering import Remembering
from integrations.memory.notes.forget.conversations import Conversations
from integrations.memory.notes.forget.deletion import Deletion, DeletionResult, SearchedConversations, embedded_texts
from integrations.memory.notes.job import FILE_LIMIT_BYTES, Job, Source

if TYPE_CHECKING:
    from integrations.memory.notes.client.index_worker import IndexWorker
    from integrations.memory.notes.client.upkeep import Upkeep

_log = logging.getLogger(__name__)

USUAL_LIMIT = 6
SEARCH_LIMIT_S = 8.0
"""After this the files are read instead: it is longer than a worker takes to start."""
OUT_LIMIT_S = 30.0
"""How long forgetting waits until the index has taken it out."""
SEEN_LIMIT_S = 1.0
"""How long a write waits until the index has it."""

T = TypeVar("T")


class NotesMemory:
    """Keeps memory in Markdown files; see `hub.memory.contract.Memory`.

    Args:
        root_of: Gives the whole workspace of an agent.
        jobs: Gives the worker's job for an agent's memory; without it there is only the workspace.
        worker: The index; without it every search reads the files.
        history_of: Gives the directory in which the changes of an agent's memory are kept.
        now: Seconds since the epoch.
        zone: The time zone of this home, in which days begin.
        changed: Called with the agent after each change of its files.
        tasks: The owner of the background tasks.
    """

    def __init__(
        self,
        root_of: Callable[[str], Root],
        jobs: Callable[[str], Job] | None = None,
        worker: IndexWorker | None = None,
        *,
        history_of: Callable[[str], Path],
        now: Callable[[], float] = time.time,
        zone: Callable[[], tzinfo] = lambda: UTC,
        changed: Callable[[str], None] = lambda agent_id: None,
        tasks: TaskOwner | None = None,
    ) -> None:
        self._root_of = root_of
        self._jobs = jobs
        self._worker = worker if jobs is not None else None
        self._now = now
        self._zone = zone
        self._tell = changed
        self._conversations: Conversations | None = None
        self._attendant: Upkeep | None = None
        self._tasks = tasks or TaskOwner("memory")
        self._workers = FileWorkers(root_of, history_of, now, self._changed)
        self.notebook: Notebook = NotesNotebook(self._workers, self._sources, zone)

    def set_observer(self, attendant: Upkeep) -> None:
        """Let somebody know of searches, and of the end."""
        self._attendant = attendant

    def set_transcripts(self, conversations: Conversations) -> None:
        """Let words of conversations be forgotten too."""
        self._conversations = conversations

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
        """Return the passages that answer `query` best, the best first; without an index the files are read.

        A query that names nothing gives the latest entries.

        Raises:
            InvalidRequest: The query is too long.
        """
        began, today = time.monotonic(), self._today()
        terms = terms_of(query, today, search_words)
        areas = areas_of(scope)
        if not areas:
            return SearchAnswer((), (), 0.0)
        most = None if limit is None else max(1, min(limit, HITS_LIMIT))

        async def ask(worker: IndexWorker, job: Job) -> SearchAnswer:
            left_s = None if within_s is None else within_s * IN_TIME_SHARE - (time.monotonic() - began)
            return await worker.search(job, query, areas, filters, most, today, left_s)

        async def index() -> tuple[SearchAnswer | None, str | None]:
            answer, why = await self._asked(agent_id, ask)
            if answer is None:
                return None, why
            if self._attendant is not None:
                self._attendant.note_search(agent_id)
            is_seen = self._sight(agent_id, areas)
            return replace(answer, hits=[hit for hit in answer.hits if is_seen(hit.path)]), None

        async def files(limit_s: float, why: str | None) -> SearchAnswer:
            sources, wanted = self._sources(agent_id), most or self._usual_limit(agent_id)

            def read(worker: FileWorker) -> tuple[list[Hit], bool]:
                return grep.search(texts(worker, sources, areas), terms, filters, today, wanted, limit_s=limit_s)

            hits, is_whole = await self._workers.look(agent_id, read)
            if not is_whole:
                why = f"{f'{why}; ' if why else ''}there are more files than could be read in time: the newest were"
            return SearchAnswer(hits, (FILES_ENGINE,), round((time.monotonic() - began) * 1_000, 1), why)

        if within_s is not None and self._worker is not None and not self._tasks.closed:
            asking = self._tasks.spawn(index(), name="search the index")
            return await within_deadline(asking, files, within_s, awake=self._worker.awake)
        answer, why = await index()
        return await files(grep.TIME_LIMIT_S, why) if answer is None else answer

    def is_empty(self, *, agent_id: str, scope: MemoryScope) -> bool | None:
        """Whether there is nothing to find in a scope; None when that would need a look into files."""
        sources = self._sources(agent_id)
        if len(sources) > 1:
            return None
        root = sources[0].root if sources else str(self._root_of(agent_id).path)
        return not any(has_files(root, area) for area in areas_of(scope))

    async def get(self, path: str, *, agent_id: str, scope: MemoryScope, start: int = 1, lines: int = 200) -> str:
        """Return lines of a memory file; what came from outside as a whole ends with a line that says so.

        Raises:
            NotFound: There is no such file within `scope`.
            InvalidRequest: The requested lines do not exist.
        """
        if start < 1 or not 1 <= lines <= LINES_LIMIT:
            raise InvalidRequest(f"start: expected at least 1; lines: expected 1 to {LINES_LIMIT}")
        sources = self._sources(agent_id)

        def read(worker: FileWorker) -> tuple[str, bool]:
            if elsewhere.is_elsewhere(path):
                if (found := elsewhere.read(sources, path, areas_of(scope))) is None:
                    raise no_such_file(path)
                return found.text, found.trusted
            if not may_see(path, scope):
                raise no_such_file(path)
            return decode_text(worker.files.root.read_bytes(path, FILE_LIMIT_BYTES)), True

        text, trusted = await self._workers.look(agent_id, read)
        front = front_matter(text)[0]
        last = start + lines - 1
        # An entry is never shown without its last line, which says where it came from.
        ends = [each.end_line for each in passages(text) if each.start_line <= last <= each.end_line and each.kind]
        shown = "\n".join(text.split("\n")[start - 1 : max([last, *ends])])
        if trusted and front.trusted:
            return shown
        return f"{shown}\n_from {'outside' if front.source is None else front.source}{UNTRUSTED_MARK}"

    async def add(self, entry: MemoryEntry, *, agent_id: str, scope: MemoryScope) -> Added:
        """Write an entry into the right file and return its place; an existing one is not written again.

        Raises:
            InvalidRequest: The text is empty or too long, or it is not clear what it replaces.
            Forbidden: The session belongs to nobody who could have a memory.
            Unavailable: The file cannot be written.
        """
        if not entry.text.strip():
            raise InvalidRequest("text: expected something to remember")
        if len(entry.text) > ENTRY_LIMIT:
            raise InvalidRequest(f"that is longer than {ENTRY_LIMIT} characters; shorten it")
        replaced = terms_of(entry.replaces or "", self._today())
        return await self._workers.change(agent_id, Remembering(entry, scope, replaced, self._zone()).do)

    async def forget(self, what: Forget, *, agent_id: str, scope: MemoryScope, dry_run: bool = False) -> list[Hit]:
        """Remove the entries that match, from files, history, index and cache, and return them.

        By words only list items go, and at most 5 at once. By session and person all that came from there goes, with
        the notes of that session and that person's own files. Of what the session does not see, no text is returned.
        Conversations that are searched stay as they are, and memory leaves out of them what is forgotten, for good.

        Raises:
            InvalidRequest: It names nothing, or words name too many; nothing is removed then.
            Forbidden: The session belongs to nobody who could have a memory.
            Conflict: Somebody else writes to the files meanwhile; nothing was removed.
            LimitExceeded: Too much of conversations is left out by now; nothing was removed.
            Unavailable: A file cannot be written, or the omissions of conversations cannot be read.
        """
        terms = terms_of(what.query or "", self._today())
        if (what.query and not terms) or not (what.query or what.session or what.person):
            raise InvalidRequest("query: expected at least one word of what to forget")
        if not areas_of(scope):
            own_file(scope)
        spoken = await self._spoken(agent_id, what)
        work = Deletion(agent_id, what, terms, scope, spoken)
        if dry_run:
            return (await self._workers.look(agent_id, work.find)).hits
        gone = await self._workers.change(agent_id, work.do)
        if gone.paths:
            await self._drop(agent_id, gone, spoken)
        return gone.hits

    async def left_out(self, session_id: str, *, agent_id: str) -> frozenset[str] | None:
        """Return the ids of forgotten entries of a conversation's transcript; None for all, or if unknown."""
        known = self._conversations
        if known is None:
            return frozenset()
        return await asyncio.to_thread(lambda: known.omissions.of(agent_id).of(session_id))

    async def similar(
        self, *, agent_id: str, scope: MemoryScope, threshold: float, limit: int = 200
    ) -> list[tuple[Hit, Hit, float]]:
        """Return pairs of similar entries, highest first; without an index, by common words."""
        areas = areas_of(scope)
        if not areas:
            return []

        async def ask(worker: IndexWorker, job: Job) -> list[tuple[Hit, Hit, float]]:
            return await worker.similar(job, areas, threshold, limit)

        pairs, _ = await self._asked(agent_id, ask)
        if pairs is not None:
            is_seen = self._sight(agent_id, areas)
            return [each for each in pairs if is_seen(each[0].path) and is_seen(each[1].path)]
        return await self._workers.look(agent_id, lambda own: grep.similar(texts(own, (), areas), threshold, limit))

    async def sync(self, *, agent_id: str, force: bool = False) -> Synced:
        """Bring the index up to date with the files; `force` rebuilds it beside the old one.

        Raises:
            Unavailable: The worker cannot be had.
        """
        await self._workers.change(agent_id, heal)
        if self._worker is not None and self._jobs is not None:
            synced = await self._worker.sync(self._jobs(agent_id), None, force=force)
            self._tell(agent_id)
            return synced
        began = time.monotonic()
        files, count, _ = await self._workers.look(agent_id, count_files)
        return Synced(files, count, 0, 0, round(time.monotonic() - began, 3))

    async def verify(self, *, agent_id: str) -> Verified:
        """Compare files and index; what does not agree is repaired.

        Raises:
            Unavailable: The worker cannot be had.
        """
        if self._worker is not None and self._jobs is not None:
            return await self._worker.verify(self._jobs(agent_id))
        files, count, skipped = await self._workers.look(agent_id, count_files)
        return Verified(files, count, [f"{path} cannot be read" for path in skipped])

    async def status(self, *, agent_id: str) -> dict[str, Any]:
        """Return facts on files and history, and the worker's on the index, or why it has none."""

        async def ask(worker: IndexWorker, job: Job) -> Mapping[str, Any]:
            return await worker.status(job)

        index, why = await self._asked(agent_id, ask)
        own = await self._workers.look(agent_id, lambda worker: facts(worker, counting=index is None))
        unknown = None if self._conversations is None else self._conversations.problem(agent_id)
        problems = "; ".join(each for each in (why, unknown) if each is not None)
        return {**own, "index": None if index is None else dict(index), "problem": problems or None}

    async def close(self) -> None:
        """Stop the index process and background work; files are still read and written, without an index."""
        if self._attendant is not None:
            self._attendant.stop()
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()
        await self._tasks.cancel_all()

    async def _asked(
        self, agent_id: str, ask: Callable[[IndexWorker, Job], Awaitable[T]]
    ) -> tuple[T | None, str | None]:
        """Return the worker's answer, or None and the reason."""
        if self._worker is None or self._jobs is None:
            return None, None
        try:
            async with asyncio.timeout(SEARCH_LIMIT_S):
                return await ask(self._worker, self._jobs(agent_id)), None
        except TimeoutError:
            return None, f"the index did not answer within {SEARCH_LIMIT_S:.0f} s"
        except InvalidRequest:
            raise
        except HubError as error:
            return None, error.message

    async def _changed(self, agent_id: str, paths: Sequence[str]) -> None:
        """Let the index pick up a write, which the next search sees; waits for a limited time."""
        if self._worker is not None and self._jobs is not None and self._worker.running and not self._tasks.closed:
            work = self._quietly(self._worker.sync(self._jobs(agent_id), list(paths)))
            task = self._tasks.spawn(work, name="index what was written")
            await asyncio.wait([task], timeout=SEEN_LIMIT_S)
        self._tell(agent_id)

    async def _spoken(self, agent_id: str, what: Forget) -> SearchedConversations | None:
        """Return the conversations to search for deletions."""
        known = self._conversations
        if known is None or (source := known.all(agent_id)) is None:
            return None
        if (unknown := known.problem(agent_id)) is not None:
            raise Unavailable(f"nothing was forgotten: {unknown}")
        runs = await known.runs_of(agent_id, what.person) if what.person is not None else {}
        return SearchedConversations(source, known.omissions, runs)

    async def _drop(self, agent_id: str, gone: DeletionResult, spoken: SearchedConversations | None) -> None:
        """Delete from the index: passages, and cached vectors."""
        if self._worker is None or self._jobs is None:
            return
        job = self._jobs(agent_id)
        dropped = await asyncio.to_thread(lambda: list(embedded_texts(gone, spoken, job.settings)))
        with suppress(TimeoutError):
            async with asyncio.timeout(OUT_LIMIT_S):
                # What is still in the index cannot be taken out of its files.
                await self._quietly(self._worker.sync(job, gone.paths))
        for portion in dropped:
            await self._quietly(self._worker.drop(job, portion))

    async def _quietly(self, work: Awaitable[Any]) -> None:
        try:
            await work
        except (HubError, TimedOut) as error:
            # The index sees for itself what the files are when it is next had.
            _log.info("the index did not take up what was written: %s", error)

    def _sources(self, agent_id: str) -> Sequence[Source]:
        return self._jobs(agent_id).sources if self._jobs is not None else ()

    def _sight(self, agent_id: str, areas: Sequence[str]) -> Callable[[str], bool]:
        """Return a function that tells whether a path may be seen now: an index may be older than the configuration."""
        sources: list[Sequence[Source]] = []

        def is_seen(path: str) -> bool:
            if not elsewhere.is_elsewhere(path):
                return area_of(path) in areas
            if not sources:
                sources.append(self._sources(agent_id))
            return elsewhere.area_in(sources[0], path) in areas

        return is_seen

    def _usual_limit(self, agent_id: str) -> int:
        settings = self._jobs(agent_id).settings if self._jobs is not None else {}
        return int((settings.get("search") or {}).get("limit", USUAL_LIMIT))

    def _today(self) -> date:
        return datetime.fromtimestamp(self._now(), self._zone()).date()
