"""The senders of the outbox: one worker for each chat with waiting rows, which takes them in order."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from hub.core.clock import Clock, Lease
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError, LimitExceeded, NotFound, TimedOut, Unavailable
from hub.core.events import EventBus
from hub.core.executors import FILES
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.hooks.contract import MessageSending
from hub.hooks.registry import Hooks
from hub.messaging.capabilities import CanDelete, CanEdit, CanFind, CanPoll, CanReact
from hub.messaging.channels import Attached, ChannelRegistry
from hub.messaging.contract import Channel, ChannelLimits, ChannelState, Delivery, DeliveryState, OutboundMedia
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.chunking import length
from hub.messaging.outbox.outbound_policy import OutboxSettings
from hub.messaging.outbox.outbox_rows import (
    REPEATABLE,
    ChatKey,
    NewMessage,
    NewPoll,
    NewReaction,
    NewText,
    OutboxRow,
    Outgoing,
    Withdrawal,
    store_content,
)
from hub.messaging.texts import say
from hub.security.root import Root
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
SEND_LIMIT_S = 60.0
FIND_LIMIT_S = 30.0
CLOSE_LIMIT_S = 2.0
"""How long a message that is on its way may take at the end: cut off, nobody would know whether it has arrived."""


class OutboxSender:
    """Sends rows, chats concurrently, in order within each.

    Args:
        channels: The channels that send; rows of one that is not logged in wait for it.
        tasks: Owner of the workers.
        ended: Called with each row that was sent or given up.
        refresh: Brings the repairs up to date, once a row was not sent.

    Attributes:
        hooks: May change what is sent, or stop it.
        settings: How often, and how, it is sent.
    """

    def __init__(
        self,
        db: Database,
        channels: ChannelRegistry,
        bus: EventBus,
        clock: Clock,
        tasks: TaskOwner,
        *,
        settings: OutboxSettings,
        ended: Callable[[OutboxRow], None],
        refresh: Callable[[], Awaitable[None]],
    ) -> None:
        self._db = db
        self._channels = channels
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self.settings = settings
        self.hooks: Hooks | None = None
        self._tell_ended = ended
        self._refresh = refresh
        self._workers: dict[ChatKey, asyncio.Task[None]] = {}
        self._tried: dict[ChatKey, float] = {}
        self._again: set[ChatKey] = set()
        self._begun: dict[ChatKey, OutboxRow] = {}
        self._on_way: set[ChatKey] = set()
        self._closing = False
        self._dropped: set[str] = set()
        self._shown: dict[str, asyncio.Task[Any]] = {}

    @property
    def due(self) -> float | None:
        """When a row is tried next, or was that is being sent, seconds since the epoch; None without one."""
        return min(self._tried.values(), default=None)

    async def close(self, limit_s: float = CLOSE_LIMIT_S) -> None:
        """Let messages that are on their way arrive, and stop sending; what waits stays in the database.

        Args:
            limit_s: How long they may take.
        """
        self._closing = True
        workers = list(self._workers.values())
        if arriving := [task for chat, task in self._workers.items() if chat in self._on_way]:
            await asyncio.wait(arriving, timeout=limit_s)
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        self._closing = False
        if self._begun:
            with suppress(HubError):  # else they are unknown at the next start
                await self._db.write(partial(outbox_rows.take_back, ids=[row.id for row in self._begun.values()]))

    async def wake_all(self) -> None:
        """Start sending in all chats with waiting rows."""
        for chat in await self._db.read(outbox_rows.open_chats):
            self.wake(chat)

    def begins_with(self, connection: SqlConnection, row: OutboxRow) -> bool:
        """Whether a new row may be inserted as `sending` because its chat is idle, which saves a commit.

        Not where a hook is asked first, which may take long.

        In the transaction and thread of who writes it; `wake` then sends it.
        """
        attached = self._channels.get(row.address.channel, row.address.account)
        if attached is None or attached.channel.limits.idempotent or isinstance(row.outgoing, REPEATABLE):
            return False
        if self.hooks is not None and MessageSending.hook in self.hooks.wanted:
            return False
        chat = row.chat
        if row.next_ms > row.created_ms or row.run_id in self._shown or outbox_rows.is_waiting(connection, chat):
            return False
        self._begun[chat] = row
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
        """Hold back a run's messages until a task of bounded duration has ended."""
        self._shown[run_id] = until
        until.add_done_callback(lambda _: self._shown.pop(run_id, None))

    async def _work(self, chat: ChatKey, first: OutboxRow | None) -> None:
        """Send the waiting rows of a chat, oldest first; `first` if known already."""
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
            self._tried.pop(chat, None)
            self._on_way.discard(chat)
            if not self._workers:
                self._dropped.clear()

    async def _send_until_settled(self, row: OutboxRow, marks: set[asyncio.Task[None]]) -> bool:
        """Send one row until it has ended; False if its channel is gone, or the hub stops."""
        asked = False
        while True:
            self._on_way.discard(row.chat)
            if row.created_ms < self._now_ms() - AGE_LIMIT_S * 1000 and row.state == "queued":
                await self._ended(row, "dead", Delivery(DeliveryState.PERMANENT, error=EXPIRED))
                return True
            self._tried[row.chat] = row.next_ms / 1000
            await self._clock.sleep_until(row.next_ms / 1000)
            attached = self._channels.get(row.address.channel, row.address.account)
            if attached is None or self._closing:
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
                if (why := await _ask_before_sending(self.hooks, row, attached)) is not None:
                    await self._ended(row, "stopped", Delivery(DeliveryState.PERMANENT, error=why))
                    return True
            safe = attached.channel.limits.idempotent or isinstance(row.outgoing, REPEATABLE)
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
                await self._write(partial(store_content, row=row))
                continue
            if await self._failed(row, delivery, attached, wait_s):
                return True

    def _is_begun(self, row: OutboxRow) -> bool:
        begun = self._begun.get(row.chat)
        return begun is not None and begun.id == row.id

    async def _attempt(self, row: OutboxRow, attached: Attached, *, safe: bool) -> Delivery:
        lease = self._channels.lease
        await lease.held()  # what was not begun is still queued for whoever takes over
        self._on_way.add(row.chat)
        if not safe:
            row.state = "sending"
            if self._is_begun(row):
                del self._begun[row.chat]
            else:
                await self._write(lambda connection: outbox_rows.set_state(connection, row, self._now_ms()))
        row.updated_ms = self._now_ms()
        settings = self.settings
        return await _attempt(row, attached, settings.language, settings.media_roots, lease)

    async def _resolved(self, outgoing: NewText | Withdrawal) -> Outgoing:
        """Return the row with the platform's id of the message that it refers to; without one, a text as a message."""
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
        """Return the outcome of an interrupted attempt; transient if it should be repeated."""
        if _can_find(row, attached):
            return await _find(row, attached)
        if safe:
            return Delivery(DeliveryState.TRANSIENT)
        return Delivery(DeliveryState.UNKNOWN, error=row.error or "the hub stopped while it was sent")

    async def _failed(self, row: OutboxRow, delivery: Delivery, attached: Attached, wait_s: float | None) -> bool:
        """Record a failed attempt; True if there will be no other.

        Args:
            wait_s: The time until the next one; overrides the delay for the number of attempts.
        """
        row.attempts += 1
        retry = self.settings.retry
        cut_off = attached.status.state in (ChannelState.DISCONNECTED, ChannelState.FAILED)
        if wait_s is None:
            wait_s = retry.delay_s(row.attempts, delivery.retry_after_s, random.random())  # noqa: S311  spreads retries, guards nothing
            if cut_off and delivery.retry_after_s is None:
                wait_s = min(wait_s, OFFLINE_DELAY_S)
        row.next_ms = self._now_ms() + int(wait_s * 1000)
        row.error = delivery.error
        exhausted = row.attempts >= retry.attempts
        if delivery.state is DeliveryState.UNKNOWN and _can_find(row, attached) and not exhausted:
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
        await self._refresh()

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
        """Read or write, retrying while the database fails: a sent message must not be sent twice because of it."""
        while True:
            try:
                return await access(work)
            except (Unavailable, LimitExceeded, TimedOut) as error:
                _log.warning("the outbox waits for the database: %s", error.message)
                await self._clock.sleep(STORE_DELAY_S)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


async def _ask_before_sending(hooks: Hooks | None, row: OutboxRow, attached: Attached) -> str | None:
    """Call the hooks for a row once, and store the text that they chose.

    Reactions and messages that are taken back are not asked about.

    Returns:
        Why it is not sent; None when it is.
    """
    outgoing = row.outgoing
    if (
        hooks is None
        or MessageSending.hook not in hooks.wanted
        or not isinstance(outgoing, NewMessage | NewText | NewPoll)
    ):
        return None
    if isinstance(outgoing, NewMessage) and outgoing.settled:
        return None
    text = outgoing.question if isinstance(outgoing, NewPoll) else outgoing.text
    asked = MessageSending(
        context=Context(authority=SYSTEM, parent_id=row.context_id),
        outbox_id=row.id,
        message_kind=row.kind,
        channel=row.address.channel,
        account=row.address.account,
        peer=row.address.peer,
        session_key=row.session_key,
        run_id=row.run_id,
        text=text,
    )
    chosen = await hooks.modify(asked)
    if chosen.block:
        return f"a hook stopped it: {chosen.block}"
    if chosen.text == text:
        return None
    if not chosen.text.strip() and not (isinstance(outgoing, NewMessage) and outgoing.media):
        return "a hook left nothing of its text"
    limit = _text_limit(attached, outgoing)
    if (found := length(chosen.text, attached.channel.limits.unit)) > limit:
        return f"a hook made its text too long: {found}; {attached.channel.name} takes {limit}"
    match outgoing:
        case NewMessage():
            row.outgoing = replace(outgoing, text=chosen.text, settled=True)
        case NewText():
            row.outgoing = replace(outgoing, text=chosen.text)
        case NewPoll():
            row.outgoing = replace(outgoing, question=chosen.text)
    row.changed = True
    return None


def _text_limit(attached: Attached, outgoing: NewMessage | NewText | NewPoll) -> int:
    limits = attached.channel.limits
    if isinstance(outgoing, NewMessage) and outgoing.media and outgoing.text:
        return limits.caption
    return limits.text


async def _attempt(row: OutboxRow, attached: Attached, language: str, roots: Iterable[Path], lease: Lease) -> Delivery:
    """Send a row once.

    Args:
        row: A `NewText` in it names a platform's id.
        attached: Its channel.
        language: The language of the note about what could not be sent.
        roots: Directories below which attachments may be.
        lease: Looked at last of all.
    """
    channel = attached.channel
    if isinstance(row.outgoing, NewMessage) and row.outgoing.media:
        row = replace(row, outgoing=await _carried(row.outgoing, channel.limits, language, tuple(roots)))
    await lease.held()
    call = _call(row, channel)
    if call is None:
        return Delivery(DeliveryState.PERMANENT, error=f"{channel.name} cannot do this")
    try:
        async with asyncio.timeout(SEND_LIMIT_S):
            return await call
    except TimeoutError:
        return Delivery(DeliveryState.UNKNOWN, error=f"no answer within {SEND_LIMIT_S:g} s")
    except Exception as error:  # a channel that raises breaks its contract; the message must not be lost to it
        _log.exception("channel %s failed to send %s", channel.name, row.id)
        return Delivery(DeliveryState.UNKNOWN, error=f"the channel failed: {error}")


async def _find(row: OutboxRow, attached: Attached) -> Delivery:
    """Look up an interrupted message; transient means that it is to be sent again.

    Only where `_can_find` says so. An unknown delivery means that the lookup failed.
    """
    channel = attached.channel
    if not isinstance(channel, CanFind):
        raise TypeError(f"{channel.name} has no history")
    try:
        async with asyncio.timeout(FIND_LIMIT_S):
            found = await channel.find(row.message(), row.updated_ms / 1000)
    except TimeoutError:
        return Delivery(DeliveryState.UNKNOWN, error=f"it could not be looked up within {FIND_LIMIT_S:g} s")
    except HubError as error:
        return Delivery(DeliveryState.UNKNOWN, error=f"it could not be looked up: {error.message}")
    except Exception as error:  # as above: a broken channel must not end the worker
        _log.exception("channel %s failed to look up %s", channel.name, row.id)
        return Delivery(DeliveryState.UNKNOWN, error=f"it could not be looked up: {error}")
    return found or Delivery(DeliveryState.TRANSIENT)


def _can_find(row: OutboxRow, attached: Attached) -> bool:
    """Whether a channel can look up a row."""
    return isinstance(attached.channel, CanFind) and isinstance(row.outgoing, NewMessage)


def _call(row: OutboxRow, channel: Channel) -> Awaitable[Delivery] | None:
    match row.outgoing:
        case NewMessage():
            return channel.send(row.message())
        case NewText(text=text, platform_id=platform_id) if isinstance(channel, CanEdit):
            return channel.edit(row.address, platform_id, text)
        case Withdrawal(platform_id=platform_id) if isinstance(channel, CanDelete):
            return channel.delete(row.address, platform_id)
        case NewReaction(platform_id=platform_id, emoji=emoji) if isinstance(channel, CanReact):
            return channel.react(row.address, platform_id, emoji)
        case NewPoll() if isinstance(channel, CanPoll):
            return channel.poll(row.poll())
    return None


async def _carried(message: NewMessage, limits: ChannelLimits, language: str, roots: tuple[Path, ...]) -> NewMessage:
    """Return a message with the attachments that its channel supports, and a line about the others."""
    carried: list[OutboundMedia] = []
    lines = [message.text] if message.text else []
    for media in message.media:
        name = media.name or Path(media.path).name
        size = await FILES.run(_size_of, media.path, roots)
        if size is None:
            lines.append(say("media.gone", language, name=name))
        elif media.kind not in limits.media:
            lines.append(say("media.kind", language, name=name))
        elif size > limits.media_bytes:
            lines.append(say("media.size", language, name=name, limit=f"{limits.media_bytes / 1e6:.3g}"))
        else:
            carried.append(media)
    return replace(message, media=tuple(carried), text="\n".join(lines))


def _size_of(path: str, roots: Iterable[Path]) -> int | None:
    """Return the bytes of a plain file below one of the directories, not through symlinks; None when there is none."""
    for root in roots:
        if Path(path).is_relative_to(root):
            try:
                found = Root(root).stat(Path(path).relative_to(root).as_posix())
            except (OSError, HubError):
                return None
            return found.size_bytes if found.is_file else None
    return None
