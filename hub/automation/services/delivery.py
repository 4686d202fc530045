"""Delivers unsolicited messages to a conversation: sent once, and stored in its transcript."""

from __future__ import annotations

import json
from hashlib import sha256

from hub.agent.taint.authorship import provenance_of
from hub.automation.services.addresses import DeliveryTarget
from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import message_of
from hub.models.contract import Message, Role, TextBlock
from hub.sessions.entry import EntryType, TranscriptEntry
from hub.sessions.store import SessionStore
from hub.storage.database import Database

EVENT_SESSION_SAID = "session_said"
"""Something was said in a conversation outside of any run: `session_key`, `text`, `entry_id`."""

KEPT_S = 30 * 86_400.0
"""How long it is remembered that something was sent, for those who ask again after a crash."""
_PREFIX = "message.send:"


class ResultDelivery:
    """Sends messages that automations and agents send of their own accord.

    Args:
        db: The hub database.
        outbox: Sends them.
        sessions: The conversations.
        bus: Receives `session_said`.
        tasks: Owner of the writing that nobody waits for.
    """

    def __init__(
        self,
        db: Database,
        outbox: Outbox,
        sessions: SessionStore,
        bus: EventBus,
        *,
        clock: Clock,
        tasks: TaskOwner,
    ) -> None:
        self._db = db
        self._outbox = outbox
        self._sessions = sessions
        self._bus = bus
        self._clock = clock
        self._tasks = tasks

    async def send(self, place: DeliveryTarget, text: str, context: Context, *, key: str | None = None) -> list[str]:
        """Send a message; it is on disk when this returns.

        Args:
            place: The destination.
            text: The words.
            context: The cause, and the authority.
            key: Sending again with the same key sends nothing and returns the ids of the first time.

        Returns:
            The ids of its rows in the outbox.
        """
        name = _PREFIX + sha256((key or new_id()).encode()).hexdigest()[:32]
        if self._outbox.channels.is_home(place.address.channel):
            # There the conversation itself is what people see: what is not in it was not sent.
            await self.keep(place, text, context, name)
        ids = await self._db.write(lambda connection: self._insert_once(connection, place, text, context, name))
        self.sent(place, text, context, name)
        return ids

    def insert(
        self,
        connection: SqlConnection,
        place: DeliveryTarget,
        text: str,
        context: Context,
        *,
        run_id: str | None = None,
    ) -> list[str]:
        """Write a message's rows in the caller's transaction; call `sent` after the commit."""
        message = message_of(text)
        if message is None:
            return []
        return self._outbox.insert(
            connection,
            place.address,
            message,
            caused_by=context.id,
            session_key=place.session_key,
            run_id=run_id,
        )

    def sent(self, place: DeliveryTarget, text: str, context: Context, name: str) -> None:
        """Start sending a written message, and add it to the conversation once."""
        self._outbox.notify(place.address)
        if place.session_key is not None:
            self._tasks.spawn(self.keep(place, text, context, name), name=f"keep what was said in {place.session_key}")

    async def keep(self, place: DeliveryTarget, text: str, context: Context, name: str) -> None:
        """Add a message to the transcript of its conversation, once per name.

        It does not wait for a turn: an active one may itself be waiting for somebody's answer.
        """
        key = place.session_key
        if key is None:
            return
        authority = context.authority
        session = await self._sessions.ensure(key, person=authority.person)
        transcript = await self._sessions.open_transcript(session)
        entry_id = f"said-{name.rpartition(':')[2]}"
        if transcript.get(entry_id) is not None:
            return
        entry = TranscriptEntry(
            EntryType.MESSAGE,
            int(self._clock.time() * 1000),
            message=Message(Role.ASSISTANT, (TextBlock(text),)),
            id=entry_id,
            provenance=provenance_of(authority, key, session.person),
        )
        await transcript.append(entry, sync=True)
        self._sessions.touch(key)
        self._bus.fire(EVENT_SESSION_SAID, {"session_key": key, "text": text, "entry_id": entry_id}, context)

    def _insert_once(
        self, connection: SqlConnection, place: DeliveryTarget, text: str, context: Context, name: str
    ) -> list[str]:
        known = connection.execute("SELECT result FROM service_results WHERE key = ?", (name,)).fetchone()
        if known is not None:
            found: list[str] = json.loads(known[0])
            return found
        ids = self.insert(connection, place, text, context)
        now = int(self._clock.time() * 1000)
        connection.execute(
            "DELETE FROM service_results WHERE created_ms < ? AND substr(key, 1, ?) = ?",
            (now - int(KEPT_S * 1000), len(_PREFIX), _PREFIX),
        )
        connection.execute(
            "INSERT INTO service_results(key, result, created_ms) VALUES (?, ?, ?)", (name, json.dumps(ids), now)
        )
        return ids
