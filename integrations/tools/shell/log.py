"""The log of commands: who ran what where, the decision, and the result. In the hub database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.tools.contract import ToolCall
from integrations.tools.shell.verdict import CommandVerdict

KEPT = 10_000
"""Commands that are remembered; the oldest are forgotten beyond it."""
LISTED_LIMIT = 500
_COLUMNS = (
    "id, begun_ms, principal, agent_id, session_key, run_id, place, command, verdict, reason, exit_code, ended_ms"
)


class CommandLog:
    """Writes and reads the log.

    Args:
        db: The hub database.
        wall_time: Seconds since the epoch.
        redact: Removes secrets from what is stored.
    """

    def __init__(self, db: Database, wall_time: Callable[[], float], redact: Callable[[str], str]) -> None:
        self._db, self._wall_time, self._redact = db, wall_time, redact

    async def begin(self, call: ToolCall, place: str, verdict: CommandVerdict, reason: str = "") -> str:
        """Record the decision about a command, on disk when this returns; a refused one has ended. Return its id."""
        id, now = new_id(), self._now_ms()
        values = (
            id,
            now,
            call.context.authority.principal,
            call.agent_id,
            call.session_key,
            call.run_id,
            place,
            self._redact(str(call.arguments["command"])),
            verdict.value,
            self._redact(reason),
            None,
            now if verdict is CommandVerdict.REFUSED else None,
        )

        def write(connection: SqlConnection) -> None:
            connection.execute(f"INSERT INTO exec_log({_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608  constants
            connection.execute(
                "DELETE FROM exec_log WHERE position <= (SELECT max(position) FROM exec_log) - ?", (KEPT,)
            )

        await self._db.write(write)
        return id

    async def end(self, id: str, exit_code: int) -> None:
        """Note how a command ended."""
        values = (exit_code, self._now_ms(), id)

        def write(connection: SqlConnection) -> None:
            connection.execute("UPDATE exec_log SET exit_code = ?, ended_ms = ? WHERE id = ?", values)

        await self._db.write(write)

    async def latest(self, limit: int) -> list[dict[str, Any]]:
        """Return the latest commands, newest first."""
        sql = f"SELECT {_COLUMNS} FROM exec_log ORDER BY position DESC LIMIT ?"  # noqa: S608  constants
        rows = await self._db.read(
            lambda connection: connection.execute(sql, (max(0, min(limit, LISTED_LIMIT)),)).fetchall()
        )
        names = _COLUMNS.split(", ")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _now_ms(self) -> int:
        return int(self._wall_time() * 1000)
