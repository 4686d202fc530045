"""Telegram as a channel: one bot."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
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
from integrations.channels.telegram.errors import delivery_of, describe, is_markup_refused
from integrations.channels.telegram.intake import Intake, NotTaken
from integrations.channels.telegram.ledger import Ledger, SentPoll
from integrations.channels.telegram.listener import Listener, PollTiming, TelegramWebhook
from integrations.channels.telegram.outgoing import PartlySent, send_all, target
from integrations.channels.telegram.updates import NAME, Json, Me, UpdateReader

if TYPE_CHECKING:
    from telegram import Bot, Message
    from telegram.request import BaseRequest

_log = logging.getLogger(__name__)

COMMANDS_LIMIT = 100
DESCRIPTION_LENGTH = 256
TEXT_LENGTH = 4_096
DOWNLOAD_LIMIT_BYTES = 20_000_000
READ_S, CONNECT_S, POOL_S = 20.0, 10.0, 5.0
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")


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
        text=TEXT_LENGTH,
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
        self._connections: tuple[Bot, BaseRequest, BaseRequest] | None = None
        self._opening = asyncio.Lock()
        self._listening: asyncio.Task[Any] | None = None
        self._intake: Intake | None = None

    async def start(self, receive: Receiver) -> None:
        """Start listening; see `Channel`."""
        self._listening = self._parts.spawn(self._listen(receive))

    async def stop(self) -> None:
        """Stop listening and close connections."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        self._intake = None
        if self._connections is not None:
            await asyncio.gather(*(request.shutdown() for request in self._connections[1:]))
            self._connections = None

    async def deliver(self, update: Json) -> None:
        """Take an update that Telegram delivered to the webhook.

        Raises:
            ValueError: It is no update.
            Unavailable: It was not stored; Telegram must deliver it again.
        """
        if not isinstance(update, dict) or not isinstance(update.get("update_id"), int):
            raise ValueError("an update has a number")
        if self._intake is None:
            raise Unavailable("the bot is not connected yet")
        try:
            await self._intake.take([update])
        except NotTaken as error:
            raise Unavailable(str(error)) from error

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send one message; see `Channel`."""

        async def send(bot: Bot) -> Sequence[Message]:
            values = [button.value for row in message.buttons for button in row]
            data = await self._parts.ledger.button_data(values)
            return await send_all(bot, message, data, self._parts.topic_gone())

        return await self._attempt(message.address, send)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a sent message another text; of one with media it is the caption."""
        where = {"chat_id": int(address.peer), "message_id": int(platform_id)}

        async def edit(bot: Bot) -> Sequence[Message]:
            from telegram.error import BadRequest

            change: Any = bot.edit_message_text
            words: dict[str, Any] = {"text": render(text, Flavour.HTML_TELEGRAM), "parse_mode": "HTML"}
            while True:
                try:
                    await change(**where, **words)
                except BadRequest as error:
                    if "parse_mode" in words and is_markup_refused(error):
                        words = {next(iter(words)): text}
                    elif "no text in the message" in str(error) and "text" in words:
                        change, words["caption"] = bot.edit_message_caption, words.pop("text")
                    elif "not modified" not in str(error):
                        raise
                    else:
                        return ()
                else:
                    return ()

        return await self._attempt(address, edit, platform_id)

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a sent message; one that is gone already is deleted."""

        async def delete(bot: Bot) -> Sequence[Message]:
            from telegram.error import BadRequest

            try:
                await bot.delete_message(int(address.peer), int(platform_id))
            except BadRequest as error:
                if "message to delete not found" not in str(error).lower():
                    raise
            return ()

        return await self._attempt(address, delete, platform_id)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None removes the reaction."""

        async def react(bot: Bot) -> Sequence[Message]:
            plain = None if emoji is None else emoji.replace("\ufe0f", "")  # as Telegram's list has them
            await bot.set_message_reaction(int(address.peer), int(platform_id), plain)
            return ()

        return await self._attempt(address, react, platform_id)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll that shows who voted for what."""

        async def send(bot: Bot) -> Sequence[Message]:
            sent = await bot.send_poll(
                question=poll.question,
                options=list(poll.options),
                is_anonymous=False,
                allows_multiple_answers=poll.multiple,
                **target(poll.address),
            )
            if sent.poll is not None:
                await self._parts.ledger.keep_poll(SentPoll(sent.poll.id, poll.address, poll.options))
            return (sent,)

        return await self._attempt(poll.address, send)

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written, for five seconds; nothing happens when that fails."""
        await self._show(lambda bot: bot.send_chat_action(action="typing", **target(address, with_general=True)))

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show the text so far; Telegram has that in direct messages alone."""
        if address.chat_type is not ChatType.DIRECT or not text.strip():
            return
        shown = text.encode("utf-16-le")[: 2 * TEXT_LENGTH].decode("utf-16-le", "ignore")
        number = zlib.crc32(draft_id.encode()) & 0x7FFFFFFF or 1
        draft: dict[str, Any] = {"draft_id": number, "text": render(shown, Flavour.HTML_TELEGRAM), "parse_mode": "HTML"}
        await self._show(lambda bot: bot.send_message_draft(**draft, **target(address)))

    async def publish_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Publish the commands for the menu of the chat."""
        listed = [
            (name, description[:DESCRIPTION_LENGTH]) for name, description in commands if _COMMAND.fullmatch(name)
        ][:COMMANDS_LIMIT]
        if self._parts.ledger.has_published(repr(listed)):
            return

        async def publish(bot: Bot) -> Sequence[Message]:
            await bot.set_my_commands(listed)
            await self._parts.ledger.keep_published(repr(listed))
            return ()

        delivery = await self._attempt(None, publish)
        if delivery.error is not None:
            _log.warning("telegram (%s): the commands were not published: %s", self.account, delivery.error)

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment in pieces; see `CanFetch`."""
        import aiohttp
        from telegram.error import TelegramError

        try:
            file = await (await self._bot()).get_file(media.reference)
            if file.file_path is None or (file.file_size or 0) > DOWNLOAD_LIMIT_BYTES:
                raise Unavailable(f"Telegram gives bots no files of more than {DOWNLOAD_LIMIT_BYTES // 1_000_000} MB")
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=READ_S)
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
                session.get(file.file_path, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    raise Unavailable(f"Telegram does not give the file (status {response.status})")
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

    async def _listen(self, receive: Receiver) -> None:
        try:
            await self._parts.ledger.load()
        except (HubError, ValueError):
            _log.exception("telegram (%s): what was sent before is not known", self.account)
        bot, polling, _ = await self._opened()

        async def connect() -> Intake:
            me = await bot.get_me()
            receive.connected(str(me.id), f"@{me.username}")
            reader = UpdateReader(self.account, Me(me.id, me.username or ""), self._parts.ledger)
            self._intake = Intake(reader, receive, self._taken)
            return self._intake

        listener = Listener(
            bot,
            polling,
            connect,
            receive,
            webhook=self._config.webhook,
            clock=self._parts.clock,
            timing=self._timing,
        )
        await listener.run()

    def _taken(self, update: Json) -> None:
        """Do what follows an update that is stored: a button that was pressed waits for an answer, without fail."""
        if (query := update.get("callback_query")) is not None:
            self._parts.spawn(self._show(lambda bot: bot.answer_callback_query(query["id"])))
        if (new := (update.get("message") or {}).get("migrate_to_chat_id")) is not None:
            self._parts.migrated(str(update["message"]["chat"]["id"]), str(new))

    async def _show(self, show: Callable[[Bot], Awaitable[Any]]) -> None:
        """Do something that does not matter when it fails."""
        from telegram.error import TelegramError

        with suppress(TelegramError, TimeoutError):
            async with asyncio.timeout(self._timing.answer_s):
                await show(await self._bot())

    async def _attempt(
        self, address: Address | None, send: Callable[[Bot], Awaitable[Sequence[Message]]], *ids: str
    ) -> Delivery:
        """Make one attempt; say how it ended."""
        from telegram.error import ChatMigrated, TelegramError

        try:
            sent = await send(await self._bot())
        except PartlySent as error:
            return Delivery(DeliveryState.UNKNOWN, error.ids, f"only a part arrived: {describe(_cause(error))}")
        except ChatMigrated as error:
            if address is not None:
                self._parts.migrated(address.peer, str(error.new_chat_id))
            return Delivery(DeliveryState.PERMANENT, error=f"the group is now {error.new_chat_id}")
        except (TelegramError, HubError, OSError, ValueError, KeyError, TypeError) as error:
            return delivery_of(error)
        for message in sent:
            self._parts.ledger.sent(message.chat.id, message.message_id)
        return Delivery(DeliveryState.DELIVERED, tuple(str(each.message_id) for each in sent) or ids)

    async def _bot(self) -> Bot:
        return (await self._opened())[0]

    async def _opened(self) -> tuple[Bot, BaseRequest, BaseRequest]:
        async with self._opening:
            if self._connections is None:
                # It takes most of a second, in which nobody should wait.
                await asyncio.to_thread(importlib.import_module, "integrations.channels.telegram.transport")
                self._connections = self._connect()
            return self._connections

    def _connect(self) -> tuple[Bot, BaseRequest, BaseRequest]:
        from telegram import Bot

        from integrations.channels.telegram.transport import AiohttpRequest

        logging.getLogger("telegram").setLevel(logging.CRITICAL)  # it logs whole answers
        polling = AiohttpRequest(1, self._timing.answer_s, connect_s=CONNECT_S, pool_s=POOL_S)
        calling = AiohttpRequest(32, self._timing.answer_s, connect_s=CONNECT_S, pool_s=POOL_S)
        root = self._config.api_root.rstrip("/")
        bot = Bot(
            self._config.token.reveal(),
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=calling,
            get_updates_request=polling,
        )
        return bot, polling, calling


def _cause(error: Exception) -> Exception:
    return error.__cause__ if isinstance(error.__cause__, Exception) else error
