"""System events: facts that wait for an agent until its next heartbeat or the next message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from msgspec import Struct

from hub.agent.conversation.conversation import message_data
from hub.agent.parts import Store
from hub.agent.run_request import RunRequest
from hub.agent.taint.authorship import provenance_of
from hub.automation.services.agent_runs import LANE
from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.errors import InvalidRequest
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.models.contract import user_message
from hub.sessions.entry import OWNER, Provenance, TranscriptEntry, message_entry
from hub.sessions.store import SessionStore
from hub.storage.database import Database

EVENT_HEARTBEAT_WAKE = "heartbeat_wake"
"""An agent is to look now: `agent_id`, `reason`."""
EVENT_SYSTEM_EVENT = "system_event"
"""Something was queued for an agent: `agent_id`, `session_key`, `event_id`."""
TEXT_LIMIT = 4_000
WAITING_LIMIT = 100
"""Events of one conversation that wait; the oldest give way."""
KEPT_S = 7 * 86_400.0
"""How long an event waits, and is kept once it was taken."""


class SystemEvent(Struct, frozen=True):
    """A waiting event; `came` is its provenance."""

    id: str
    text: str
    came: Provenance
    created_ms: int

    @property
    def trusted(self) -> bool:
        """Whether an owner said it: a heartbeat is theirs."""
        return self.came.trusted and self.came.who == OWNER


class SystemEvents:
    """The queue, in the hub database; `sessions` says whom a conversation belongs to."""

    def __init__(self, db: Database, sessions: SessionStore, bus: EventBus, clock: Clock) -> None:
        self._db = db
        self._store = sessions
        self._bus = bus
        self._clock = clock
        self.look: Callable[[str, Context], None] | None = None
        """Lets an agent look at what waits for it, where no automation is its heartbeat."""
        self._sessions: set[str] | None = None
        """Conversations in which something waits, so that a message need not ask; None until that was looked up."""

    async def add(
        self,
        agent_id: str,
        session_key: str,
        text: str,
        context: Context,
        *,
        key: str | None = None,
        wake: bool = False,
    ) -> str:
        """Queue an event; it is on disk when this returns.

        Args:
            agent_id: The agent it is for.
            session_key: The conversation it belongs to.
            text: The event in words.
            context: The cause and the authority, which decide whether the words are trusted.
            key: Adding again with the same key adds nothing.
            wake: Whether the agent looks at once.

        Returns:
            Its id.

        Raises:
            InvalidRequest: The text is empty or too long.
        """
        text = text.strip()
        if not text or len(text) > TEXT_LIMIT:
            raise InvalidRequest(f"the text of a system event has 1 to {TEXT_LIMIT} characters")
        id = f"event-{key}" if key is not None else new_id()
        authority = json.dumps(context.authority.as_dict())
        now = self._now_ms()

        def write(connection: SqlConnection) -> bool:
            connection.execute("DELETE FROM system_events WHERE created_ms < ?", (now - int(KEPT_S * 1000),))
            added = connection.execute(
                "INSERT INTO system_events(id, agent_id, session_key, text, authority, created_ms)"
                " VALUES (?,?,?,?,?,?) ON CONFLICT(id) DO NOTHING",
                (id, agent_id, session_key, text, authority, now),
            )
            connection.execute(
                "DELETE FROM system_events WHERE session_key = ? AND taken_ms IS NULL AND id NOT IN"
                " (SELECT id FROM system_events WHERE session_key = ? AND taken_ms IS NULL"
                " ORDER BY created_ms DESC, position DESC LIMIT ?)",
                (session_key, session_key, WAITING_LIMIT),
            )
            return added.rowcount > 0

        is_new = await self._db.write(write)
        if self._sessions is not None:
            self._sessions.add(session_key)
        if is_new:
            told = {"agent_id": agent_id, "session_key": session_key, "event_id": id}
            self._bus.fire(EVENT_SYSTEM_EVENT, told, context)
        if wake:
            self.wake(agent_id, "system event", context)
        return id

    def wake(self, agent_id: str, reason: str, context: Context) -> None:
        """Wake an agent now: by its heartbeat, or by one for this alone if it has none."""
        told = {"agent_id": agent_id, "reason": reason}
        if self.look is not None and not self._bus.has_listeners(EVENT_HEARTBEAT_WAKE, told):
            self.look(agent_id, context)
        self._bus.fire(EVENT_HEARTBEAT_WAKE, told, context)

    async def waiting(self, *, agent_id: str | None = None, session_key: str | None = None) -> list[SystemEvent]:
        """Return the waiting events of an agent, or of one conversation, oldest first."""
        column, value = ("agent_id", agent_id) if session_key is None else ("session_key", session_key)
        rows = await self._db.read(
            lambda connection: connection.execute(
                f"SELECT id, text, session_key, authority, created_ms FROM system_events WHERE {column} = ?"  # noqa: S608
                " AND taken_ms IS NULL ORDER BY created_ms, position LIMIT ?",
                (value, WAITING_LIMIT),
            ).fetchall()
        )
        return [SystemEvent(id, text, self._came(key, said_by), ms) for id, text, key, said_by, ms in rows]

    async def before(self, request: RunRequest, store: Store) -> None:
        """Insert the waiting events of a conversation before a person's message; a `hub.agent.parts.Before`.

        What an automation says in the conversation takes nothing: its own heartbeat has events among its words.
        """
        if request.lane == LANE:
            return
        if self._sessions is None:
            self._sessions = await self._load()
        if request.session_key not in self._sessions:
            return
        events = await self.waiting(session_key=request.session_key)
        by_origin: dict[Provenance, list[SystemEvent]] = {}
        for event in events:
            by_origin.setdefault(event.came, []).append(event)
        await store([_entry(found, self._now_ms(), came) for came, found in by_origin.items()])
        await self.take(event.id for event in events)
        self._sessions.discard(request.session_key)

    def take_statements(self, ids: Iterable[str]) -> tuple[str, list[tuple[int, str]]]:
        """Return the statement and rows that mark events as taken, for a transaction of the caller."""
        now = self._now_ms()
        return "UPDATE system_events SET taken_ms = ? WHERE id = ? AND taken_ms IS NULL", [(now, id) for id in ids]

    async def take(self, ids: Iterable[str]) -> None:
        """Mark events as taken."""
        statement, rows = self.take_statements(ids)
        if rows:
            await self._db.write(lambda connection: connection.executemany(statement, rows).rowcount)

    async def _load(self) -> set[str]:
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT DISTINCT session_key FROM system_events WHERE taken_ms IS NULL"
            ).fetchall()
        )
        return {row[0] for row in rows}

    def _came(self, session_key: str, stored: str) -> Provenance:
        session = self._store.get(session_key)
        authority = Authority.from_dict(json.loads(stored))
        return provenance_of(authority, session_key, session.person if session is not None else None)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _entry(events: list[SystemEvent], ts_ms: int, came: Provenance) -> TranscriptEntry:
    """Return events as one transcript entry; equal events give equal entries."""
    text = "\n".join(["System events since the last message:", *(f"- {event.text}" for event in events)])
    return message_entry(
        user_message(text),
        ts_ms,
        id=f"events-{events[0].id}",
        data=message_data(channel="system", sender=None, trusted=came.trusted),
        provenance=came,
    )
