"""Updates of the Bot API, to messages and events. Pure.

Format: https://core.telegram.org/bots/api#update
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from telegram import (
    CallbackQuery,
    Chat,
    ChatMemberUpdated,
    Contact as TelegramContact,
    Location,
    MaybeInaccessibleMessage,
    Message,
    MessageEntity,
    MessageReactionUpdated,
    Poll,
    PollAnswer,
    ReactionType,
    ReactionTypeCustomEmoji,
    ReactionTypeEmoji,
    Update,
    User,
    Venue,
)

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    Contact,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageEdited,
    PollAnswered,
    Quote,
    ReactionChanged,
    SharedLocation,
)
from integrations.channels.button_values import ButtonValues
from integrations.channels.moved_rooms import MovedRooms
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.telegram.api import seconds

NAME = "telegram"
UPDATE_KINDS = (
    *("message", "edited_message", "channel_post", "edited_channel_post"),
    *("message_reaction", "callback_query", "poll_answer", "my_chat_member"),
)
"""The kinds that are asked for; reactions come only to a bot that is an administrator of the group."""
ALBUMS_KEPT = 100
"""Albums with the assistant's name in one caption: it is meant by their other parts too, which come right behind."""
_TYPES = {"private": ChatType.DIRECT, "channel": ChatType.CHANNEL}
_FILES = {
    "animation": MediaKind.VIDEO,
    "audio": MediaKind.AUDIO,
    "document": MediaKind.FILE,
    "sticker": MediaKind.STICKER,
    "video": MediaKind.VIDEO,
    "video_note": MediaKind.VIDEO,
    "voice": MediaKind.AUDIO,
}
_AWAY = frozenset({"left", "kicked"})


class SentPoll(Struct, frozen=True):
    """A poll that was sent: who votes names the poll, and not the chat that it is in."""

    id: str
    address: Address
    options: tuple[str, ...]
    message_id: str = ""


class UpdateReader:
    """Reads the updates of one bot.

    Args:
        account: The configured name of the account.
        me: The bot.
        buttons: Know the values of the buttons that were sent.
        polls: Know the chats of the polls that were sent.
        topics: Know the names of topics by the key of `topic_named`.
    """

    def __init__(
        self,
        account: str,
        me: User,
        buttons: ButtonValues,
        polls: PersistentMap[SentPoll],
        topics: PersistentMap[str],
        moved: MovedRooms,
    ) -> None:
        self._account = account
        self._me = me
        self._at_me = f"@{me.username}".lower()
        self._buttons = buttons
        self._polls = polls
        self._topics = topics
        self._moved = moved
        self._addressed_albums: deque[str] = deque(maxlen=ALBUMS_KEPT)

    async def follow(self, update: Update) -> None:
        """Note that a group became another; Telegram says so in both."""
        if (message := update.message) is not None:
            if (new := message.migrate_to_chat_id) is not None:
                await self._moved.move(str(message.chat.id), str(new))
            if (old := message.migrate_from_chat_id) is not None:
                await self._moved.move(str(old), str(message.chat.id))

    def read(self, update: Update) -> list[Inbound]:
        """Return the messages and events in an update; none when it is our own, a bot's, or means nothing here.

        Raises:
            TypeError, ValueError, AttributeError: It is not as Telegram writes it.
        """
        number = update.update_id
        if message := update.message or update.channel_post:
            return self._message(message)
        if edited := update.edited_message or update.edited_channel_post:
            return self._edit(edited, number)
        if update.message_reaction:
            return self._reactions(update.message_reaction, number)
        if update.callback_query:
            return self._button(update.callback_query)
        if update.poll_answer:
            return self._vote(update.poll_answer, number)
        if update.my_chat_member:
            return self._membership(update.my_chat_member, number)
        return []

    def _message(self, message: Message) -> list[Inbound]:
        sender = self._sender(message)
        if sender is None or message.is_automatic_forward:
            return []  # a post of a linked channel is heard there
        if message.new_chat_members or message.left_chat_member:
            return self._members(message, sender)
        text, commanded = self._command(message)
        if commanded is False:
            return []  # it is for another bot
        address = self._address(message)
        reply, album, contact = message.reply_to_message, message.media_group_id, message.contact
        ours = reply is not None and reply.forum_topic_created is not None and self._is_mine(reply)
        topic = None if address.thread is None else self._topic(message)
        if reply is not None and _opens_topic(message, reply):
            reply = None
        mentioned = address.chat_type is ChatType.DIRECT or commanded or ours or self._addressed(message, reply)
        if album is not None and mentioned:
            self._addressed_albums.append(album)
        read = InboundMessage(
            address,
            str(message.message_id),
            sender,
            text,
            sender_name=_name(message.from_user or message.sender_chat),
            mentioned=mentioned or album in self._addressed_albums,
            sent_at=message.date.timestamp(),
            media=_media(message),
            location=None if message.location is None else _location(message.location, message.venue),
            contacts=() if contact is None else (Contact(_name(contact) or "", contact.phone_number),),
            reply_to=None if reply is None else str(reply.message_id),
            quoted=_quote(message, reply),
            group_name=message.chat.title,
            album=album,
            topic_name=topic,
        )
        return [read] if read.text or read.media or read.location or read.contacts else []

    def _edit(self, message: Message, number: int) -> list[Inbound]:
        sender = self._sender(message)
        if sender is None or (message.text is None and message.caption is None):
            return []  # a live location moves
        id = str(message.message_id)
        edited_at = int((message.edit_date or message.date).timestamp())
        event_id = f"edit:{id}:{edited_at}:{number}"
        text, _ = self._command(message)
        return [MessageEdited(self._address(message), event_id, sender, message_id=id, text=text)]

    def _reactions(self, changed: MessageReactionUpdated, number: int) -> list[Inbound]:
        sender = _identity(changed.user, changed.actor_chat)
        if sender is None:
            return []
        before = [_emoji(each) for each in changed.old_reaction]
        after = [_emoji(each) for each in changed.new_reaction]
        both = [(each, False) for each in before if each not in after]
        both += [(each, True) for each in after if each not in before]
        id, date = str(changed.message_id), int(changed.date.timestamp())
        address, name = self._address(changed), _name(changed.user or changed.actor_chat)
        return [
            ReactionChanged(address, f"reaction:{number}:{date}:{n}", sender, name, message_id=id, emoji=e, added=a)
            for n, (e, a) in enumerate(both)
        ]

    def _button(self, query: CallbackQuery) -> list[Inbound]:
        message = query.message
        sender = _identity(query.from_user)
        if message is None or sender is None or query.data is None:
            return []
        value = self._buttons.value_of(query.data)
        id, name = str(message.message_id), _name(query.from_user)
        event_id = f"button:{query.id}"
        return [ButtonPressed(self._address(message), event_id, sender, name, message_id=id, value=value)]

    def _vote(self, answer: PollAnswer, number: int) -> list[Inbound]:
        poll = self._polls.get(answer.poll_id)
        sender = _identity(answer.user, answer.voter_chat)
        if poll is None or sender is None:
            return []  # a poll that is not ours, or is long forgotten
        choices = tuple(poll.options[each] for each in answer.option_ids if each < len(poll.options))
        address = replace(poll.address, account=self._account)
        name, message = _name(answer.user or answer.voter_chat), poll.message_id or poll.id
        event_id = f"vote:{poll.id}:{number}"
        return [PollAnswered(address, event_id, sender, name, poll_id=message, choices=choices)]

    def _membership(self, changed: ChatMemberUpdated, number: int) -> list[Inbound]:
        sender = _identity(changed.from_user)
        before, after = (each.status in _AWAY for each in (changed.old_chat_member, changed.new_chat_member))
        if sender is None or before == after:
            return []
        event_id = f"member:{number}:{int(changed.date.timestamp())}"
        mine = f"{NAME}:user:{self._me.id}"
        return [MembershipChanged(self._address(changed), event_id, sender, member=mine, joined=before)]

    def _members(self, message: Message, sender: str) -> list[Inbound]:
        joined = [(each, True) for each in message.new_chat_members]
        left = [(message.left_chat_member, False)] if message.left_chat_member else []
        address = self._address(message)
        return [
            MembershipChanged(
                address,
                f"member:{message.message_id}:{who.id}",
                sender,
                member=f"{NAME}:user:{who.id}",
                joined=j,
            )
            for who, j in joined + left
            if who.id != self._me.id  # that comes as my_chat_member
        ]

    def _topic(self, message: Message) -> str | None:
        """Return what the topic of a message is called: as it was last named, else as it was opened."""
        key, opened = topic_named(message)
        return self._topics.get(key) or opened

    def _is_mine(self, message: Message) -> bool:
        return message.from_user is not None and message.from_user.id == self._me.id

    def _sender(self, message: Message) -> str | None:
        return None if self._is_mine(message) else _identity(message.from_user, message.sender_chat)

    def _address(self, message: MaybeInaccessibleMessage | MessageReactionUpdated | ChatMemberUpdated) -> Address:
        topic = message.message_thread_id if isinstance(message, Message) and message.is_topic_message else None
        return Address(
            NAME,
            self._moved.first_id(str(message.chat.id)),
            self._account,
            _TYPES.get(message.chat.type, ChatType.GROUP),
            None if topic is None else str(topic),
            topic=topic is not None,
        )

    def _command(self, message: Message) -> tuple[str, bool | None]:
        """Return the text, and whether it is a command for me (True) or another bot (False); None when it is none."""
        text = str(message.text or message.caption or _poll_text(message.poll))
        for entity in _entities(message):
            if entity.type == MessageEntity.BOT_COMMAND and entity.offset == 0:
                command = _part(text, entity)
                name, at, bot = command.partition("@")
                if at and f"@{bot}".lower() != self._at_me:
                    return text, False
                return name + text[len(command) :], True
        return text, None

    def _addressed(self, message: Message, reply: Message | None) -> bool:
        if reply is not None and self._is_mine(reply):
            return True
        text = message.text or message.caption or ""
        for entity in _entities(message):
            if entity.type == MessageEntity.TEXT_MENTION and entity.user and entity.user.id == self._me.id:
                return True
            if entity.type == MessageEntity.MENTION and _part(text, entity).lower() == self._at_me:
                return True
        return False


def topic_named(message: Message) -> tuple[str, str | None]:
    """Return the key of a message's topic among those of all groups, and the name that the message tells of it."""
    reply = message.reply_to_message
    told = message.forum_topic_edited or message.forum_topic_created or (reply and reply.forum_topic_created)
    return f"{message.chat.id}/{message.message_thread_id}", told.name if told else None


def _identity(user: User | None, chat: Chat | None = None) -> str | None:
    """Return a typed identity; an anonymous administrator and a channel are the chat they speak for."""
    if chat is not None:
        return f"{NAME}:chat:{chat.id}"
    if user is None or user.is_bot:
        return None
    return f"{NAME}:user:{user.id}"


def _entities(message: Message) -> Sequence[MessageEntity]:
    return message.entities or message.caption_entities


def _part(text: str, entity: MessageEntity) -> str:
    """Return the text of an entity, whose position counts UTF-16 units."""
    units = text.encode("utf-16-le")
    start = 2 * entity.offset
    return units[start : start + 2 * entity.length].decode("utf-16-le", "replace")


def _opens_topic(message: Message, reply: Message) -> bool:
    """Whether a reply is none: each message of a topic refers to the one that opened it."""
    return reply.forum_topic_created is not None or (
        bool(message.is_topic_message) and reply.message_id == message.message_thread_id
    )


def _name(who: User | Chat | TelegramContact | None) -> str | None:
    if who is None:
        return None
    return " ".join(filter(None, (who.first_name, who.last_name))) or getattr(who, "title", None)


def _quote(message: Message, reply: Message | None) -> Quote | None:
    text = message.quote.text if message.quote else (reply.text or reply.caption) if reply else None
    return Quote(text, _identity(reply.from_user, reply.sender_chat) if reply else None) if text else None


def _media(message: Message) -> tuple[Media, ...]:
    if message.photo:
        largest = max(message.photo, key=lambda size: (size.width * size.height, size.file_size or 0))
        return (Media(MediaKind.IMAGE, largest.file_id, "image/jpeg", size_bytes=largest.file_size),)
    for name, kind in _FILES.items():  # an animation is a document too; it comes first
        if (file := getattr(message, name)) is not None:
            return (
                Media(
                    kind,
                    file.file_id,
                    getattr(file, "mime_type", None),
                    getattr(file, "file_name", None) or getattr(file, "emoji", None),
                    file.file_size,
                    seconds(getattr(file, "duration", None)),
                    voice=name == "voice",
                ),
            )
    return ()


def _location(location: Location, venue: Venue | None) -> SharedLocation:
    return SharedLocation(location.latitude, location.longitude, venue.title if venue else None)


def _emoji(reaction: ReactionType) -> str:
    if isinstance(reaction, ReactionTypeEmoji):
        return reaction.emoji
    return reaction.custom_emoji_id if isinstance(reaction, ReactionTypeCustomEmoji) else "⭐"


def _poll_text(poll: Poll | None) -> str:
    return "" if poll is None else "\n- ".join([poll.question, *(each.text for each in poll.options)])
