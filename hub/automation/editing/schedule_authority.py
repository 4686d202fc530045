"""The requester of each schedule and the authority it acts with, kept in the hub database instead of the file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.context import Authority, Context, ToolPolicy
from hub.core.sql import SqlConnection, upsert
from hub.sessions.keys import ROOMS, SessionKey
from hub.sessions.privacy import MEMORY_TOOLS
from hub.storage.database import Database

WITHOUT_MEMORY = ToolPolicy(deny=frozenset({MEMORY_TOOLS}))
ORPHANS_AFTER_S = 3_600.0
"""How long the authority of a schedule that is in no file is kept: a file may be broken for a while."""
_PUT = upsert("automation_authority", "id, authority, text_hash, made_by, session_key, created_ms")


class Asker(Struct, frozen=True):
    """The requester of a schedule.

    Attributes:
        context: The cause, and the authority.
        agent_id: The agent that asks; None for a person, at the command line or through the gateway.
        session_key: The conversation it happens in.
        approved: Whether the owner approved exactly this, or has not to be asked; see `hub.tools.invoke`.
    """

    context: Context
    agent_id: str | None = None
    session_key: str | None = None
    approved: bool = False

    @property
    def made_by(self) -> str | None:
        """The value of `made_by` for an added automation; none for a person's own."""
        return f"agent:{self.agent_id}" if self.agent_id is not None else None


class ScheduleAuthority(Struct, frozen=True):
    """The authority of a schedule.

    Attributes:
        text_hash: Digest of the automation as it was written; another one means that a person changed it.
        made_by: `agent:<id>` or `person`.
        created_ms: Milliseconds since the epoch.
        session_key: The conversation in which it was made.
    """

    authority: Authority
    text_hash: str
    made_by: str
    created_ms: int
    session_key: str | None


class ScheduleAuthorities:
    """The authorities of schedules in the hub database."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def all(self) -> dict[str, ScheduleAuthority]:
        """Return them by the id of the schedule."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT id, authority, text_hash, made_by, created_ms, session_key FROM automation_authority"
            ).fetchall()
        )
        return {id: ScheduleAuthority(Authority.from_dict(json.loads(text)), *rest) for id, text, *rest in rows}

    async def put(
        self,
        id: str,
        item: Mapping[str, Any],
        asker: Asker,
        known: Collection[str],
        before: ScheduleAuthority | None = None,
    ) -> None:
        """Store the authority of a schedule, before the automation is in the file; delete those of lost schedules.

        Args:
            item: The automation as it will be in the file.
            known: The ids in the files.
            before: The stored authority until now: a change never adds rights.
        """
        authority = asker.context.authority
        if before is not None:
            authority = before.authority.narrow(tainted=authority.tainted)
        elif asker.agent_id is not None and is_room(asker.session_key):
            # It answers in the room, from a session of its own that would see the memory of who asked.
            authority = authority.narrow(policy=WITHOUT_MEMORY)
        now = int(self._clock.time() * 1000)
        values = (
            id,
            json.dumps(authority.as_dict()),
            digest(item),
            before.made_by if before is not None else asker.made_by or "person",
            asker.session_key if before is None else before.session_key,
            now if before is None else before.created_ms,
        )

        def write(connection: SqlConnection) -> None:
            old = connection.execute(
                "SELECT id FROM automation_authority WHERE created_ms < ?", (now - int(ORPHANS_AFTER_S * 1000),)
            ).fetchall()
            for (each,) in old:
                if each not in known:
                    _forget(connection, each)
            connection.execute(_PUT, values)

        await self._db.write(write)

    async def forget(self, id: str) -> None:
        """Delete the authority of a removed schedule."""
        await self._db.write(lambda connection: _forget(connection, id))


def is_room(session_key: str | None) -> bool:
    """Whether other people read along in this conversation."""
    return session_key is not None and SessionKey.parse(session_key).kind in ROOMS


def digest(item: Mapping[str, Any]) -> str:
    """Return the digest of an automation as written; formatting does not affect it."""
    return sha256(json.dumps(_texts(item), sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _forget(connection: SqlConnection, id: str) -> None:
    connection.execute("DELETE FROM automation_authority WHERE id = ?", (id,))


def _texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _texts(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_texts(each) for each in value]
    return value if value is None or isinstance(value, bool) else str(value)
