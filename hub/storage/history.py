"""The history database: events, states and usage over time. It may be lost without harm and never stops the hub."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.history_retention import Retention, purge
from hub.storage.history_rows import (
    DATA_BYTES_LIMIT,
    EVENT_INSERT,
    PIECE_CHARS_LIMIT,
    PIECE_INSERT,
    RUN_BYTES_LIMIT,
    RUN_INSERT,
    STATE_INSERT,
    USAGE_INSERT,
    encode,
)
from hub.storage.history_schema import HISTORY_MIGRATIONS
from hub.storage.trace_rows import NotRunRow, Row, TraceRow, size_of, write_rows

_log = logging.getLogger(__name__)

BUFFER_LIMIT = 10_000
FLUSH_DELAY_S = 1.0
PURGE_EVERY_S = 3_600.0
PAUSE_AFTER_FAILURE_S = 60.0
LIST_LIMIT = 5_000
BUCKET_MS = 900_000
"""Usage is summed by quarters of an hour: every time zone's midnight is at the end of one."""
TRACE_BUFFER_BYTES = 16 * 1024 * 1024
"""Traces that wait to be written have at most so many bytes together."""
PIECE_AGAIN_MS = 3_600_000
"""A piece in use is marked so again after so long; it is deleted as long after that as traces are."""
PIECES_KNOWN = 2_000
MADE_LATER_LIMIT = 500
"""So many traces may wait in the form that a run left; further ones are made at once, which takes less memory."""
Redact = Callable[[str], str]

T = TypeVar("T")


class UsageNumbers(Protocol):
    """The usage of a model call; `hub.models.contract.Usage` is one."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def cost_usd(self) -> float | None: ...


class NotedChange(NamedTuple):
    """A change of a device that people care about.

    Attributes:
        before: The previous state.
        parent_id: The cause of the context of the change.
        principal, person: Who did it.
    """

    before: str
    parent_id: str | None
    principal: str
    person: str | None


class HistoryStore:
    """Records history in the background: recording costs a list entry and never waits, fails or raises.

    Args:
        path: The database file.
        retention: How long each class is kept.
        redact: Takes secrets out of what is stored.
        wall_time: Seconds since the epoch.
    """

    def __init__(
        self,
        path: Path,
        *,
        retention: Retention | None = None,
        redact: Redact | None = None,
        wall_time: Callable[[], float] = time.time,
    ) -> None:
        self._db = Database(path, HISTORY_MIGRATIONS, synchronous="NORMAL", post_delay_s=FLUSH_DELAY_S, disposable=True)
        self._retention = retention or Retention()
        self._redact = redact
        self._wall_time = wall_time
        self._buffer: deque[tuple[str, tuple[Any, ...]]] = deque()
        self._traces: deque[Row] = deque()
        # Each is written by one thread only: the first by the event loop's, the second by the writer's.
        self._trace_bytes_in = 0
        self._trace_bytes_out = 0
        self._flush_posted = False
        self._known_pieces: dict[str, int] = {}
        """When each piece was written last, in ms since the epoch; used by the writer's thread alone."""
        self._paused_until_s = 0.0
        self._purged_at_s: float | None = None
        self._open = False
        self._opening = False
        self._when_open: list[Callable[[], Awaitable[None]]] = []
        self.off: str | None = "it is not open"
        """Why nothing is recorded now; None while it is."""
        self.on_noted: Callable[[], object] | None = None
        """Called when something is recorded that the timeline has a row for."""
        self.dropped = 0
        """How many entries were not recorded."""

    async def open(self) -> None:
        """Open the database; a damaged or newer one is replaced; on failure history stays off.

        A large one of an earlier version takes long; what is recorded meanwhile waits in memory.
        """
        self.off, self._opening = "it is being opened", True
        try:
            await self._db.open()
        except (HubError, OSError, sqlite3.Error) as error:
            self.off = str(error)
            _log.error("no history is recorded: %s", error)
            return
        finally:
            self._opening = False
        self.off = None
        self._open = True
        self._db.on_damage(self._met_damage)
        self._db.post(self._purge)
        if self._buffer or self._traces:
            self._post_flush()
        for work in self._when_open:
            await work()

    async def when_open(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` now, or as soon as the database is open; never if it cannot be opened."""
        if self._opening:
            self._when_open.append(work)
        elif self._open:
            await work()

    async def close(self) -> None:
        """Flush pending records and close; a second call does nothing."""
        if self._open and (self._buffer or self._traces) and self.off is None:
            self._db.post(self._flush)
        self._open = False
        self.off = self.off or "it is closed"
        await self._db.close()

    def set_retention(self, retention: Retention) -> None:
        """Set the retention of each class."""
        self._retention = retention
        if self._open:
            self._db.post(self._purge)

    def record_event(
        self,
        type: str,
        data: Mapping[str, Any],
        context_id: str | None,
        time: float,
        *,
        parent_id: str | None = None,
        noted: bool = False,
    ) -> None:
        """Record an event; the data must not be changed afterwards.

        Args:
            time: Seconds since the epoch.
            parent_id: The cause of its context.
            noted: Whether the timeline has a row for it.
        """
        self._record(EVENT_INSERT, (int(time * 1000), type, context_id, parent_id, noted, data))
        if noted and self.on_noted is not None:
            self.on_noted()

    def record_state(
        self,
        entity_id: str,
        state: str | None,
        attributes: Mapping[str, Any],
        context_id: str | None,
        time: float,
        *,
        noted: NotedChange | None = None,
    ) -> None:
        """Record a new state of an entity; None when it was removed. `time` in seconds since the epoch."""
        why = (0, None, None, None, None) if noted is None else (1, *noted)
        self._record(STATE_INSERT, (int(time * 1000), entity_id, state, context_id, *why, attributes))
        if noted is not None and self.on_noted is not None:
            self.on_noted()

    def record_usage(
        self, agent_id: str, session_key: str | None, run_id: str | None, model: str, usage: UsageNumbers, time: float
    ) -> None:
        """Record the usage of a model call; `time` in seconds since the epoch."""
        self._record(
            USAGE_INSERT,
            (
                int(time * 1000),
                agent_id,
                session_key,
                run_id,
                model,
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
                usage.cost_usd,
            ),
        )

    def record_run(self, run_id: str, trace: object, time: float) -> None:
        """Record the trace of an agent's run; its `as_dict` is called later, and it must not be changed any more."""
        self._record(RUN_INSERT, (int(time * 1000), run_id, trace))

    def record_trace(self, row: TraceRow | NotRunRow) -> bool:
        """Record the trace of a run, or that nothing ran; return whether it will be written."""
        if (self.off is not None and not self._opening) or len(self._traces) >= BUFFER_LIMIT:
            self.dropped += 1
            return False
        if not isinstance(row.data, bytes) and len(self._traces) >= MADE_LATER_LIMIT:
            row = replace(row, data=row.data())
        size = size_of(row)
        if self._trace_bytes_in - self._trace_bytes_out + size > TRACE_BUFFER_BYTES:
            self.dropped += 1
            return False
        self._trace_bytes_in += size
        self._traces.append(row)
        self._post_flush()
        return True

    async def recent_events(self, limit: int, types: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Return the last events, the newest first; nothing when history is off.

        Args:
            limit: How many at most, up to 5 000.
            types: Only these, when given.

        Returns:
            Mappings with `type`, `time` (seconds since the epoch), `context_id` and `data`.
        """
        chosen = sorted(types or ())
        where = f"WHERE type IN ({','.join('?' for _ in chosen)})" if chosen else ""
        query = f"SELECT type, time_ms, context_id, data FROM events {where} ORDER BY id DESC LIMIT ?"  # noqa: S608
        rows = await self._read(query, (*chosen, _bounded(limit)))
        return [
            {"type": type, "time": time_ms / 1000, "context_id": context_id, "data": _decode(data)}
            for type, time_ms, context_id, data in rows
        ]

    async def events_between(
        self, types: Collection[str], since: float, until: float, *, after_id: int = 0, limit: int = LIST_LIMIT
    ) -> list[dict[str, Any]]:
        """Return events of these types in a span of time, the oldest first; `after_id` of the last one pages on."""
        chosen = sorted(types)
        query = (
            f"SELECT id, type, time_ms, context_id, data FROM events WHERE type IN ({','.join('?' for _ in chosen)}) "  # noqa: S608
            "AND time_ms >= ? AND time_ms <= ? AND id > ? ORDER BY id LIMIT ?"
        )
        rows = await self._read(query, (*chosen, int(since * 1000), int(until * 1000), after_id, _bounded(limit)))
        return [
            {"id": id, "type": type, "time": time_ms / 1000, "context_id": context_id, "data": _decode(data)}
            for id, type, time_ms, context_id, data in rows
        ]

    async def states_between(
        self, since: float, until: float, *, after_id: int = 0, limit: int = LIST_LIMIT
    ) -> list[dict[str, Any]]:
        """Return state changes in a span of time, oldest first; `after_id` of the last one pages on."""
        query = (
            "SELECT id, entity_id, time_ms, state, attributes, context_id FROM states "
            "WHERE time_ms >= ? AND time_ms <= ? AND id > ? ORDER BY id LIMIT ?"
        )
        rows = await self._read(query, (int(since * 1000), int(until * 1000), after_id, _bounded(limit)))
        return [
            {
                "id": id,
                "entity_id": entity_id,
                "time": time_ms / 1000,
                "state": state,
                "attributes": _decode(attributes),
                "context_id": context_id,
            }
            for id, entity_id, time_ms, state, attributes, context_id in rows
        ]

    async def states_of(self, entity_id: str, since: float, until: float, *, limit: int) -> list[dict[str, Any]]:
        """Return an entity's states in a span of time, the newest `limit` of them, oldest first."""
        query = (
            "SELECT time_ms, state FROM states WHERE entity_id = ? AND time_ms <= ? AND time_ms >= "
            "COALESCE((SELECT MAX(time_ms) FROM states WHERE entity_id = ? AND time_ms <= ?), 0) "
            "ORDER BY time_ms DESC LIMIT ?"
        )
        rows = await self._read(query, (entity_id, int(until * 1000), entity_id, int(since * 1000), limit))
        return [{"time": time_ms / 1000, "state": state} for time_ms, state in reversed(rows)]

    async def states_at(self, when: float) -> list[dict[str, Any]]:
        """Return the recorded state of each entity at a time (seconds since the epoch)."""
        query = (
            "SELECT entity_id, time_ms, state, attributes FROM states WHERE id IN "
            "(SELECT MAX(id) FROM states WHERE time_ms < ? GROUP BY entity_id) AND state IS NOT NULL ORDER BY entity_id"
        )
        return [
            {"entity_id": entity_id, "time": time_ms / 1000, "state": state, "attributes": _decode(attributes)}
            for entity_id, time_ms, state, attributes in await self._read(query, (int(when * 1000),))
        ]

    async def usage_since(self, since: float, limit: int) -> list[dict[str, Any]]:
        """Return usage since a time (seconds since the epoch), newest first, at most `limit` calls."""
        query = (
            "SELECT time_ms, agent_id, run_id, "
            "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens, cost_usd "
            "FROM usage WHERE time_ms >= ? ORDER BY time_ms DESC LIMIT ?"
        )
        return [
            {"time": time_ms / 1000, "agent_id": agent_id, "run_id": run_id, "tokens": tokens, "cost_usd": cost_usd}
            for time_ms, agent_id, run_id, tokens, cost_usd in await self._read(query, (int(since * 1000), limit))
        ]

    async def traces(self, automation_id: str | None, limit: int) -> list[dict[str, Any]]:
        """Return traces of an automation (of all with None), the newest first."""
        where = "WHERE automation_id = ?" if automation_id is not None else ""
        query = f"SELECT data, imported FROM traces {where} ORDER BY time_ms DESC, id DESC LIMIT ?"  # noqa: S608
        arguments = () if automation_id is None else (automation_id,)
        return [
            {**_decode(data), "imported": True} if imported else _decode(data)
            for data, imported in await self._read(query, (*arguments, _bounded(limit)))
        ]

    async def trace(self, run_id: str) -> dict[str, Any] | None:
        """Return the trace of a run, or None when there is none."""
        rows = await self._read("SELECT data, imported FROM traces WHERE run_id = ?", (run_id,))
        return next(({**_decode(data), **({"imported": True} if imported else {})} for data, imported in rows), None)

    async def run_pieces(self, names: Collection[str]) -> dict[str, str]:
        """Return the words of some `RunTrace.pieces`, by their names; those that are gone are left out."""
        chosen = sorted(set(names))[:LIST_LIMIT]
        marks = ",".join("?" for _ in chosen)
        rows = await self._read(f"SELECT name, data FROM run_pieces WHERE name IN ({marks})", tuple(chosen))  # noqa: S608
        return {name: zlib.decompress(data).decode() for name, data in rows}

    async def run_trace(self, run_id: str) -> dict[str, Any] | None:
        """Return the trace of an agent's run, or None when none is kept."""
        rows = await self._read("SELECT data FROM run_traces WHERE run_id = ?", (run_id,))
        return _decode(rows[0][0]) if rows else None

    async def not_run(self, automation_id: str | None, limit: int) -> list[dict[str, Any]]:
        """Return firings of an automation's triggers (of all with None) that started no run, newest first."""
        where = "WHERE automation_id = ?" if automation_id is not None else ""
        query = f"SELECT data FROM not_run {where} ORDER BY time_ms DESC, id DESC LIMIT ?"  # noqa: S608
        arguments = () if automation_id is None else (automation_id,)
        return [_decode(data) for (data,) in await self._read(query, (*arguments, _bounded(limit)))]

    async def usage_by_day(self, days: int, zone: tzinfo = UTC, *, sessions: bool = False) -> list[dict[str, Any]]:
        """Return usage summed by day, agent and model, the newest day first.

        Args:
            days: How many days back, today included.
            zone: The time zone of the days.
            sessions: Whether each session is summed separately.

        Returns:
            Mappings with `day` (ISO date), `agent_id`, `model`, with `sessions` also `session_key` (None outside of
            sessions), `calls`, the four token counts, and `cost_usd` (None when no price is known).
        """
        since_ms = int((self._wall_time() - max(1, days) * 86_400) * 1000)
        query = (
            f"SELECT time_ms / {BUCKET_MS}, agent_id, model, {'session_key' if sessions else 'NULL'}, COUNT(*), "  # noqa: S608
            "SUM(input_tokens), SUM(output_tokens), "
            "SUM(cache_read_tokens), SUM(cache_write_tokens), SUM(cost_usd) FROM usage "
            "WHERE time_ms >= ? GROUP BY 1, 2, 3, 4"
        )
        sums: dict[tuple[str, str, str, str | None], list[Any]] = {}
        for bucket, agent_id, model, session_key, *numbers in await self._read(query, (since_ms,)):
            day = datetime.fromtimestamp(bucket * BUCKET_MS / 1000, zone).date().isoformat()
            total = sums.setdefault((day, agent_id, model, session_key), [0, 0, 0, 0, 0, None])
            for index, number in enumerate(numbers):
                if number is not None:
                    total[index] = (total[index] or 0) + number
        names = ("calls", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")
        first_day = datetime.fromtimestamp(self._wall_time() - (max(1, days) - 1) * 86_400, zone).date().isoformat()
        return [
            {"day": day, "agent_id": agent_id, "model": model}
            | ({"session_key": session_key} if sessions else {})
            | dict(zip(names, total, strict=True))
            for (day, agent_id, model, session_key), total in sorted(
                sums.items(), key=lambda item: item[0][:3], reverse=True
            )
            if day >= first_day
        ]

    def status(self) -> dict[str, Any]:
        """Return whether it records, and its counters."""
        return {
            "recording": self.off is None,
            "reason": self.off,
            "dropped": self.dropped,
            "waiting": len(self._buffer) + len(self._traces),
        }

    def _record(self, insert: str, row: tuple[Any, ...]) -> None:
        if (self.off is not None and not self._opening) or len(self._buffer) >= BUFFER_LIMIT:
            self.dropped += 1
            return
        self._buffer.append((insert, row))
        if not self._flush_posted:
            self._post_flush()

    def _post_flush(self) -> None:
        if not self._flush_posted and not self._opening:
            self._flush_posted = self._db.post(self._flush)

    async def read(self, work: Callable[[SqlConnection], T], otherwise: T) -> T:
        """Run `work` in a reader thread, over all that was recorded; return `otherwise` when history is off."""
        if not self._open:
            return otherwise
        try:
            if (self._buffer or self._traces) and self.off is None:
                await self._db.write(self._flush)
            return await self._db.read(work)
        except (HubError, sqlite3.Error) as error:
            _log.warning("history could not be read: %s", error)
            return otherwise

    async def _read(self, query: str, arguments: tuple[Any, ...]) -> list[Any]:
        nothing: list[Any] = []
        return await self.read(lambda connection: connection.execute(query, arguments).fetchall(), nothing)

    # --- below: in the writer's thread ---

    def _flush(self, connection: SqlConnection) -> None:
        self._flush_posted = False
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for _ in range(len(self._buffer)):
            insert, row = self._buffer.popleft()
            limit = RUN_BYTES_LIMIT if insert == RUN_INSERT else DATA_BYTES_LIMIT
            rows.setdefault(insert, []).append(row if insert == USAGE_INSERT else encode(row, self._redact, limit))
            if insert == RUN_INSERT and (pieces := self._pieces(row)):
                rows.setdefault(PIECE_INSERT, []).extend(pieces)
        traces = [self._traces.popleft() for _ in range(len(self._traces))]
        self._trace_bytes_out += sum(map(size_of, traces))
        if time.monotonic() < self._paused_until_s:
            self.dropped += sum(len(each) for each in rows.values()) + len(traces)
            return
        try:
            for insert, each in rows.items():
                connection.executemany(insert, each)
            write_rows(connection, traces, self._redact)
        except sqlite3.Error:
            self.dropped += sum(len(each) for each in rows.values()) + len(traces)
            self._paused_until_s = time.monotonic() + PAUSE_AFTER_FAILURE_S
            raise
        if self._purged_at_s is None or time.monotonic() - self._purged_at_s >= PURGE_EVERY_S:
            self._purge(connection)

    def _pieces(self, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return the rows of what a run's models were sent, but for those that were written lately."""
        time_ms, _, trace = row
        found: dict[str, str] = trace.pieces() if hasattr(trace, "pieces") else {}
        new = {name: text for name, text in found.items() if time_ms - self._known_pieces.get(name, 0) > PIECE_AGAIN_MS}
        if len(self._known_pieces) > PIECES_KNOWN:
            self._known_pieces.clear()
        self._known_pieces.update(dict.fromkeys(new, time_ms))
        clean = self._redact or str
        return [(time_ms, name, zlib.compress(clean(text)[:PIECE_CHARS_LIMIT].encode())) for name, text in new.items()]

    def _purge(self, connection: SqlConnection) -> None:
        """Delete expired and excess rows, in bounded batches."""
        self._purged_at_s = time.monotonic()
        if purge(connection, self._retention, self._wall_time()):
            self._db.post(self._purge)

    def _met_damage(self) -> None:
        self.off = "the file is damaged; the next start begins a new one"


def _bounded(limit: int) -> int:
    return max(0, min(limit, LIST_LIMIT))


def _decode(text: str | None) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {"unreadable": True}
