"""The sending of the outbox: one worker for each chat that waits for something, which takes its rows in order."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError, LimitExceeded, NotFound, TimedOut, Unavailable
from hub.core.events import EventBus
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.hooks.contract import MessageSending
from hub.hooks.registry import Hooks
from hub.messaging.channels import Attached, ChannelRegistry
from hub.messaging.contract import ChannelState, Delivery, DeliveryState
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.outbound_policy import OutboxSettings
from hub.messaging.outbox.outbox_attempt import attempt, can_find, find
from hub.messaging.outbox.outbox_repairs import OutboxRepairs
from hub.messaging.outbox.outbox_rows import ChatKey
from hub.messaging.outbox.outgoing import (
    NewMessage,
    NewText,
    OutboxRow,
    Outgoing,
    Withdrawal,
    is_repeatable,
    keep_outgoing,
)
from hub.messaging.outbox.sending_hooks import ask_before_sending
from hub.storage.database import Database

_log = logging.getLogger(__name__)
T = TypeVar("T")

EVENT_MESSAGE_SENT = "message_sent"
EVENT_MESSAGE_UNKNOWN = "message_unknown"
EVENT_MESSAGE_DEAD = "message_dead"
MESSAGE_ENDS = (EVENT_MESSAGE_SENT, EVENT_MESSAGE_UNKNOWN, EVENT_MESSAGE_DEAD)
AGE_LIMIT_S = 72 * 3_600.0
"""What could not be sent for so long is not sent any more."""
EXPIRED = "it waited for more than 72 hours"
OFFLINE_DELAY_S = 60.0
"""The longest wait before the next attempt while a channel is cut off; no number of attempts ends these."""
BEGUN_LIMIT = 10_000
"""Chats whose row that was written as begun is remembered; of a transaction that is undone it stays until the next."""
STORE_DELAY_S = 5.0
"""Wait before a state is written again that could not be, such as on a full disk."""


class OutboxSender:
    """Sends rows, one chat beside the other, in order within each.

    Args:
        channels: The channels that send; rows of one that is not logged in wait for it.
        tasks: Owner of the workers.
        ended: Called with each row that was sent or given up.

    Attributes:
        hooks: May change what is sent, or stop it.
    """

    def __init__(
        self,
        db: Database,
        channels: ChannelRegistry,
        bus: EventBus,
        clock: Clock,
        tasks: TaskOwner,
        *,
        repairs: OutboxRepairs,
        settings: Callable[[], OutboxSettings],
        ended: Callable[[OutboxRow], None],
    ) -> None:
        self._db = db
        self._channels = channels
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self._repairs = repairs
        self._settings = settings
        self._tell_ended = ended
        self.hooks: Hooks | None = None
        self._workers: dict[ChatKey, asyncio.Task[None]] = {}
        self._again: set[ChatKey] = set()
        self._begun: dict[ChatKey, OutboxRow] = {}
        self._dropped: set[str] = set()
        self._shown: dict[str, asyncio.Task[Any]] = {}

    async def close(self) -> None:
        """Stop sending; what waits stays in the database."""
        workers = list(self._workers.values())
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        if self._begun:
            with suppress(HubError):  # else they are unknown at the next start
                await self._db.write(partial(outbox_rows.take_back, ids=[row.id for row in self._begun.values()]))

    async def wake_all(self) -> None:
        """Start sending in all chats that wait for something."""
        for chat in await self._db.read(outbox_rows.open_chats):
            self.wake(chat)

    def begins_with(self, connection: SqlConnection, row: OutboxRow) -> bool:
        """Whether a new row may be written as `sending`, as nothing of its chat waits: one commit less for an answer.

        Not where a hook is asked first, which may take long.

        In the transaction and thread of who writes it; `wake` then sends it.
        """
        attached = self._channels.get(*row.chat[:2])
        if attached is None or attached.channel.limits.idempotent or is_repeatable(row.outgoing):
            return False
        if self.hooks is not None and self.hooks.wants(MessageSending):
            return False
        if row.next_ms > row.created_ms or row.run_id in self._shown or outbox_rows.is_waiting(connection, row.chat):
            return False
        self._begun[row.chat] = row
        if len(self._begun) > BEGUN_LIMIT:
            del self._begun[next(iter(self._begun))]
        return True

    def wake(self, chat: ChatKey, written: Sequence[str] = ()) -> None:
        """Start sending in a chat.

        Args:
            written: All rows of a transaction that is on disk: one that was written as begun need not be read again.
        """
        if self._channels.get(chat[0], chat[1]) is None:
            return
        if chat in self._workers:
            self._again.add(chat)
            return
        begun = self._begun.get(chat)
        first = begun if begun is not None and [begun.id] == list(written) else None
        self._workers[chat] = self._tasks.spawn(self._work(chat, first), name=f"outbox {chat[0]} {chat[2]}")

    def forget(self, row: OutboxRow) -> None:
        """Do not send a row that was deleted."""
        if row.chat in self._workers:
            self._dropped.add(row.id)

    def hold(self, run_id: str, until: asyncio.Task[Any]) -> None:
        """Send nothing of a run before a task of bounded length has ended."""
        self._shown[run_id] = until
        until.add_done_callback(lambda _: self._shown.pop(run_id, None))

    async def _work(self, chat: ChatKey, first: OutboxRow | None) -> None:
        """Send what waits in one chat, oldest first, until there is nothing; `first` when that is known already."""
        marks: set[asyncio.Task[None]] = set()
        try:
            while True:
                if first is not None:
                    rows, first = [first], None
                else:
                    self._again.discard(chat)  # before it reads: what is written from now on asks for another look
                    rows = await self._stored(self._db.read, partial(outbox_rows.open_rows, chat=chat))
                for row in rows:
                    if self._is_begun(row):
                        row.state = "queued"
                    if row.id not in self._dropped and not await self._send_until_settled(row, marks):
                        return
                if marks:  # what is being noted is still there
                    await asyncio.wait(marks)
                if len(rows) < outbox_rows.OPEN_LIMIT and chat not in self._again:
                    return
        finally:
            del self._workers[chat]
            if not self._workers:
                self._dropped.clear()

    async def _send_until_settled(self, row: OutboxRow, marks: set[asyncio.Task[None]]) -> bool:
        """Send one row until it ended; False when its channel has gone."""
        asked = False
        while True:
            if row.created_ms < self._now_ms() - AGE_LIMIT_S * 1000 and row.state == "queued":
                await self._ended(row, "dead", Delivery(DeliveryState.PERMANENT, error=EXPIRED))
                return True
            await self._clock.sleep_until(row.next_ms / 1000)
            attached = self._channels.get(row.address.channel, row.address.account)
            if attached is None:
                return False
            if (shown := self._shown.get(row.run_id or "")) is not None:
                await asyncio.wait([shown])
            final = None
            if isinstance(row.outgoing, NewText | Withdrawal) and row.outgoing.row_id:
                if marks:
                    await asyncio.wait(marks)
                final = row.outgoing
                row.outgoing = await self._resolved(final)
                if row.outgoing == Withdrawal():
                    await self._sent(row, Delivery(DeliveryState.DELIVERED), None)
                    return True
            if row.state == "queued" and not asked:
                asked = True
                if (why := await ask_before_sending(self.hooks, row, attached)) is not None:
                    await self._ended(row, "stopped", Delivery(DeliveryState.PERMANENT, error=why))
                    return True
            safe = attached.channel.limits.idempotent or is_repeatable(row.outgoing)
            if row.state == "sending":
                delivery = await self._cleared_up(row, attached, safe=safe)
                # Once at once: a platform that fails again and again, and shows nothing, is in trouble.
                wait_s = 0.0 if delivery.state is DeliveryState.TRANSIENT and row.attempts <= 1 else None
            else:
                delivery = await self._attempt(row, attached, safe=safe)
                wait_s = 0.0 if delivery.state is DeliveryState.UNKNOWN and not safe else None
            if delivery.state is DeliveryState.UNKNOWN and safe:
                delivery = replace(delivery, state=DeliveryState.TRANSIENT)
            if delivery.state is DeliveryState.DELIVERED:
                await self._sent(row, delivery, marks if safe else None)
                return True
            if delivery.state is DeliveryState.PERMANENT and isinstance(row.outgoing, NewText) and final is not None:
                row.outgoing = NewMessage(row.outgoing.text)
                await self._write(partial(keep_outgoing, row=row))
                continue
            if await self._failed(row, delivery, attached, wait_s):
                return True

    def _is_begun(self, row: OutboxRow) -> bool:
        begun = self._begun.get(row.chat)
        return begun is not None and begun.id == row.id

    async def _attempt(self, row: OutboxRow, attached: Attached, *, safe: bool) -> Delivery:
        if not safe:
            row.state = "sending"
            if self._is_begun(row):
                del self._begun[row.chat]
            else:
                await self._write(lambda connection: outbox_rows.set_state(connection, row, self._now_ms()))
        row.updated_ms = self._now_ms()
        settings = self._settings()
        return await attempt(row, attached, settings.language, settings.media_roots)

    async def _resolved(self, outgoing: NewText | Withdrawal) -> Outgoing:
        """Return it with the platform's id of the message that its row became; without one, a text as a message."""
        try:
            ids = (await self._db.read(lambda connection: outbox_rows.get(connection, outgoing.row_id))).platform_ids
        except NotFound:
            ids = ()
        if isinstance(outgoing, Withdrawal):
            return Withdrawal(*ids[:1])
        if not ids:
            return NewMessage(outgoing.text, derived=outgoing.derived)
        return replace(outgoing, platform_id=ids[0], row_id="")

    async def _cleared_up(self, row: OutboxRow, attached: Attached, *, safe: bool) -> Delivery:
        """Return what happened to an attempt that nobody saw the end of; transient when another one is right."""
        if can_find(row, attached):
            return await find(row, attached)
        if safe:
            return Delivery(DeliveryState.TRANSIENT)
        return Delivery(DeliveryState.UNKNOWN, error=row.error or "the hub stopped while it was sent")

    async def _failed(self, row: OutboxRow, delivery: Delivery, attached: Attached, wait_s: float | None) -> bool:
        """Write that an attempt failed; True when there will be no other.

        Args:
            wait_s: Until the next one, instead of what the number of attempts says.
        """
        row.attempts += 1
        retry = self._settings().retry
        cut_off = attached.status.state in (ChannelState.DISCONNECTED, ChannelState.FAILED)
        if wait_s is None:
            wait_s = retry.delay_s(row.attempts, delivery.retry_after_s, random.random())  # noqa: S311  spreads retries, guards nothing
            if cut_off and delivery.retry_after_s is None:
                wait_s = min(wait_s, OFFLINE_DELAY_S)
        row.next_ms = self._now_ms() + int(wait_s * 1000)
        row.error = delivery.error
        exhausted = row.attempts >= retry.attempts
        if delivery.state is DeliveryState.UNKNOWN and can_find(row, attached) and not exhausted:
            row.state = "sending"
            return False
        if delivery.state is DeliveryState.TRANSIENT and (cut_off or not exhausted):
            row.state = "queued"
            await self._write(lambda connection: outbox_rows.set_state(connection, row, self._now_ms()))
            return False
        await self._ended(row, "unknown" if delivery.state is DeliveryState.UNKNOWN else "dead", delivery)
        return True

    async def _sent(self, row: OutboxRow, delivery: Delivery, marks: set[asyncio.Task[None]] | None) -> None:
        row.attempts += 1
        now = self._now_ms()
        writing = self._write(lambda connection: outbox_rows.mark_sent(connection, row, delivery, now))
        if marks is None:
            await writing
        else:
            # Losing this to a crash repeats what may be repeated, so nothing waits for it.
            task = self._tasks.spawn(writing, name="outbox mark sent")
            marks.add(task)
            task.add_done_callback(marks.discard)
        row.state, row.platform_ids, row.error = "sent", delivery.platform_ids, None
        self._tell(EVENT_MESSAGE_SENT, row, {"platform_ids": list(delivery.platform_ids)})

    async def _ended(self, row: OutboxRow, state: str, delivery: Delivery) -> None:
        row.state, row.error = state, delivery.error or "no reason given"
        await self._write(lambda connection: outbox_rows.set_state(connection, row, self._now_ms()))
        self._tell(EVENT_MESSAGE_UNKNOWN if state == "unknown" else EVENT_MESSAGE_DEAD, row, {"error": delivery.error})
        await self._repairs.refresh()

    def _tell(self, event: str, row: OutboxRow, more: dict[str, Any]) -> None:
        self._tell_ended(row)
        address = row.address
        facts = {
            "outbox_id": row.id,
            "kind": row.kind,
            "channel": address.channel,
            "account": address.account,
            "peer": address.peer,
            "session_key": row.session_key,
            "run_id": row.run_id,
        }
        # Sending is the hub's own doing, and the next link of the chain that led to the message.
        self._bus.fire(event, facts | more, Context(authority=SYSTEM, parent_id=row.context_id))

    async def _write(self, change: Callable[[SqlConnection], T]) -> T:
        return await self._stored(self._db.write, change)

    async def _stored(
        self, access: Callable[[Callable[[SqlConnection], T]], Awaitable[T]], work: Callable[[SqlConnection], T]
    ) -> T:
        """Read or write, again and again while the database cannot: what was sent must not be sent twice for it."""
        while True:
            try:
                return await access(work)
            except (Unavailable, LimitExceeded, TimedOut) as error:
                _log.warning("the outbox waits for the database: %s", error.message)
                await self._clock.sleep(STORE_DELAY_S)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)
