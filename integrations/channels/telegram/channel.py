"""Telegram as a channel: one bot."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from telegram import ChatMemberAdministrator, ReactionTypeEmoji, Update, User
from telegram.constants import ChatMemberStatus

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.messaging.capabilities import DirectoryEntry, ListedCommand
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    MediaKind,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.api_channel import ApiChannel
from integrations.channels.button_values import ButtonValues
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.moved_rooms import MovedRooms
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.telegram.api import DONE_ALREADY, TelegramApi
from integrations.channels.telegram.listener import Listener, PollTiming, TelegramWebhook
from integrations.channels.telegram.outgoing import change, send, target, which_message
from integrations.channels.telegram.updates import NAME, SentPoll, UpdateReader, topic_named

_log = logging.getLogger(__name__)

COMMANDS_LIMIT = 100
DESCRIPTION_LENGTH = 256
DATA_BYTES = 64
"""What a button carries at most."""
POLLS_KEPT = 500
TOPICS_KEPT = 500


class TelegramAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    token: Secret
    api_root: str
    webhook: TelegramWebhook | None = None
    groups: Sequence[str] = ()
    """The numbers of the groups that the configuration names."""


class TelegramParts(Struct, frozen=True):
    """The dependencies of the channel.

    Attributes:
        topic_gone: Returns what begins a message whose topic was deleted.
    """

    clock: Clock
    topic_gone: Callable[[], str]


class Telegram(ApiChannel):
    """One bot, logged in."""

    name = NAME
    _api: TelegramApi
    limits = ChannelLimits(
        people_begin=True,
        text=4_096,
        unit=TextUnit.UTF16,
        caption=1_024,
        media=frozenset(MediaKind),
        media_bytes=50_000_000,
        buttons=100,
        markup=Flavour.HTML_TELEGRAM,
    )

    def __init__(self, config: TelegramAccount, parts: TelegramParts, timing: PollTiming | None = None) -> None:
        super().__init__(config.account, parts.clock)
        self._config = config
        self._parts = parts
        self._timing = timing or PollTiming()
        self._listener: Listener | None = None
        self._published: Sequence[tuple[str, str]] = ()

    async def start(self, receive: Receiver) -> None:
        """Start listening; see `Channel`."""
        self._api = TelegramApi(self._config.api_root, self._config.token, self._timing.answer_s)
        self._buttons = ButtonValues(receive, DATA_BYTES)
        self._polls = PersistentMap(receive, "polls", POLLS_KEPT, SentPoll)
        self._topics = PersistentMap(receive, "topics", TOPICS_KEPT, str)
        self._moved = MovedRooms(receive)
        self._listener = Listener(
            self._api,
            self._reader,
            receive,
            stored=self._stored,
            webhook=self._config.webhook,
            clock=self._clock,
            timing=self._timing,
        )
        self._tasks.spawn(self._listener.run(), name="listen")

    async def _reader(self, me: User) -> UpdateReader:
        await self._buttons.load()
        await self._polls.load()
        await self._topics.load()
        await self._moved.load()
        return UpdateReader(self.account, me, self._buttons, self._polls, self._topics, self._moved)

    async def _leave(self) -> None:
        self._listener = None

    async def deliver(self, update: Mapping[str, Any]) -> None:
        """Take an update that Telegram delivered to the webhook.

        Raises:
            ValueError: It is not an update.
            Unavailable: It was not stored; Telegram must deliver it again.
        """
        if not isinstance(update, dict) or not isinstance(update.get("update_id"), int):
            raise ValueError("expected an update with update_id")
        if self._listener is None:
            raise Unavailable("the bot is logged out")
        await self._listener.take([update])

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send one message; see `Channel`."""
        return await self._attempt(message.address, self._send(message))

    async def _send(self, message: OutboundMessage) -> str:
        data = [await self._buttons.payload_of(button.value) for row in message.buttons for button in row]
        message = replace(message, address=self._moved.as_platform(message.address))
        return await send(self._api, message, data, self._parts.topic_gone)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a sent message another text; of one with media it is the caption."""
        return await self._attempt(
            address, change(self._api, self._moved.as_platform(address), platform_id, text), platform_id
        )

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a sent message; one that no longer exists counts as deleted."""
        request = self._api.bot.delete_message(**which_message(self._moved.as_platform(address), platform_id))
        return await self._attempt(address, self._api.call(request), platform_id)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None removes the reaction."""
        plain = None if emoji is None else emoji.replace("\ufe0f", "")  # as Telegram's list has them
        request = self._api.bot.set_message_reaction(
            **which_message(self._moved.as_platform(address), platform_id),
            reaction=[ReactionTypeEmoji(plain)] if plain else [],
        )
        return await self._attempt(address, self._api.call(request), platform_id)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll that shows who voted for what."""
        return await self._attempt(poll.address, self._open_poll(poll))

    async def _open_poll(self, poll: OutboundPoll) -> str:
        request = self._api.bot.send_poll(
            question=poll.question,
            options=poll.options,
            is_anonymous=False,
            allows_multiple_answers=poll.multiple,
            **target(self._moved.as_platform(poll.address)),
        )
        sent = await self._api.call(request)
        try:
            if sent.poll is not None:
                sent_poll = SentPoll(sent.poll.id, poll.address, poll.options, str(sent.message_id))
                await self._polls.put(sent_poll.id, sent_poll)
        except HubError:
            _log.exception("telegram (%s): a poll is not remembered, and votes will not be heard", self.account)
        return str(sent.message_id)

    async def open_thread(self, address: Address, title: str) -> Address:
        """Open a topic; see `CanOpenThread`."""
        made = await self._api.call(self._api.bot.create_forum_topic(int(self._moved.id_now(address.peer)), title))
        return replace(address, thread=str(made.message_thread_id), topic=True)

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written, for five seconds; nothing happens when that fails."""
        where = target(self._moved.as_platform(address), with_general=True)
        await self._show(self._api.bot.send_chat_action(action="typing", **where))

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show the text so far; Telegram has that in direct messages alone."""
        number = zlib.crc32(draft_id.encode()) & 0x7FFFFFFF or 1
        shown = render(text, Flavour.HTML_TELEGRAM)
        draft = {"draft_id": number, "text": shown, "parse_mode": "HTML", **target(address)}
        await self._show(self._api.bot.send_message_draft(**draft))

    async def publish_commands(self, commands: Sequence[ListedCommand]) -> None:
        """Publish the commands for the menu of the chat."""
        listed = [(each.name, each.about[:DESCRIPTION_LENGTH]) for each in commands[:COMMANDS_LIMIT]]
        if listed != self._published:
            await self._api.call(self._api.bot.set_my_commands(listed))
            self._published = listed

    async def _who(self) -> dict[str, Any]:
        """Return who the bot is, whether it sees all that is said in groups, and what it may not do."""
        me = await self._api.call(self._api.bot.get_me())
        reads_groups = me.can_read_all_group_messages is True
        rights, missing = list[str](), list[str]()
        for group in self._config.groups:
            told = await self._rights_in(group, me.id)
            rights += told[0]
            missing += told[1]
        if me.can_join_groups is False:
            missing.append(phrase("It cannot be added to groups; /setjoingroups at @BotFather changes that."))
        if not reads_groups:
            missing.append(
                phrase("In groups it sees only what is written to it; /setprivacy at @BotFather changes that.")
            )
        about = {"account_id": str(me.id), "name": me.name, "reads_groups": reads_groups}
        return {**about, "rights": rights, "missing": missing}

    async def _rights_in(self, group: str, bot_id: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return what the bot may do in a group, and what not."""
        try:
            member = await self._api.call(self._api.bot.get_chat_member(int(self._moved.id_now(group)), bot_id))
        except PlatformError as error:
            if error.status not in (400, 403):
                raise
            return [], [phrase("It is not in the group {group}.", group=group)]
        if member.status in (ChatMemberStatus.LEFT, ChatMemberStatus.BANNED):
            return [], [phrase("It is not in the group {group}.", group=group)]
        if getattr(member, "can_send_messages", True) is False:
            return [], [phrase("It may not write in the group {group}.", group=group)]
        if not isinstance(member, ChatMemberAdministrator):
            return [
                phrase("It writes in the group {group}, where only administrators hear of reactions.", group=group)
            ], []
        topics = [] if member.can_manage_topics else [phrase("It opens no topics in the group {group}.", group=group)]
        return [phrase("It is an administrator of the group {group}.", group=group)], topics

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return groups of the configuration whose name holds a text: Telegram lists nothing to a bot."""
        found = []
        for group in self._config.groups:
            try:
                chat = await self._api.call(self._api.bot.get_chat(int(self._moved.id_now(group))))
            except PlatformError as error:
                if error.status not in (400, 403):
                    raise
                continue  # it is not in there
            if query.casefold() in (chat.title or "").casefold():
                kind = ChatType.CHANNEL if chat.type == "channel" else ChatType.GROUP
                found.append(DirectoryEntry(group, chat.title or "", kind))
        return found[:limit]

    def _stored(self, update: Update, notice: str | None) -> None:
        """Do what follows an update that is stored: a button that was pressed waits for an answer, without fail."""
        if (query := update.callback_query) is not None:
            self._tasks.spawn(self._answer(query.id, notice), name="answer a button")
        if (message := update.message) is not None and message.is_topic_message:
            key, name = topic_named(message)
            if name and name != self._topics.get(key) and (message.forum_topic_edited or self._topics.get(key) is None):
                self._tasks.spawn(self._topics.put(key, name), name="name a topic")

    async def _answer(self, query_id: str, notice: str | None) -> None:
        """Answer a pressed button; the request is made here, since a task that is cancelled may never begin."""
        await self._show(self._api.bot.answer_callback_query(query_id, notice))

    async def _show(self, request: Awaitable[object]) -> None:
        """Do something that does not matter when it fails."""
        with suppress(HubError):
            await self._api.call(request)

    async def _attempt(self, address: Address, attempt: Awaitable[Any], id: str = "") -> Delivery:
        """Make one attempt at a new message, or at the one with this id; return how it ended."""

        async def done() -> str:
            try:
                made = await attempt
            except PlatformError as error:
                if id and any(words in error.message for words in DONE_ALREADY):
                    return id
                if error.reason is not None:  # the group has another id, to which it goes at once
                    await self._moved.move(address.peer, str(error.reason))
                    error.state, error.retry_after_s = DeliveryState.TRANSIENT, 0.1
                raise
            return id or str(made)

        return await delivery_of(done())
