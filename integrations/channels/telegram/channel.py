"""Telegram as a channel: one bot."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    Media,
    MediaKind,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.button_values import ButtonValues
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.kept_values import KeptValues
from integrations.channels.telegram.api import TelegramApi
from integrations.channels.telegram.listener import Listener, PollTiming, TelegramWebhook
from integrations.channels.telegram.outgoing import change, send, target, which_message
from integrations.channels.telegram.updates import NAME, Json, Me, SentPoll, UpdateReader

_log = logging.getLogger(__name__)

COMMANDS_LIMIT = 100
DESCRIPTION_LENGTH = 256
DATA_BYTES = 64
"""What a button carries at most."""
POLLS_KEPT = 500


class TelegramAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    token: Secret
    api_root: str
    webhook: TelegramWebhook | None = None


class TelegramParts(Struct, frozen=True):
    """What the channel works with.

    Attributes:
        spawn: Runs a task until the integration goes.
        topic_gone: Returns what begins a message whose topic was deleted.
        migrated: Called with the old and the new id of a group that became another.
    """

    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    topic_gone: Callable[[], str]
    migrated: Callable[[str, str], None]


class _Session(Struct, frozen=True):
    """What there is between start and stop."""

    api: TelegramApi
    buttons: ButtonValues
    polls: KeptValues[SentPoll]
    listener: Listener
    listening: asyncio.Task[Any]


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
        self._session: _Session | None = None
        self._published: Sequence[dict[str, str]] = ()

    async def start(self, receive: Receiver) -> None:
        """Start listening; see `Channel`."""
        api = TelegramApi(self._config.api_root, self._config.token, self._timing.answer_s)
        buttons, polls = ButtonValues(receive, DATA_BYTES), KeptValues(receive, "polls", POLLS_KEPT, SentPoll)

        async def reader(me: Me) -> UpdateReader:
            await buttons.load()
            await polls.load()
            return UpdateReader(self.account, me, buttons, polls)

        listener = Listener(
            api,
            reader,
            receive,
            stored=self._stored,
            webhook=self._config.webhook,
            clock=self._parts.clock,
            timing=self._timing,
        )
        self._session = _Session(api, buttons, polls, listener, self._parts.spawn(listener.run()))

    async def stop(self) -> None:
        """Stop listening and close connections."""
        if (session := self._session) is not None:
            self._session = None
            session.listening.cancel()
            await asyncio.gather(session.listening, return_exceptions=True)
            await session.api.close()

    async def deliver(self, update: Json) -> None:
        """Take an update that Telegram delivered to the webhook.

        Raises:
            ValueError: It is no update.
            Unavailable: It was not stored; Telegram must deliver it again.
        """
        if not isinstance(update, dict) or not isinstance(update.get("update_id"), int):
            raise ValueError("an update has a number")
        await self._logged_in.listener.take([update])

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send one message; see `Channel`."""

        async def attempt(session: _Session) -> str:
            data = [await session.buttons.carried(button.value) for row in message.buttons for button in row]
            return await send(session.api, message, data, self._parts.topic_gone())

        return await self._attempt(message.address, attempt)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a sent message another text; of one with media it is the caption."""
        return await self._attempt(address, lambda to: change(to.api, address, platform_id, text), platform_id)

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a sent message; one that is gone already is deleted."""
        which = which_message(address, platform_id)
        return await self._attempt(address, lambda to: to.api.call("deleteMessage", **which), platform_id)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None removes the reaction."""
        plain = None if emoji is None else emoji.replace("\ufe0f", "")  # as Telegram's list has them
        which = which_message(address, platform_id) | {"reaction": [{"type": "emoji", "emoji": plain}] if plain else []}
        return await self._attempt(address, lambda to: to.api.call("setMessageReaction", **which), platform_id)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll that shows who voted for what."""

        async def attempt(session: _Session) -> str:
            sent = await session.api.call(
                "sendPoll",
                question=poll.question,
                options=[{"text": each} for each in poll.options],
                is_anonymous=False,
                allows_multiple_answers=poll.multiple,
                **target(poll.address),
            )
            try:
                sent_poll = SentPoll(sent["poll"]["id"], poll.address, poll.options)
                await session.polls.put(sent_poll.id, sent_poll)
            except HubError:
                _log.exception("telegram (%s): a poll is not remembered, and votes will not be heard", self.account)
            return str(sent["message_id"])

        return await self._attempt(poll.address, attempt)

    async def open_thread(self, address: Address, title: str) -> Address:
        """Open a topic; see `CanOpenThread`."""
        made = await self._logged_in.api.call("createForumTopic", name=title, chat_id=int(address.peer))
        return replace(address, thread=str(made["message_thread_id"]), topic=True)

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written, for five seconds; nothing happens when that fails."""
        await self._show("sendChatAction", action="typing", **target(address, with_general=True))

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show the text so far; Telegram has that in direct messages alone."""
        number = zlib.crc32(draft_id.encode()) & 0x7FFFFFFF or 1
        shown = render(text, Flavour.HTML_TELEGRAM)
        await self._show("sendMessageDraft", draft_id=number, text=shown, parse_mode="HTML", **target(address))

    async def publish_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Publish the commands for the menu of the chat."""
        listed = [
            {"command": name, "description": about[:DESCRIPTION_LENGTH]} for name, about in commands[:COMMANDS_LIMIT]
        ]
        if listed != self._published:
            await self._logged_in.api.call("setMyCommands", commands=listed)
            self._published = listed

    def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment in pieces; see `CanFetch`."""
        return self._logged_in.api.fetch(media.reference)

    async def probe(self) -> dict[str, Any]:
        """Return whether Telegram answers, who the bot is, and whether it sees all that is said in groups."""
        try:
            me = await self._logged_in.api.call("getMe")
        except HubError as error:
            return {"ok": False, "error": error.message}
        return {
            "ok": True,
            "account_id": str(me["id"]),
            "name": f"@{me['username']}",
            "reads_groups": me.get("can_read_all_group_messages") is True,
        }

    @property
    def _logged_in(self) -> _Session:
        if self._session is None:
            raise Unavailable("the bot is logged out")
        return self._session

    def _stored(self, update: Json) -> None:
        """Do what follows an update that is stored: a button that was pressed waits for an answer, without fail."""
        if (query := update.get("callback_query")) is not None:
            self._parts.spawn(self._show("answerCallbackQuery", callback_query_id=query["id"]))
        if (new := update.get("message", {}).get("migrate_to_chat_id")) is not None:
            self._parts.migrated(str(update["message"]["chat"]["id"]), str(new))

    async def _show(self, method: str, **arguments: Any) -> None:
        """Do something that does not matter when it fails."""
        with suppress(HubError):
            await self._logged_in.api.call(method, **arguments)

    async def _attempt(self, address: Address, attempt: Callable[[_Session], Awaitable[Any]], id: str = "") -> Delivery:
        """Make one attempt at a new message, or at the one with this id; return how it ended."""

        async def done() -> str:
            try:
                made = await attempt(self._logged_in)
            except PlatformError as error:
                if error.reason is not None:
                    self._parts.migrated(address.peer, str(error.reason))
                raise
            return id or str(made)

        return await delivery_of(done())
