"""The rows of runs in the hub database: the requests and their results."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Any

import orjson
from msgspec import Struct

from hub.agent.run_request import Kind, RunRequest, RunResult, RunStatus
from hub.core.context import Authority, Context
from hub.core.sql import SqlConnection
from hub.models.contract import Usage
from hub.storage.database import Database


class RunRowState(StrEnum):
    """The state of a run's row."""

    QUEUED = "queued"
    RUNNING = "running"
    ANSWERED = "answered"
    FAILED = "failed"
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"


_INSERT = (
    "INSERT INTO runs(id, agent_id, session_key, inbox_id, kind, state, lane, authority, context_id, parent_id,"
    " created_ms, session_id, started_ms) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO"
)
OPEN = (RunRowState.QUEUED, RunRowState.RUNNING)
INTERRUPTED_ERROR = {
    "code": "INTERRUPTED",
    "message": "The hub stopped while this was going on. It was not done again, since part of it may have been done.",
}


class RunRow(Struct, frozen=True):
    """The row of an interrupted run."""

    id: str
    agent_id: str
    session_key: str
    session_id: str | None
    inbox_id: str | None
    kind: Kind
    state: RunRowState


class RunStore:
    """Reads and writes the rows of runs.

    Args:
        db: The hub database.
        now_ms: Milliseconds since the epoch.
    """

    def __init__(self, db: Database, now_ms: Callable[[], int]) -> None:
        self._db = db
        self._now_ms = now_ms

    def insert(self, connection: SqlConnection, request: RunRequest, context: Context, state: RunRowState) -> None:
        """Insert a run's row unless it exists; in the caller's transaction."""
        connection.execute(f"{_INSERT} NOTHING", self._row(request, context, state))

    def mark_started(self, request: RunRequest, context: Context, session_id: str | None) -> Callable[[Any], None]:
        """Return the database work that marks a run as begun."""
        row = self._row(request, context, RunRowState.RUNNING, session_id, self._now_ms())

        def write(connection: SqlConnection) -> None:
            connection.execute(
                f"{_INSERT} UPDATE SET state = excluded.state, session_id = excluded.session_id,"
                " started_ms = excluded.started_ms WHERE runs.state IN ('queued', 'running')",
                row,
            )

        return write

    def _row(
        self,
        request: RunRequest,
        context: Context,
        state: RunRowState,
        session_id: str | None = None,
        started_ms: int | None = None,
    ) -> tuple[Any, ...]:
        authority = _stored_authority(context.authority)
        asked = (request.run_id, request.agent_id, request.session_key, request.inbox_id, request.kind, state.value)
        caused = (request.lane, authority, context.id, context.parent_id, self._now_ms())
        return (*asked, *caused, session_id, started_ms)

    def mark_ended(self, request: RunRequest, context: Context, result: RunResult) -> Callable[[Any], None]:
        """Return the database work that ends a run and calls its `on_final`, in one transaction."""
        now = self._now_ms()

        def end(connection: SqlConnection) -> int:
            return connection.execute(
                "UPDATE runs SET state = ?, ended_ms = ?, model = ?, usage = ?, error = ?, reply = ?"
                " WHERE id = ? AND state IN ('queued', 'running')",
                (state_of(result).value, now, *_columns(result), result.run_id),
            ).rowcount

        def write(connection: SqlConnection) -> None:
            ended = end(connection)
            if not ended:
                # Nearly every run has its row by now; one that failed before it was recorded has not.
                self.insert(connection, request, context, RunRowState.RUNNING)
                ended = end(connection)
            if ended and request.on_final is not None:
                request.on_final(connection, result)

        return write

    async def find(self, run_id: str) -> RunResult | RunRowState | None:
        """Return the result of an ended run, the state of an open one, None for an unknown one."""
        return await self._db.read(lambda connection: _find(connection, run_id))

    async def open_rows(self) -> list[RunRow]:
        """Return the open runs, oldest first."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT id, agent_id, session_key, session_id, inbox_id, kind, state FROM runs"
                " WHERE state IN ('queued', 'running') ORDER BY position"
            ).fetchall()
        )
        return [RunRow(*row) for row in rows]

    async def unnotified_runs(self) -> list[RunRow]:
        """Return the interrupted runs whose sender was not notified before a crash."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT id, agent_id, session_key, session_id, inbox_id, kind, state FROM runs"
                " WHERE state = 'interrupted' AND id IN (SELECT run_id FROM inbox WHERE state = 'queued')"
                " ORDER BY position"
            ).fetchall()
        )
        return [RunRow(*row) for row in rows]

    async def settle(self, run_id: str, result: RunResult) -> None:
        """End an interrupted run that has no waiters."""
        interrupted = (result.error or {}).get("code") == INTERRUPTED_ERROR["code"]
        state = RunRowState.INTERRUPTED if interrupted else state_of(result)
        now = self._now_ms()
        await self._db.write(
            lambda connection: (
                connection.execute(
                    "UPDATE runs SET state = ?, ended_ms = ?, model = ?, usage = ?, error = ?, reply = ? WHERE id = ?",
                    (state.value, now, *_columns(result), run_id),
                ).rowcount
            )
        )

    async def queue_again(self, run_ids: list[str]) -> None:
        """Set runs back to queued."""
        if run_ids:
            await self._db.write(
                lambda connection: (
                    connection.executemany(
                        "UPDATE runs SET state = 'queued', started_ms = NULL WHERE id = ?", [(id,) for id in run_ids]
                    ).rowcount
                )
            )


def _columns(result: RunResult) -> tuple[str | None, str, str | None, str]:
    """Return the values of the columns model, usage, error and reply."""
    error = orjson.dumps(dict(result.error), default=str).decode() if result.error else None
    return result.model, orjson.dumps(result.usage.as_dict()).decode(), error, result.reply


@lru_cache(maxsize=256)
def _stored_authority(authority: Authority) -> str:
    """Return an authority as JSON, cached."""
    return orjson.dumps(authority.as_dict()).decode()


def state_of(result: RunResult) -> RunRowState:
    """Return the row state for a result."""
    match result.status:
        case RunStatus.OK:
            return RunRowState.ANSWERED
        case RunStatus.ABORTED:
            return RunRowState.ABORTED
        case _:
            return RunRowState.FAILED


def _find(connection: SqlConnection, run_id: str) -> RunResult | RunRowState | None:
    row = connection.execute(
        "SELECT session_key, state, usage, error, reply, model FROM runs WHERE id = ?", (run_id,)
    ).fetchone()
    if row is None:
        return None
    session_key, stored, usage, error, reply, model = row
    state = RunRowState(stored)
    if state in OPEN:
        return state
    told = orjson.loads(error) if error else None
    return RunResult(
        run_id,
        session_key,
        _status(state, told),
        reply or "",
        usage=_usage(usage),
        stop=_stop(state, told),
        error=told,
        model=model,
    )


def _status(state: RunRowState, error: dict[str, Any] | None) -> RunStatus:
    match state:
        case RunRowState.ANSWERED:
            return RunStatus.OK
        case RunRowState.ABORTED:
            return RunStatus.ABORTED
        case _:
            return RunStatus.TIMEOUT if (error or {}).get("code") == "TIMEOUT" else RunStatus.ERROR


def _stop(state: RunRowState, error: dict[str, Any] | None) -> str:
    code = (error or {}).get("code")
    known = {"TIMEOUT": "timeout", "LIMIT_EXCEEDED": "limit"}
    match state:
        case RunRowState.ANSWERED:
            return "end"
        case RunRowState.ABORTED:
            return "aborted"
        case _:
            return known.get(str(code), "error")


def _usage(stored: str | None) -> Usage:
    data = orjson.loads(stored) if stored else {}
    input, output, read, written = (
        int(data.get(f"{name}_tokens", 0)) for name in ("input", "output", "cache_read", "cache_write")
    )
    return Usage(input, output, read, written, data.get("cost_usd"))
