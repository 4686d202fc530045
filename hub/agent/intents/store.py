"""Standing intents on disk: rows of the hub database."""

from __future__ import annotations

import logging
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from hub.core.sql import SqlConnection, upsert
from hub.storage.database import Database

_log = logging.getLogger(__name__)

_COLUMNS = (
    "id, agent_id, area, topics, text, created_ms, expires_ms, cooldown_s, last_fired_ms, fired, session_key, person,"
    " trusted"
)
_PUT = upsert("standing_intents", _COLUMNS)


class StandingIntent(Struct, frozen=True):
    """A standing reminder, shown when its topic comes up.

    Attributes:
        id: By which it is named.
        agent_id: The agent that reminds.
        area: In whose conversations: `person-<id>` or `group-<id>`.
        topics: Alternatives; all words of one must be in a message.
        text: The reminder.
        created_ms, expires_ms: Milliseconds since the epoch.
        cooldown_s: The minimum time between two reminders.
        session_key: The conversation it was asked for in.
        person: The person who asked for it.
        trusted: Whether the words came from this home alone.
        last_fired_ms: When it was last shown.
        fired: How many times it was shown.
    """

    id: str
    agent_id: str
    area: str
    topics: tuple[str, ...]
    text: str
    created_ms: int
    expires_ms: int
    cooldown_s: int
    session_key: str
    person: str | None
    trusted: bool
    last_fired_ms: int | None = None
    fired: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The intent as plain data."""
        return {**asdict(self), "topics": list(self.topics)}


class IntentStore:
    """The rows; callers keep them in memory too."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def load(self, now_ms: int) -> list[StandingIntent]:
        """Return all reminders that have not expired, oldest first; expired ones are deleted."""

        def read(connection: SqlConnection) -> list[tuple[Any, ...]]:
            connection.execute("DELETE FROM standing_intents WHERE expires_ms <= ?", (now_ms,))
            return connection.execute(f"SELECT {_COLUMNS} FROM standing_intents ORDER BY created_ms, id").fetchall()  # noqa: S608

        intents = []
        for row in await self._db.write(read):
            try:
                intents.append(_from_row(row))
            except (ValueError, TypeError) as error:
                _log.warning("the standing intent %r cannot be read and is left alone: %s", row[0], error)
        return intents

    async def put(self, intent: StandingIntent) -> None:
        """Insert or replace a row; on disk when this returns."""
        row = (
            intent.id,
            intent.agent_id,
            intent.area,
            orjson.dumps(intent.topics).decode(),
            intent.text,
            intent.created_ms,
            intent.expires_ms,
            intent.cooldown_s,
            intent.last_fired_ms,
            intent.fired,
            intent.session_key,
            intent.person,
            int(intent.trusted),
        )
        await self._db.write(lambda connection: connection.execute(_PUT, row).rowcount)

    async def record_fired(self, ids: list[str], now_ms: int) -> None:
        """Record that reminders were shown; on disk when this returns."""
        rows = [(now_ms, id) for id in ids]
        statement = "UPDATE standing_intents SET last_fired_ms = ?, fired = fired + 1 WHERE id = ?"
        await self._db.write(lambda connection: connection.executemany(statement, rows).rowcount)

    async def delete(self, id: str) -> None:
        """Delete a row; it is gone from the disk when this returns."""
        await self._db.write(
            lambda connection: connection.execute("DELETE FROM standing_intents WHERE id = ?", (id,)).rowcount
        )


def _from_row(row: tuple[Any, ...]) -> StandingIntent:
    id, agent_id, area, topics, text, created_ms, expires_ms, cooldown_s, last_ms, fired, key, person, trusted = row
    return StandingIntent(
        id,
        agent_id,
        area,
        tuple(str(each) for each in orjson.loads(topics)),
        text,
        created_ms,
        expires_ms,
        cooldown_s,
        key,
        person,
        bool(trusted),
        last_ms,
        fired,
    )
