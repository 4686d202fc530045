"""Telegram as a channel: one bot."""

from __future__ import annotations

import asyncio
import importlib
import logging
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    Media,
    MediaKind,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.telegram.errors import delivery_of, describe
from integrations.channels.telegram.ledger import Ledger, SentPoll
from integrations.channels.telegram.listener import Listener, PollTiming, TelegramWebhook
from integrations.channels.telegram.outgoing import change, send, target
from integrations.channels.telegram.updates import NAME, Json, UpdateReader

if TYPE_CHECKING:
    from telegram import Bot, Message

_log = logging.getLogger(__name__)

COMMANDS_LIMIT = 100
DESCRIPTION_LENGTH = 256
READ_S, CONNECT_S, POOL_S = 20.0, 10.0, 5.0
CONNECTIONS = 32


class TelegramAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    token: Secret
    api_root: str
    webhook: TelegramWebhook | None = None


class TelegramParts(Struct, frozen=True):
    """What the channel works with.

    Attributes:
        ledger: Remembers what was sent.
        spawn: Runs a task until the integration goes.
        topic_gone: Returns what begins a message whose topic was deleted.
        migrated: Called with the old and the new id of a group that became another.
    """

    ledger: Ledger
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    topic_gone: Callable[[], str]
    migrated: Callable[[str, str], None]


class Telegram:
    """One bot, logged in."""

    name = NAME
    limits = ChannelLimits(
        text=4_096,
        unit=TextUnit.UTF16,
        caption=1_024,
        media=frozenset(MediaKind),
        media_bytes=50_000_000,
        buttons=100,
        markup=Flavour.HTML_TELEGRAM,
    )

    def __init__(self, config: TelegramAccount, parts: TelegramParts, timing: PollTiming | None = None) -> None:
        self.account = config.account
        self._config = config
        self._parts = parts
        self._timing = timing or PollTiming()
        self._connected: Bot | None = None
        self._connecting = asyncio.Lock()
        self._listener: Listener | None = None
        self._listening: asyncio.Task[Any] | None = None
        self._published: Sequence[tuple[str, str]] = ()

    async def start(self, receive: Receiver) -> None:
        """Start listening; see `Channel`."""
        self._listener = Listener(
            self._bot,
            partial(UpdateReader, self.account, self._parts.ledger),
            receive,
            stored=self._stored,
            webhook=self._config.webhook,
            clock=self._parts.clock,
            timing=self._timing,
        )
        self._listening = self._parts.spawn(self._listen(self._listener))

    async def stop(self) -> None:
        """Stop listening and close connections."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        self._listener = None
        if self._connected is not None:
            await self._connected.request.shutdown()
            self._connected = None

    async def deliver(self, update: Json) -> None:
        """Take an update that Telegram delivered to the webhook.

        Raises:
            ValueError: It is no update.
            Unavailable: It was not stored; Telegram must deliver it again.
        """
        if not isinstance(update, dict) or not isinstance(update.get("update_id"), int):
            raise ValueError("an update has a number")
        if self._listener is None:
            raise Unavailable("the bot is logged out")
        await self._listener.take([update])

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send one message; see `Channel`."""

        async def attempt(bot: Bot) -> Message:
            values = [button.value for row in message.buttons for button in row]
            data = await self._parts.ledger.button_data(values)
            return await send(bot, message, data, self._parts.topic_gone())

        return await self._attempt(message.address, attempt)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a sent message another text; of one with media it is the caption."""
        return await self._attempt(address, lambda bot: change(bot, address, platform_id, text), platform_id)

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a sent message; one that is gone already is deleted."""
        where = (int(address.peer), int(platform_id))
        return await self._attempt(address, lambda bot: bot.delete_message(*where), platform_id)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None removes the reaction."""
        plain = None if emoji is None else emoji.replace("\ufe0f", "")  # as Telegram's list has them
        where = (int(address.peer), int(platform_id))
        return await self._attempt(address, lambda bot: bot.set_message_reaction(*where, plain), platform_id)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll that shows who voted for what."""

        async def attempt(bot: Bot) -> Message:
            sent = await bot.send_poll(
                question=poll.question,
                options=list(poll.options),
                is_anonymous=False,
                allows_multiple_answers=poll.multiple,
                **target(poll.address),
            )
            if sent.poll is not None:
                await self._parts.ledger.keep_poll(SentPoll(sent.poll.id, poll.address, poll.options))
            return sent

        return await self._attempt(poll.address, attempt)

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written, for five seconds; nothing happens when that fails."""
        await self._show(lambda bot: bot.send_chat_action(action="typing", **target(address, with_general=True)))

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show the text so far; Telegram has that in direct messages alone."""
        number = zlib.crc32(draft_id.encode()) & 0x7FFFFFFF or 1
        draft: dict[str, Any] = {"text": render(text, Flavour.HTML_TELEGRAM), "parse_mode": "HTML", **target(address)}
        await self._show(lambda bot: bot.send_message_draft(draft_id=number, **draft))

    async def publish_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Publish the commands for the menu of the chat."""
        listed = [(name, description[:DESCRIPTION_LENGTH]) for name, description in commands[:COMMANDS_LIMIT]]
        if listed != self._published:
            await (await self._bot()).set_my_commands(listed)
            self._published = listed

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment in pieces; see `CanFetch`."""
        import aiohttp
        from telegram.error import TelegramError

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=READ_S)
        try:
            file = await (await self._bot()).get_file(media.reference)
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True, raise_for_status=True) as session,
                session.get(str(file.file_path), allow_redirects=False) as response,
            ):
                async for piece in response.content.iter_chunked(65_536):
                    yield piece
        except (TelegramError, TimeoutError) as error:
            raise Unavailable(f"Telegram does not give the file: {describe(error)}") from error
        except aiohttp.ClientError as error:  # its text would show the address, and with it the token
            raise Unavailable(f"Telegram does not give the file: {type(error).__name__}") from None

    async def probe(self) -> dict[str, Any]:
        """Return whether Telegram answers, who the bot is, and whether it sees all that is said in groups."""
        from telegram.error import TelegramError

        try:
            async with asyncio.timeout(self._timing.answer_s):
                me = await (await self._bot()).get_me()
        except (TelegramError, TimeoutError) as error:
            return {"ok": False, "error": describe(error)}
        return {
            "ok": True,
            "account_id": str(me.id),
            "name": f"@{me.username}",
            "reads_groups": bool(me.can_read_all_group_messages),
        }

    async def _listen(self, listener: Listener) -> None:
        try:
            await self._parts.ledger.load()
        except (HubError, ValueError):
            _log.exception("telegram (%s): what was sent before is not known", self.account)
        await listener.run()

    def _stored(self, update: Json) -> None:
        """Do what follows an update that is stored: a button that was pressed waits for an answer, without fail."""
        if (query := update.get("callback_query")) is not None:
            self._parts.spawn(self._show(lambda bot: bot.answer_callback_query(query["id"])))
        if (new := update.get("message", {}).get("migrate_to_chat_id")) is not None:
            self._parts.migrated(str(update["message"]["chat"]["id"]), str(new))

    async def _show(self, show: Callable[[Bot], Awaitable[Any]]) -> None:
        """Do something that does not matter when it fails."""
        from telegram.error import TelegramError

        with suppress(TelegramError, TimeoutError):
            async with asyncio.timeout(self._timing.answer_s):
                await show(await self._bot())

    async def _attempt(self, address: Address, attempt: Callable[[Bot], Awaitable[Any]], *ids: str) -> Delivery:
        """Make one attempt at a new message, or at those with these ids; return how it ended."""
        from telegram.error import ChatMigrated

        try:
            sent = await attempt(await self._bot())
        except Exception as error:  # whatever it is, the outbox decides what follows
            if isinstance(error, ChatMigrated):
                self._parts.migrated(address.peer, str(error.new_chat_id))
            return replace(delivery_of(error), platform_ids=ids)
        return Delivery(DeliveryState.DELIVERED, ids or (str(sent.message_id),))

    async def _bot(self) -> Bot:
        async with self._connecting:
            if self._connected is None:
                # It takes most of a second, in which nobody should wait.
                await asyncio.to_thread(importlib.import_module, "integrations.channels.telegram.transport")
                self._connected = self._connect()
            return self._connected

    def _connect(self) -> Bot:
        from telegram import Bot

        from integrations.channels.telegram.transport import AiohttpRequest

        logging.getLogger("telegram").setLevel(logging.CRITICAL)  # it logs whole answers
        root = self._config.api_root.rstrip("/")
        request = AiohttpRequest(root, CONNECTIONS, self._timing.answer_s, connect_s=CONNECT_S, pool_s=POOL_S)
        return Bot(
            self._config.token.reveal(),
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=request,
            get_updates_request=request,
        )
