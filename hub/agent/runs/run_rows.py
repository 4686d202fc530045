"""The database rows of runs, and of what was received, asked and sent for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from hub.core.sql import SqlConnection

STATES = ("queued", "running", "answered", "failed", "aborted", "interrupted")
ROWS_LIMIT = 200
"""Rows of each kind beside one run."""


class StoredRun(Struct, frozen=True):
    """A run as stored in the database; times in milliseconds since the epoch."""

    position: int
    id: str
    agent_id: str
    session_key: str
    session_id: str | None
    kind: str
    state: str
    created_ms: int
    started_ms: int | None
    ended_ms: int | None
    model: str | None
    reply: str | None
    usage: Mapping[str, Any]
    error: Mapping[str, Any] | None
    authority: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The run as a row of a list."""
        begun, ended = self.started_ms or self.created_ms, self.ended_ms
        return {
            "runId": self.id,
            "sessionKey": self.session_key,
            "agentId": self.agent_id,
            "kind": self.kind,
            "state": self.state,
            "createdAt": self.created_ms,
            "startedAt": self.started_ms,
            "endedAt": ended,
            "durationMs": max(0, ended - begun) if ended is not None else None,
            "model": self.model,
            "usage": dict(self.usage),
            "error": dict(self.error) if self.error is not None else None,
        }


class RunSurroundings(Struct, frozen=True):
    """The rows related to one run, oldest first.

    Attributes:
        received: Messages that it answers: `{id, at, channel, account, from}`.
        approvals: The questions to its person: `{kind, title, tool, state, at, decidedAt, by, reason}`.
        sent: Its sent messages: `{at, updatedAt, channel, account, to, kind, state, attempts, error, text}`.
    """

    received: Sequence[Mapping[str, Any]]
    approvals: Sequence[Mapping[str, Any]]
    sent: Sequence[Mapping[str, Any]]


_RECEIVED = {"id": "id", "at": "received_ms", "channel": "channel", "account": "account", "from": "peer"}
_APPROVALS = {name: name for name in ("kind", "title", "state", "reason")} | {"tool": "details"}
_APPROVALS |= {"at": "created_ms", "decidedAt": "decided_ms", "by": "decided_by"}
_SENT = {name: name for name in ("channel", "account", "kind", "state", "attempts", "error", "text")}
_SENT |= {"at": "created_ms", "updatedAt": "updated_ms", "to": "peer"}
_RUN = ", ".join(StoredRun.__struct_fields__)


def find_run(connection: SqlConnection, run_id: str) -> StoredRun | None:
    """Return a run by its id."""
    row = connection.execute(f"SELECT {_RUN} FROM runs WHERE id = ?", (run_id,)).fetchone()  # noqa: S608  constants
    return None if row is None else _stored(row)


def list_runs(connection: SqlConnection, only: Mapping[str, Any], before: int | None, limit: int) -> list[StoredRun]:
    """Return runs, newest first.

    Args:
        only: Columns and the values they must have.
        before: Only those with a smaller position.
    """
    conditions = [f"{column} = ?" for column in only] + (["position < ?"] if before is not None else [])
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    values = (*only.values(), *([before] if before is not None else []), limit)
    query = f"SELECT {_RUN} FROM runs {where} ORDER BY position DESC LIMIT ?"  # noqa: S608  constants and marks
    return [_stored(row) for row in connection.execute(query, values).fetchall()]


def surroundings(connection: SqlConnection, run_id: str) -> RunSurroundings:
    """Return the rows related to a run."""

    def rows(table: str, columns: Mapping[str, str]) -> list[dict[str, Any]]:
        chosen = f"SELECT {', '.join(columns.values())} FROM {table}"  # noqa: S608  constants
        found = connection.execute(f"{chosen} WHERE run_id = ? ORDER BY position LIMIT ?", (run_id, ROWS_LIMIT))
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    approvals = rows("approvals", _APPROVALS)
    asked = [{**each, "tool": (_data(each["tool"]) or {}).get("tool")} for each in approvals]
    return RunSurroundings(rows("inbox", _RECEIVED), asked, rows("outbox", _SENT))


def _stored(row: Sequence[Any]) -> StoredRun:
    found = dict(zip(StoredRun.__struct_fields__, row, strict=True))
    data = {name: _data(found[name]) for name in ("usage", "error", "authority")}
    return StoredRun(**{**found, **data, "usage": data["usage"] or {}, "authority": data["authority"] or {}})


def _data(stored: str | None) -> dict[str, Any] | None:
    try:
        found = orjson.loads(stored or "null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
