"""The position up to which each account was read, by the platform's id of the account."""

from __future__ import annotations

from hub.core.sql import SqlConnection
from hub.storage.database import Database


class Cursors:
    """Keeps positions in the hub database.

    They belong to the account as the platform knows it: under a new token of the same account reading goes on, and
    another account that takes its name in the configuration begins at its own.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, channel: str, account_id: str, name: str) -> str | None:
        """Return a position, or None when none was kept."""

        def read(connection: SqlConnection) -> str | None:
            found = connection.execute(
                "SELECT value FROM channel_cursors WHERE channel = ? AND account_id = ? AND name = ?",
                (channel, account_id, name),
            ).fetchone()
            return found[0] if found else None

        return await self._db.read(read)

    async def keep(self, channel: str, account_id: str, name: str, value: str) -> None:
        """Keep a position; it is on disk when this returns."""
        await self._db.write(
            lambda connection: connection.execute(
                "INSERT INTO channel_cursors(channel, account_id, name, value) VALUES (?,?,?,?)"
                " ON CONFLICT(channel, account_id, name) DO UPDATE SET value = excluded.value",
                (channel, account_id, name, value),
            )
        )
