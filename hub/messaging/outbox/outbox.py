"""The outbox: messages are written ahead, sent in order within a chat, and done when the platform confirms.

A row is queued, sending, and then sent, unknown, dead, or stopped by a hook. What was `sending` when the hub stopped,
or when no answer came, is sent again where the platform shows the same id once, and looked up where it has a history;
elsewhere it stays `unknown` until a person decides. What was refused for good, or too often, is `dead` and kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import Event, EventBus
from hub.core.ids import new_id
from hub.core.repairs import Repairs
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.hooks.registry import Hooks
from hub.messaging.channels import EVENT_CHANNEL_ADDED, ChannelRegistry
from hub.messaging.contract import Address, Channel, ChannelLimits, TextUnit
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.chunking import chunk, length
from hub.messaging.outbox.outbound_policy import OutboundPolicy, OutboxSettings, ReplyToMode
from hub.messaging.outbox.outbox_repairs import OutboxRepairs, WaitingMessages, explain_waiting, waiting_rows
from hub.messaging.outbox.outbox_rows import NewMessage, NewText, OutboxRow, Outgoing, RowSource, insert_row
from hub.messaging.outbox.sending import AGE_LIMIT_S, CLOSE_LIMIT_S, EXPIRED, OutboxSender
from hub.storage.database import Database

ASSUMED_LIMITS = ChannelLimits(text=2_000, unit=TextUnit.UTF16)
"""Of a channel that has not been logged in since the hub started."""
LIST_LIMIT = 500
WATCH_EVERY_S = 15.0
"""How often it is looked whether something waits that should not."""


class Outbox:
    """Sends messages, chats concurrently, in order within each.

    Args:
        db: The hub database.
        channels: The channels that send; rows of one that is not logged in wait for it.
        tasks: Owner of the sending tasks, one for each chat that has something to send.
        settings: The settings; replaced by `configure`.
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
        repairs: Repairs,
        settings: OutboxSettings | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self._db = db
        self.channels = channels
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self._repairs = OutboxRepairs(db, repairs)
        self._sender = OutboxSender(
            db,
            channels,
            bus,
            clock,
            tasks,
            settings=settings or OutboxSettings(),
            ended=self._ended,
            refresh=self._repairs.refresh,
        )
        self._sender.hooks = hooks
        self._waiting: dict[str, asyncio.Future[OutboxRow]] = {}
        self.settings = self._sender.settings
        self._limits: dict[tuple[str, str], ChannelLimits] = {}
        self._unlisten: Callable[[], None] | None = None

    def configure(self, settings: OutboxSettings) -> None:
        """Replace the settings."""
        self.settings = self._sender.settings = settings

    @property
    def due(self) -> float | None:
        """When the first of all waiting messages is tried next, seconds since the epoch; None when none waits."""
        return self._sender.due

    async def open(self) -> None:
        """Settle what a crash left open and start sending waiting messages."""
        before_ms = self._now_ms() - int(AGE_LIMIT_S * 1000)

        def settle(connection: SqlConnection) -> None:
            outbox_rows.settle_interrupted(connection)
            outbox_rows.expire(connection, before_ms, self._now_ms(), EXPIRED)

        await self._db.write(settle)
        self._unlisten = self._bus.listen(EVENT_CHANNEL_ADDED, self._channel_added)
        await self._repairs.refresh()
        for attached in self.channels.all():
            await self._take_up(attached.channel)
        await self._sender.wake_all()

    async def close(self, limit_s: float = CLOSE_LIMIT_S) -> None:
        """Let messages that are on their way arrive, and stop sending; what waits stays in the database.

        Args:
            limit_s: How long they may take.
        """
        if self._unlisten is not None:
            self._unlisten()
        await self._sender.close(limit_s)
        for waiting in self._waiting.values():
            waiting.cancel()

    # --- writing ---

    def insert(
        self,
        connection: SqlConnection,
        address: Address,
        content: str | Outgoing,
        *,
        caused_by: str | None,
        session_key: str | None = None,
        run_id: str | None = None,
        source: RowSource = RowSource.REPLY,
        not_before_ms: int = 0,
    ) -> list[str]:
        """Write the rows of one message inside the caller's transaction; runs in the writer thread.

        Args:
            content: A text, or other content to send.
            caused_by: Id of the context that led to it, for the chain of what happens next.
            source: The author.
            not_before_ms: The earliest time to send it, in milliseconds since the epoch.

        Returns:
            The rows' ids. Call `notify` when the transaction is committed.
        """
        outgoing = NewMessage(content) if isinstance(content, str) else content
        now = self._now_ms()
        address = Address(address.channel, address.peer, address.account, address.chat_type, address.thread)
        ids = []
        for part, piece in enumerate(self._pieces(address, outgoing)):
            ids.append(new_id())
            row = OutboxRow(
                position=0,
                id=ids[-1],
                address=address,
                outgoing=piece,
                source=source,
                state="queued",
                attempts=0,
                next_ms=max(now, not_before_ms),
                created_ms=now,
                updated_ms=now,
                session_key=session_key,
                run_id=run_id,
                part=part,
                context_id=caused_by,
            )
            if part == 0 and self._sender.begins_with(connection, row):
                row.state = "sending"
            insert_row(connection, row)
        return ids

    async def send(
        self,
        address: Address,
        content: str | Outgoing,
        context: Context,
        *,
        session_key: str | None = None,
        run_id: str | None = None,
        source: RowSource = RowSource.REPLY,
    ) -> list[str]:
        """Write a message and start sending it; returns the rows' ids once they are on disk."""
        return await self.write(
            address,
            lambda connection: self.insert(
                connection,
                address,
                content,
                caused_by=context.id,
                session_key=session_key,
                run_id=run_id,
                source=source,
            ),
        )

    async def write(self, address: Address, insert: Callable[[SqlConnection], list[str]]) -> list[str]:
        """Write the rows of a chat in a separate transaction and start sending them; return their ids."""
        ids = await self._db.write(insert)
        if ids:
            self.notify(address, ids)
        return ids

    async def wake(self) -> None:
        """Start sending in all chats with waiting messages."""
        await self._sender.wake_all()

    def hold(self, run_id: str, until: asyncio.Task[Any]) -> None:
        """Hold back a run's messages until a task that shows its answer has ended, to keep them in order."""
        self._sender.hold(run_id, until)

    def notify(self, address: Address, written: Sequence[str] = ()) -> None:
        """Start sending queued messages of a chat; `written` are all rows of a transaction that is on disk."""
        self._sender.wake((address.channel, address.account, address.peer), written)

    def _pieces(self, address: Address, outgoing: Outgoing) -> list[Outgoing]:
        """Return the separate messages: the pieces of a long text, and each attachment."""
        if not isinstance(outgoing, NewMessage | NewText):
            return [outgoing]
        attached = self.channels.get(address.channel, address.account)
        limits = attached.channel.limits if attached else self._limits.get((address.channel, address.account))
        limits = limits or ASSUMED_LIMITS
        policy = attached.outbound if attached else OutboundPolicy()
        most = min(limits.text, policy.text_limit or limits.text)
        texts = chunk(outgoing.text, most, limits.unit, policy.chunk_mode, limits.lines)
        if isinstance(outgoing, NewText):
            more = (NewMessage(text, derived=outgoing.derived) for text in texts[1:])
            return [replace(outgoing, text=texts[0]), *more] if texts else []
        reply_to = None if policy.reply_to_mode is ReplyToMode.OFF else outgoing.reply_to
        if len(texts) == 1 and not outgoing.media:
            return [replace(outgoing, text=texts[0], reply_to=reply_to)]
        media = list(outgoing.media)
        pieces: list[NewMessage] = []
        is_voice = bool(media) and media[0].voice  # hardly a platform has voice messages with a text
        if media and len(texts) == 1 and not is_voice and length(texts[0], limits.unit) <= limits.caption:
            pieces.append(NewMessage(texts[0], media=(media.pop(0),)))
        else:
            pieces += [NewMessage(text) for text in texts]
        pieces += [NewMessage(media=(each,)) for each in media]
        if not pieces:
            return []
        pieces = [replace(each, silent=outgoing.silent, derived=outgoing.derived) for each in pieces]
        pieces[-1] = replace(pieces[-1], covers=outgoing.covers, digest=outgoing.digest)
        last_text = max((at for at, each in enumerate(pieces) if each.text), default=0)
        pieces[last_text] = replace(pieces[last_text], buttons=outgoing.buttons)
        replying = len(pieces) if policy.reply_to_mode is ReplyToMode.ALL else 1
        return [replace(each, reply_to=reply_to if at < replying else None) for at, each in enumerate(pieces)]

    # --- looking, and deciding by hand ---

    async def counts(self) -> dict[str, int]:
        """Return the number of rows in each state."""
        rows = await self._db.read(
            lambda connection: connection.execute("SELECT state, count(*) FROM outbox GROUP BY state").fetchall()
        )
        return dict(rows)

    async def waiting(self) -> list[WaitingMessages]:
        """Return the waiting messages, by account, and why they wait."""
        rows = await self._db.read(waiting_rows)
        return [explain_waiting(row, self.channels, self._clock.time()) for row in rows]

    async def watch(self) -> None:
        """Check for stuck messages repeatedly, until cancelled, and clear repairs of moving ones."""
        while True:
            await self.look()
            await self._clock.sleep(WATCH_EVERY_S)

    async def look(self) -> None:
        """Raise a repair for each account with stuck messages, and clear the rest."""
        self._repairs.look_at(await self.waiting())

    async def last_states(self, session_keys: Sequence[str]) -> dict[str, str]:
        """Return the state of the last written message of each conversation that has one."""
        return await self._db.read(lambda connection: outbox_rows.last_states(connection, session_keys))

    async def rows(self, states: tuple[str, ...] = (), limit: int = 100) -> list[OutboxRow]:
        """Return the newest rows in these states, or in any, newest first."""
        return await self._db.read(
            lambda connection: outbox_rows.newest_rows(connection, states, min(limit, LIST_LIMIT))
        )

    async def get(self, id: str) -> OutboxRow:
        """Return a row.

        Raises:
            NotFound: There is none with that id.
        """
        return await self._db.read(lambda connection: outbox_rows.get(connection, id))

    async def retry(self, id: str) -> OutboxRow:
        """Send a failed or uncertain message again; see `outbox_rows.retry`."""
        row = await self._db.write(lambda connection: outbox_rows.retry(connection, id, self._now_ms()))
        await self._repairs.refresh()
        self.notify(row.address)
        return row

    async def drop(self, id: str) -> OutboxRow:
        """Delete an unsent message; see `outbox_rows.drop`."""
        row = await self._db.write(lambda connection: outbox_rows.drop(connection, id))
        self._sender.forget(row)
        await self._repairs.refresh()
        return row

    async def outcome(self, ids: Iterable[str], timeout_s: float) -> list[OutboxRow]:
        """Return rows when all have ended, or when the time is over."""
        chosen = list(ids)
        waiting = {id: self._waiting.setdefault(id, asyncio.get_running_loop().create_future()) for id in chosen}
        try:
            rows = [await self.get(id) for id in chosen]
            open_ = [waiting[row.id] for row in rows if row.state in ("queued", "sending")]
            if open_:
                await asyncio.wait(open_, timeout=timeout_s)
            return [
                waiting[row.id].result() if waiting[row.id].done() and not waiting[row.id].cancelled() else row
                for row in rows
            ]
        finally:
            for id in chosen:
                self._waiting.pop(id, None)

    # --- channels that come ---

    def _channel_added(self, event: Event) -> Any:
        self._tasks.spawn(self._wake_channel(event.data["channel"], event.data["account"]), name="outbox wake")

    async def _wake_channel(self, channel: str, account: str) -> None:
        attached = self.channels.get(channel, account)
        if attached is not None:
            await self._take_up(attached.channel)
        await self._sender.wake_all()

    async def _take_up(self, channel: Channel) -> None:
        """Settle the messages that were being sent through a channel when the hub stopped."""
        self._limits[channel.name, channel.account] = channel.limits
        await self._db.write(lambda connection: outbox_rows.interrupted_rows(connection, channel.name, channel.account))

    def _ended(self, row: OutboxRow) -> None:
        waiting = self._waiting.get(row.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(row)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)
