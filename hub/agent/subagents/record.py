"""The registry of subagents in the hub database: each task, its end, and whether it was announced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

import orjson
from msgspec import Struct

from hub.core.context import Authority
from hub.core.sql import SqlConnection
from hub.storage.database import Database


class SubagentState(StrEnum):
    """The state of a subagent; all but the first are final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    INTERRUPTED = "interrupted"


class Subagent(Struct, frozen=True):
    """One subagent.

    Attributes:
        id: Names it in its session key and for the tools.
        run_id: Its present or last run.
        session_key: Its conversation.
        requester_key: The conversation that spawned it.
        requester_agent: The agent of that conversation.
        agent_id: The agent that does the task.
        label: A short name.
        depth: 1 for one that a conversation of people spawned.
        authority: The authority of the requester, under which the result is heard.
        place: The destination of the requester's answers, as `RequesterPlaces` wrote it.
        delete: Whether its conversation is deleted once its result was heard.
        archive_after: Minutes after its end until it is archived.
        created_ms, ended_ms: Milliseconds since the epoch.
        task: Its task, cut short.
        model: The one that was chosen, then the one that spoke last; empty for the default.
        result: Its last message, or the reason of its failure.
        tainted: Whether words from outside were before it.
        tokens, cost_usd: Its usage.
        announce_id: The run that the requester hears the result in.
        announced_ms: When that run ended; set at once when nobody is to hear of it.
    """

    id: str
    run_id: str
    session_key: str
    requester_key: str
    requester_agent: str
    agent_id: str
    label: str
    depth: int
    authority: Authority
    place: str
    delete: bool
    archive_after: int
    created_ms: int
    task: str
    state: SubagentState = SubagentState.RUNNING
    ended_ms: int | None = None
    result: str = ""
    tainted: bool = False
    tokens: int = 0
    cost_usd: float | None = None
    model: str = ""
    announce_id: str | None = None
    announced_ms: int | None = None

    def ended_as(self) -> dict[str, str]:
        """Return how it ended, in OpenClaw's words; empty while it works."""
        if self.state is SubagentState.RUNNING:
            return {}
        outcome, reason = _ENDS[self.state]
        suppressed = {"suppressAnnounceReason": "killed"} if self.state is SubagentState.KILLED else {}
        return {"outcome": outcome, "endedReason": f"subagent-{reason}", **suppressed}


_ENDS = {
    SubagentState.COMPLETED: ("ok", "complete"),
    SubagentState.FAILED: ("error", "error"),
    SubagentState.TIMED_OUT: ("timeout", "complete"),
    SubagentState.KILLED: ("killed", "killed"),
    SubagentState.INTERRUPTED: ("unknown", "error"),
}
_FIXED = (
    *("id", "run_id", "session_key", "requester_key", "requester_agent", "agent_id", "label", "depth", "authority"),
    *("place", "cleanup", "archive_after", "created_ms", "task"),
)
_CHANGING = ("state", "ended_ms", "result", "tainted", "tokens", "cost_usd", "model", "announce_id", "announced_ms")
_COLUMNS = (*_FIXED, *_CHANGING)
_INSERT = f"INSERT INTO subagents({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_UPDATE = f"UPDATE subagents SET run_id = ?, {', '.join(f'{name} = ?' for name in _CHANGING)} WHERE id = ?"  # noqa: S608


class SubagentStore:
    """Reads and writes the registry.

    Args:
        db: The hub database.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def insert(self, subagent: Subagent) -> None:
        """Insert a new row."""
        await self._db.write(lambda connection: connection.execute(_INSERT, _row(subagent)).rowcount)

    async def update(
        self, subagents: Iterable[Subagent], beside: Callable[[SqlConnection], None] | None = None
    ) -> None:
        """Write changed subagents, with `beside` in the same transaction."""
        changed = [(each.run_id, *_row(each)[len(_FIXED) :], each.id) for each in subagents]

        def write(connection: SqlConnection) -> None:
            connection.executemany(_UPDATE, changed)
            if beside is not None:
                beside(connection)

        await self._db.write(write)

    async def delete(self, id: str) -> None:
        """Delete a row."""
        await self._db.write(lambda db: db.execute("DELETE FROM subagents WHERE id = ?", (id,)).rowcount)

    async def all(self) -> list[Subagent]:
        """Return all that are not archived, oldest first."""
        statement = f"SELECT {', '.join(_COLUMNS)} FROM subagents ORDER BY position"  # noqa: S608  constants
        rows = await self._db.read(lambda connection: connection.execute(statement).fetchall())
        return [_read(dict(zip(_COLUMNS, row, strict=True))) for row in rows]


def mark_announced(connection: SqlConnection, announce_id: str, now_ms: int) -> None:
    """Mark the results of an announcement as heard; in the caller's transaction."""
    connection.execute("UPDATE subagents SET announced_ms = ? WHERE announce_id = ?", (now_ms, announce_id))


def find_subagents(subagents: Iterable[Subagent], target: str) -> list[Subagent]:
    """Return the subagents that an id, the end of one, a label or a session key names."""
    return [
        each
        for each in subagents
        if target in (each.id, each.session_key, each.label) or (len(target) >= 4 and each.id.endswith(target))
    ]


def _row(each: Subagent) -> tuple[object, ...]:
    authority = orjson.dumps(each.authority.as_dict()).decode()
    fixed = (
        *(each.id, each.run_id, each.session_key, each.requester_key, each.requester_agent, each.agent_id, each.label),
        *(each.depth, authority, each.place, "delete" if each.delete else "keep", each.archive_after, each.created_ms),
        each.task,
    )
    return (
        *fixed,
        *(each.state.value, each.ended_ms, each.result, int(each.tainted), each.tokens, each.cost_usd),
        each.model,
        *(each.announce_id, each.announced_ms),
    )


def _read(row: dict[str, Any]) -> Subagent:
    cleanup, stored = row.pop("cleanup"), orjson.loads(row.pop("authority"))
    changed = {"state": SubagentState(row["state"]), "tainted": bool(row["tainted"])}
    return Subagent(**{**row, **changed, "authority": Authority.from_dict(stored), "delete": cleanup == "delete"})
