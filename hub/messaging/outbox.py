"""The outbox: replies are written ahead, sent in order within a chat, and done only when the platform said so.

A row goes pending → sending → delivered. What was `sending` when the hub died is `unknown`: it is sent again only on
channels that show the same id once; elsewhere there is a repair. A permanent refusal is kept as a dead letter.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Callable
from typing import Any

from hub.core.clock import Clock
from hub.core.context import SYSTEM, Context
from hub.core.events import Event, EventBus
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.channels import EVENT_CHANNEL_ADDED, ChannelRegistry
from hub.messaging.chunking import chunk
from hub.messaging.contract import Address, ChannelLimits, ChatType, Delivery, DeliveryState, OutboundMessage
from hub.storage.database import Database

_log = logging.getLogger(__name__)

EVENT_MESSAGE_SENT = "message_sent"
EVENT_MESSAGE_DEAD = "message_dead"
ATTEMPT_LIMIT = 12
BACKOFF_FIRST_S = 1.0
BACKOFF_LIMIT_S = 600.0
SEND_LIMIT_S = 60.0

_COLUMNS = (
    "id, channel, account, peer, chat_type, thread, session_key, run_id, reply_to, text, attempts, next_ms, context_id"
)

ChatKey = tuple[str, str, str]


def backoff_s(attempts: int, retry_after_s: float | None, jitter: float) -> float:
    """Return how long to wait before the next attempt: doubling, bounded, never before the platform asked.

    Args:
        attempts: How many have failed.
        retry_after_s: What the platform asked for.
        jitter: 0 to 1.
    """
    wait: float = min(BACKOFF_LIMIT_S, BACKOFF_FIRST_S * 2.0 ** min(attempts - 1, 30)) * (1.0 + 0.3 * jitter)
    return max(wait, retry_after_s or 0.0)


class Outbox:
    """Sends what is to be sent, one chat beside the other, in order within each.

    Args:
        db: The hub database.
        channels: The channels that send; rows of one that is not logged in wait for it.
        tasks: Owner of the sending tasks, one for each chat that has something to send.
    """

    def __init__(
        self, db: Database, channels: ChannelRegistry, bus: EventBus, clock: Clock, tasks: TaskOwner, repairs: Repairs
    ) -> None:
        self._db = db
        self.channels = channels
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self._repairs = repairs
        self._workers: dict[ChatKey, asyncio.Task[None]] = {}
        self._again: set[ChatKey] = set()
        self._settling: set[str] = set()
        self._unlisten: Callable[[], None] | None = None

    async def open(self) -> None:
        """Sort out what a crash left and begin to send what is pending."""
        await self._db.write(self._settle_interrupted)
        self._unlisten = self._bus.listen(EVENT_CHANNEL_ADDED, self._channel_added)
        await self._report_unknown()
        await self._wake_all()

    async def close(self) -> None:
        """Stop sending; what is pending stays in the database."""
        if self._unlisten is not None:
            self._unlisten()
        for task in list(self._workers.values()):
            task.cancel()
        await asyncio.gather(*self._workers.values(), return_exceptions=True)

    def insert(
        self,
        connection: SqlConnection,
        address: Address,
        text: str,
        *,
        caused_by: str | None,
        session_key: str | None = None,
        run_id: str | None = None,
        reply_to: str | None = None,
    ) -> list[str]:
        """Write the rows of one reply inside the caller's transaction; runs in the writer thread.

        Args:
            caused_by: Id of the context that led to it, for the chain of what happens next.

        Returns:
            The rows' ids. Call `notify` when the transaction is committed.
        """
        attached = self.channels.get(address.channel, address.account)
        limits = attached.channel.limits if attached else ChannelLimits()
        now = int(self._clock.time() * 1000)
        ids = []
        for part, piece in enumerate(chunk(text, limits.text, limits.unit)):
            ids.append(new_id())
            connection.execute(
                "INSERT INTO outbox(id, channel, account, peer, chat_type, thread, session_key, run_id, reply_to, part,"
                " text, state, attempts, next_ms, created_ms, updated_ms, context_id)"
                " VALUES (?,?,?,?,?,?,?,?,?,?,?,'pending',0,?,?,?,?)",
                (
                    ids[-1],
                    address.channel,
                    address.account,
                    address.peer,
                    address.chat_type.value,
                    address.thread,
                    session_key,
                    run_id,
                    reply_to if part == 0 else None,
                    part,
                    piece,
                    now,
                    now,
                    now,
                    caused_by,
                ),
            )
        return ids

    async def send(self, address: Address, text: str, context: Context, *, session_key: str | None = None) -> list[str]:
        """Write a message and begin to send it; returns the rows' ids once they are on disk."""
        ids = await self._db.write(
            lambda connection: self.insert(connection, address, text, caused_by=context.id, session_key=session_key)
        )
        self.notify(address)
        return ids

    def notify(self, address: Address) -> None:
        """Start sending pending messages of a chat."""
        self._wake((address.channel, address.account, address.peer))

    async def counts(self) -> dict[str, int]:
        """Return how many rows are in each state."""
        rows = await self._db.read(
            lambda connection: connection.execute("SELECT state, count(*) FROM outbox GROUP BY state").fetchall()
        )
        return dict(rows)

    def _settle_interrupted(self, connection: SqlConnection) -> None:
        connection.execute("UPDATE outbox SET state = 'unknown' WHERE state = 'sending'")

    async def _report_unknown(self) -> None:
        count = (await self.counts()).get("unknown", 0)
        if not count:
            self._repairs.clear("outbox", "unknown")
            return
        self._repairs.raise_(
            "outbox",
            "unknown",
            phrase("{count} messages may or may not have been sent", count=count),
            phrase(
                "The hub stopped while sending them, and the platform cannot tell whether they arrived. They are not "
                "sent again: check the chat and repeat what is missing."
            ),
            severity=Severity.WARNING,
        )

    def _channel_added(self, event: Event) -> Any:
        self._tasks.spawn(self._wake_channel(event.data["channel"], event.data["account"]), name="outbox wake")

    async def _wake_channel(self, channel: str, account: str) -> None:
        attached = self.channels.get(channel, account)
        if attached is not None and attached.channel.limits.idempotent:
            await self._db.write(
                lambda connection: connection.execute(
                    "UPDATE outbox SET state = 'pending' WHERE state = 'unknown' AND channel = ? AND account = ?",
                    (channel, account),
                )
            )
            await self._report_unknown()
        await self._wake_all()

    async def _wake_all(self) -> None:
        chats = await self._db.read(
            lambda connection: connection.execute(
                "SELECT DISTINCT channel, account, peer FROM outbox WHERE state = 'pending'"
            ).fetchall()
        )
        for channel, account, peer in chats:
            self._wake((channel, account, peer))

    def _wake(self, chat: ChatKey) -> None:
        if self.channels.get(chat[0], chat[1]) is None:
            return
        if chat in self._workers:
            self._again.add(chat)
            return
        self._workers[chat] = self._tasks.spawn(self._work(chat), name=f"outbox {chat[0]} {chat[2]}")

    async def _work(self, chat: ChatKey) -> None:
        """Send the pending rows of one chat, oldest first, until there are none."""
        try:
            while True:
                self._again.discard(chat)
                found = await self._db.read(lambda connection: _pending(connection, chat))
                rows = [row for row in found if row["id"] not in self._settling]
                if not rows:
                    if chat in self._again:
                        continue
                    return
                for row in rows:
                    if not await self._send_until_settled(row):
                        return
        finally:
            del self._workers[chat]

    async def _send_until_settled(self, row: dict[str, Any]) -> bool:
        """Send one row until it is delivered or dead; False when its channel has gone."""
        while True:
            await self._clock.sleep_until(row["next_ms"] / 1000)
            attached = self.channels.get(row["channel"], row["account"])
            if attached is None:
                return False
            channel = attached.channel
            if not channel.limits.idempotent:
                await self._set(row, "sending")
            try:
                async with asyncio.timeout(SEND_LIMIT_S):
                    delivery = await channel.send(_outbound(row))
            except TimeoutError:
                delivery = Delivery(DeliveryState.UNKNOWN, error=f"no answer within {SEND_LIMIT_S:g} s")
            except Exception as error:  # a channel that raises breaks its contract; the message must not be lost to it
                _log.exception("channel %s failed to send %s", row["channel"], row["id"])
                delivery = Delivery(DeliveryState.UNKNOWN, error=f"the channel failed: {error}")
            if await self._settle(row, delivery, idempotent=channel.limits.idempotent):
                return True

    async def _settle(self, row: dict[str, Any], delivery: Delivery, *, idempotent: bool) -> bool:
        """Write what became of an attempt; True when there will be no other."""
        row["attempts"] += 1
        state = delivery.state
        if state is DeliveryState.UNKNOWN and idempotent:
            state = DeliveryState.TRANSIENT
        if state is DeliveryState.DELIVERED:
            if idempotent:
                # Losing this to a crash sends it again, on a channel that shows it once, so nothing waits for it.
                self._settling.add(row["id"])
                self._tasks.spawn(self._mark_delivered(row["id"], delivery), name="outbox mark delivered")
            else:
                await self._mark_delivered(row["id"], delivery)
            self._bus.fire(
                EVENT_MESSAGE_SENT,
                {
                    "outbox_id": row["id"],
                    "channel": row["channel"],
                    "account": row["account"],
                    "peer": row["peer"],
                    "session_key": row["session_key"],
                    "run_id": row["run_id"],
                    "platform_ids": list(delivery.platform_ids),
                },
                _context_of(row),
            )
            return True
        if state is DeliveryState.TRANSIENT and row["attempts"] < ATTEMPT_LIMIT:
            # Jitter spreads retries; it guards nothing.
            wait = backoff_s(row["attempts"], delivery.retry_after_s, random.random())  # noqa: S311
            row["next_ms"] = int((self._clock.time() + wait) * 1000)
            await self._set(row, "pending", delivery.error)
            return False
        await self._set(row, "unknown" if state is DeliveryState.UNKNOWN else "dead", delivery.error)
        if state is DeliveryState.UNKNOWN:
            await self._report_unknown()
            return True
        self._bus.fire(
            EVENT_MESSAGE_DEAD,
            {"outbox_id": row["id"], "channel": row["channel"], "peer": row["peer"], "error": delivery.error},
            _context_of(row),
        )
        self._repairs.raise_(
            "outbox",
            f"dead:{row['channel']}:{row['account']}",
            phrase("{channel} refused a message", channel=row["channel"]),
            phrase(
                "To {peer}: {error}. It is kept and not retried.",
                peer=row["peer"],
                error=delivery.error or phrase("no reason given"),
            ),
            severity=Severity.WARNING,
        )
        return True

    async def _mark_delivered(self, id: str, delivery: Delivery) -> None:
        try:
            await self._db.write(lambda connection: _delivered(connection, id, delivery, self._now_ms()))
        finally:
            self._settling.discard(id)

    async def _set(self, row: dict[str, Any], state: str, error: str | None = None) -> None:
        await self._db.write(
            lambda connection: connection.execute(
                "UPDATE outbox SET state = ?, attempts = ?, next_ms = ?, updated_ms = ?, error = ? WHERE id = ?",
                (state, row["attempts"], row["next_ms"], self._now_ms(), error, row["id"]),
            )
        )

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _pending(connection: SqlConnection, chat: ChatKey) -> list[dict[str, Any]]:
    cursor = connection.execute(
        f"SELECT {_COLUMNS} FROM outbox WHERE channel = ? AND account = ? AND peer = ? AND state = 'pending'"  # noqa: S608  a constant
        " ORDER BY position LIMIT 100",
        chat,
    )
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _delivered(connection: SqlConnection, id: str, delivery: Delivery, now_ms: int) -> None:
    connection.execute(
        "UPDATE outbox SET state = 'delivered', attempts = attempts + 1, platform_ids = ?, updated_ms = ?, error = NULL"
        " WHERE id = ?",
        (json.dumps(delivery.platform_ids), now_ms, id),
    )


def _context_of(row: dict[str, Any]) -> Context:
    """Return the next link of the chain that led to a message; sending is the hub's own doing."""
    return Context(authority=SYSTEM, parent_id=row["context_id"])


def _outbound(row: dict[str, Any]) -> OutboundMessage:
    return OutboundMessage(
        id=row["id"],
        address=Address(row["channel"], row["peer"], row["account"], ChatType(row["chat_type"]), row["thread"]),
        text=row["text"],
        session_key=row["session_key"],
        run_id=row["run_id"],
        reply_to=row["reply_to"],
    )
