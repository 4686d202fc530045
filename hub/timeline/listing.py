"""The list: the sources merged by time, what belongs together in one row, with a cursor and filters."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from hub.agent.runs.visible import is_visible
from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.core.sql import SqlConnection
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.history import HistoryStore
from hub.timeline import history_sources, hub_sources, narrowing
from hub.timeline.happening import FELL_BACK, Happening, Kind, Outcome
from hub.timeline.history_sources import TRIGGERED, Change, HubEvent, RelatedRecords, Skipped
from hub.timeline.hub_sources import FoundApproval, FoundMessage, FoundRun, Span
from hub.timeline.rows import (
    RUN_STATES_OF,
    RowContext,
    approval_row,
    change_row,
    event_row,
    message_row,
    run_row,
    skipped_row,
)

SCAN_LIMIT = 5_000
"""Rows scanned for one page; its cursor continues after them."""
FELL_BACK_LIMIT = 2_000
"""Runs in which a model failed that can be found as such, the newest."""
LEAST_CHUNK, MOST_CHUNK = 60, 250
_CURSOR = re.compile(r"(?:[a-z]\d+)(?:\.[a-z]\d+)*")

RUNS, MESSAGES, APPROVALS, EVENTS, SKIPPED, CHANGES = "r", "m", "a", "e", "s", "c"
_OF_KIND = {
    Kind.CONVERSATION: (RUNS, MESSAGES),
    Kind.AUTOMATION: (EVENTS, SKIPPED),
    Kind.REMINDER: (EVENTS, SKIPPED),
    Kind.DEVICE: (CHANGES,),
    Kind.APPROVAL: (APPROVALS,),
    Kind.PERSON: (MESSAGES, EVENTS),
    Kind.SYSTEM: (EVENTS,),
}
_OF_OUTCOME = {
    Outcome.ANSWERED: (RUNS, APPROVALS),
    Outcome.DONE: (EVENTS, MESSAGES),
    Outcome.CHANGED: (CHANGES, EVENTS),
    Outcome.ALLOWED: (APPROVALS, EVENTS),
    Outcome.WAITING: (RUNS, APPROVALS),
    Outcome.RUNNING: (RUNS, EVENTS),
    Outcome.NOT_RUN: (SKIPPED, EVENTS),
    Outcome.DENIED: (APPROVALS, EVENTS),
    Outcome.EXPIRED: (APPROVALS,),
    Outcome.REFUSED: (MESSAGES,),
    Outcome.STOPPED: (RUNS, EVENTS, APPROVALS),
    Outcome.FAILED: (RUNS, EVENTS),
    FELL_BACK: (RUNS, EVENTS),
}

Found = FoundRun | FoundMessage | FoundApproval | HubEvent | Skipped | Change


class TimelineFilters(Struct, frozen=True):
    """The filters of a list; None and the empty set mean any."""

    kinds: frozenset[Kind] = frozenset()
    outcomes: frozenset[str] = frozenset()
    person: str | None = None
    agent: str | None = None
    entity: str | None = None
    automation: str | None = None
    text: str = ""
    since_ms: int | None = None
    until_ms: int | None = None

    def sources(self) -> list[str]:
        """Return the sources that may have matching rows."""
        of_kind = {source for kind in self.kinds or _OF_KIND for source in _OF_KIND[kind]}
        of_outcome = {source for name in self.outcomes or _OF_OUTCOME for source in _OF_OUTCOME[name]}
        found = of_kind & of_outcome
        if self.automation is not None:
            found &= {EVENTS, SKIPPED, CHANGES}
        if self.entity is not None:
            found &= {CHANGES, EVENTS, SKIPPED, RUNS}
        if self.agent is not None:
            found -= {MESSAGES, SKIPPED}
        return sorted(found)

    def columns(self, source: str) -> dict[str, Any]:
        """Return the filters that the query of a source applies itself."""
        if source == RUNS:
            states = [state for name in self.outcomes for state in RUN_STATES_OF.get(name, ["", ""])]
            exact = {"state": states[0]} if len(states) == 1 and self.outcomes != {Outcome.WAITING} else {}
            return exact | ({"agent_id": self.agent} if self.agent is not None else {})
        if source == SKIPPED and self.automation is not None:
            return {"automation_id": self.automation}
        if source == CHANGES and self.entity is not None:
            return {"entity_id": self.entity}
        return {}

    @property
    def folds(self) -> bool:
        """Whether a change of a device is a part of the row of its automation: where both are listed."""
        return not self.kinds or {Kind.AUTOMATION, Kind.DEVICE} <= self.kinds

    def takes(self, row: Happening) -> bool:
        """Return whether a row passes the filters."""
        if self.kinds and row.kind not in self.kinds:
            return False
        if self.outcomes and row.outcome not in self.outcomes and self.outcomes.isdisjoint(row.notes):
            return False
        if self.person is not None and row.person != self.person:
            return False
        if self.agent is not None and row.agent_id != self.agent:
            return False
        if self.automation is not None and row.automation_id != self.automation:
            return False
        if self.entity is not None and self.entity not in (row.entity_id, *(each.entity_id for each in row.causes)):
            return False
        return not self.text or self.text.casefold() in row.words()


class Page(Struct, frozen=True):
    """One page of the list: rows, the newest first, and where the next one begins; None at the end."""

    rows: Sequence[Happening]
    next: str | None


class Timeline:
    """Lists happenings from the content of the databases.

    Args:
        db: Runs, messages, approvals.
        history: Automations, changes of devices, events; without it those are not listed.
        sessions: Names of conversations.
        people: Returns the people of this home.
        started_ms: When the hub began.
    """

    def __init__(
        self,
        db: Database,
        history: HistoryStore,
        sessions: SessionStore,
        people: Callable[[], People],
        started_ms: int,
    ) -> None:
        self.db = db
        self.history = history
        self.sessions = sessions
        self.people = people
        self.started_ms = started_ms

    async def page(
        self, wanted: TimelineFilters, authority: Authority, *, limit: int, cursor: str | None = None
    ) -> Page:
        """Return a page.

        Args:
            wanted: The filters.
            authority: The reader: an owner, or a person who sees only their own.
            limit: Rows at most; a page may have fewer and still have a next one.
            cursor: `next` of the page before.

        Raises:
            InvalidRequest: The cursor is malformed.
        """
        places: dict[str, int | None] = dict.fromkeys(wanted.sources())
        places |= {source: at for source, at in _places(cursor).items() if source in places}
        chunk = min(max(limit + 10, LEAST_CHUNK), MOST_CHUNK)
        waiting: dict[str, deque[tuple[int, int, Happening | None]]] = {source: deque() for source in places}
        over: set[str] = set()
        rows: list[Happening] = []
        scanned = 0
        only = await self._only(wanted)
        positions = await self._narrowed(wanted, authority)
        while len(rows) < limit and scanned < SCAN_LIMIT:
            empty = [source for source, found in waiting.items() if not found and source not in over]
            if empty:
                spans = {
                    source: Span(
                        places[source],
                        chunk,
                        wanted.since_ms,
                        wanted.until_ms,
                        wanted.columns(source),
                        only if source == RUNS else None,
                        positions.get(source),
                    )
                    for source in empty
                }
                for source, found in (await self._fetch(spans, wanted, authority)).items():
                    waiting[source].extend(found)
                    scanned += len(found)
                    if len(found) < chunk:
                        over.add(source)
                chunk = min(chunk * 2, MOST_CHUNK)
            heads = [(found[0][1], source) for source, found in waiting.items() if found]
            if not heads:
                break
            _, source = max(heads)
            position, _, row = waiting[source].popleft()
            places[source] = position
            if row is not None and wanted.takes(row):
                rows.append(row)
        is_end = not any(waiting.values()) and over >= set(waiting)
        # A source that contributed no row yet continues at its newest row of now.
        begun = {source: found[0][0] + 1 for source, found in waiting.items() if found and places[source] is None}
        ended = {source: 0 for source in over if places[source] is None and source not in begun}
        return Page(rows, None if is_end else _cursor(places | begun | ended))

    async def _only(self, wanted: TimelineFilters) -> Sequence[str] | None:
        """Return the ids of the only runs that can match; None for all."""
        if wanted.outcomes != {FELL_BACK}:
            return None
        nothing: list[str] = []
        return await self.history.read(partial(history_sources.fallen_back, limit=FELL_BACK_LIMIT), nothing)

    async def _narrowed(self, wanted: TimelineFilters, authority: Authority) -> Mapping[str, Sequence[int]]:
        """Return the positions of the only rows of each source that can match; nothing for all."""
        reader = "" if authority.owner else authority.person or ""
        id = wanted.entity or wanted.automation
        word = id or narrowing.word_of(wanted.text) or wanted.person or reader or wanted.agent
        if not word:
            return {}
        word = word.encode().lower().decode()  # as SQLite does it: the letters of ASCII only
        titled = [each.key for each in self.sessions.list() if word in (each.name or "").encode().lower().decode()]
        found, nothing = narrowing.Found(set(), set(), {}), None
        try:
            await self.db.read(lambda connection: narrowing.in_hub(connection, word, titled, found))
            await self.history.read(lambda connection: narrowing.in_history(connection, word, found), nothing)
            await self.db.read(lambda connection: narrowing.of_runs(connection, found))
        except narrowing.TooMany:
            return {}
        return narrowing.positions_of(found)

    async def _fetch(
        self, spans: Mapping[str, Span], wanted: TimelineFilters, authority: Authority
    ) -> dict[str, list[tuple[int, int, Happening | None]]]:
        """Read the next rows of sources, and make happenings of them; None for what is not shown."""
        found: dict[str, Sequence[Any]] = await self.db.read(partial(_of_hub, spans=spans))
        around = RelatedRecords()
        runs: Sequence[FoundRun] = found.get(RUNS, ())
        nothing: dict[str, Sequence[Any]] = {}
        found |= await self.history.read(partial(_of_history, spans=spans, runs=runs, around=around), nothing)
        refer = {each.run_id for each in around.begun.values()}
        refer |= {each.run_id for each in found.get(APPROVALS, ()) if each.run_id is not None}
        beside = await self.beside(around, refer, runs, authority)
        make: dict[str, Callable[[Any], Happening | None]] = {
            RUNS: partial(run_row, beside=beside),
            MESSAGES: message_row,
            APPROVALS: partial(approval_row, beside=beside),
            EVENTS: partial(event_row, beside=beside),
            SKIPPED: skipped_row,
            CHANGES: partial(change_row, beside=beside, fold=wanted.folds),
        }
        people = self.people()
        made: dict[str, list[tuple[int, int, Happening | None]]] = {}
        for source, each in found.items():
            await asyncio.sleep(0)  # a chunk of one source is as much as the loop should do at a time
            rows = [(one.position, _time(one), make[source](one)) for one in each]
            made[source] = [
                (position, at_ms, row if row is not None and may_see(row, authority, people) else None)
                for position, at_ms, row in rows
            ]
        return made

    async def beside(
        self, around: RelatedRecords, refer: set[str], runs: Sequence[FoundRun], authority: Authority
    ) -> RowContext:
        """Return the context that rows are made with.

        Args:
            refer: Ids of runs that others refer to.
            runs: The runs that become rows.
        """
        ids = [run.id for run in runs]
        known, asked = await self.db.read(
            lambda connection: (
                hub_sources.runs_of(connection, refer - {*ids}),
                hub_sources.approvals_by_run(connection, ids),
            )
        )
        known |= {run.id: run for run in runs}
        known |= {run.id: run.without_words() for run in known.values() if self._is_deleted(run)}
        people = self.people()
        readable = frozenset(
            run.id
            for run in known.values()
            if is_visible(run.session_key, run.authority, authority, people) or _is_own(run.authority, authority)
        )
        titles = {key: title for key in {run.session_key for run in known.values()} if (title := self._title(key))}
        return RowContext(around, known, asked, titles, readable, self.started_ms)

    def names(self) -> dict[str, str]:
        """Return the names of the people of this home by their id."""
        return {person.id: person.name for person in self.people().all()}

    def _is_deleted(self, run: FoundRun) -> bool:
        """Whether the conversation of a run was deleted: then nothing that was said in it is shown."""
        return run.session_id is not None and self.sessions.get(run.session_key) is None

    def _title(self, key: str) -> str | None:
        session = self.sessions.get(key)
        return session.name if session is not None else None


def may_see(row: Happening, authority: Authority, people: People) -> bool:
    """Return whether a reader may see a row: an owner all but what others say in private, a person their own."""
    if not authority.owner:
        return authority.person is not None and row.person == authority.person
    return row.private is None or is_visible(*row.private, authority, people)


def _is_own(behind: Mapping[str, Any], authority: Authority) -> bool:
    return authority.person is not None and behind.get("person") == authority.person


def _of_hub(connection: SqlConnection, spans: Mapping[str, Span]) -> dict[str, Sequence[Any]]:
    read: dict[str, Callable[[SqlConnection, Span], Sequence[Any]]] = {
        RUNS: hub_sources.runs,
        MESSAGES: hub_sources.messages,
        APPROVALS: hub_sources.approvals,
    }
    return {source: read[source](connection, span) for source, span in spans.items() if source in read}


def _of_history(
    connection: SqlConnection, spans: Mapping[str, Span], runs: Sequence[FoundRun], around: RelatedRecords
) -> dict[str, Sequence[Any]]:
    read: dict[str, Callable[[SqlConnection, Span], Sequence[Any]]] = {
        EVENTS: history_sources.events,
        SKIPPED: history_sources.skipped_triggers,
        CHANGES: history_sources.changes,
    }
    found = {source: read[source](connection, span) for source, span in spans.items() if source in read}
    automations = [each for each in found.get(EVENTS, ()) if each.type == TRIGGERED]
    history_sources.add_automation_records(connection, automations, around)
    history_sources.add_change_causes(connection, found.get(CHANGES, ()), around)
    contexts = {run.context_id for run in runs if run.context_id is not None}
    ids = {run.id for run in runs} | {each.run_id for each in around.begun.values()}
    history_sources.add_run_records(connection, contexts, ids, around)
    return found


def _time(found: Found) -> int:
    return found.created_ms if isinstance(found, (FoundRun, FoundApproval)) else found.at_ms


def _places(cursor: str | None) -> dict[str, int]:
    if cursor is None:
        return {}
    if not _CURSOR.fullmatch(cursor) or len(cursor) > 200:
        raise InvalidRequest("cursor: expected `next` of an earlier page", details={"param": "cursor"})
    return {each[0]: int(each[1:]) for each in cursor.split(".")}


def _cursor(places: Mapping[str, int | None]) -> str:
    return ".".join(f"{source}{place}" for source, place in sorted(places.items()) if place is not None)
