"""Updates of the Bot API, from JSON to messages and events. Pure.

Format: https://core.telegram.org/bots/api#update
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

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
from integrations.channels.persistent_map import PersistentMap

Json = Mapping[str, Any]

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


class Me(Struct, frozen=True):
    """The bot itself."""

    id: int
    username: str


class SentPoll(Struct, frozen=True):
    """A poll that was sent: who votes names the poll, and not the chat that it is in."""

    id: str
    address: Address
    options: tuple[str, ...]
    message_id: str = ""


class UpdateReader:
    """Reads the updates of one bot.

    Args:
        account: What the configuration calls the account.
        me: The bot.
        buttons: Know the values of the buttons that were sent.
        polls: Know the chats of the polls that were sent.
    """

    def __init__(self, account: str, me: Me, buttons: ButtonValues, polls: PersistentMap[SentPoll]) -> None:
        self._account = account
        self._me = me
        self._buttons = buttons
        self._polls = polls
        self._addressed_albums: deque[str] = deque(maxlen=ALBUMS_KEPT)

    def read(self, update: Json) -> list[Inbound]:
        """Return the messages and events in an update; none when it is our own, a bot's, or means nothing here.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: It is not an update.
        """
        number = update["update_id"]
        for kind, body in update.items():
            match kind:
                case "message" | "channel_post":
                    return self._message(body)
                case "edited_message" | "edited_channel_post":
                    return self._edit(body, number)
                case "message_reaction":
                    return self._reactions(body, number)
                case "callback_query":
                    return self._button(body)
                case "poll_answer":
                    return self._vote(body, number)
                case "my_chat_member":
                    return self._membership(body, number)
        return []

    def _message(self, message: Json) -> list[Inbound]:
        sender = self._sender(message)
        if sender is None or message.get("is_automatic_forward"):
            return []  # a post of a linked channel is heard there
        if "new_chat_members" in message or "left_chat_member" in message:
            return self._members(message, sender)
        text, commanded = self._command(message)
        if commanded is False:
            return []  # it is for another bot
        address = self._address(message)
        reply = message.get("reply_to_message")
        ours = reply is not None and "forum_topic_created" in reply and reply.get("from", {}).get("id") == self._me.id
        if reply is not None and _opens_topic(message, reply):
            reply = None
        album, location, contact = (message.get(each) for each in ("media_group_id", "location", "contact"))
        mentioned = address.chat_type is ChatType.DIRECT or commanded or ours or self._addressed(message, reply)
        if album is not None and mentioned:
            self._addressed_albums.append(album)
        read = InboundMessage(
            address,
            str(message["message_id"]),
            sender,
            text,
            sender_name=_name(message.get("from") or message.get("sender_chat")),
            mentioned=mentioned or album in self._addressed_albums,
            sent_at=float(message["date"]),
            media=_media(message),
            location=None if location is None else _location(location, message.get("venue")),
            contacts=() if contact is None else (Contact(_name(contact) or "", contact.get("phone_number")),),
            reply_to=None if reply is None else str(reply["message_id"]),
            quoted=_quote(message, reply),
            group_name=message["chat"].get("title"),
            album=album,
        )
        return [read] if read.text or read.media or read.location or read.contacts else []

    def _edit(self, message: Json, number: int) -> list[Inbound]:
        sender = self._sender(message)
        if sender is None or not ("text" in message or "caption" in message):
            return []  # a live location moves
        id = str(message["message_id"])
        event_id = f"edit:{id}:{message.get('edit_date', message['date'])}:{number}"
        text, _ = self._command(message)
        return [MessageEdited(self._address(message), event_id, sender, message_id=id, text=text)]

    def _reactions(self, changed: Json, number: int) -> list[Inbound]:
        sender = _identity(changed.get("user"), changed.get("actor_chat"))
        if sender is None:
            return []
        before = [_emoji(each) for each in changed["old_reaction"]]
        after = [_emoji(each) for each in changed["new_reaction"]]
        both = [(each, False) for each in before if each not in after]
        both += [(each, True) for each in after if each not in before]
        id = str(changed["message_id"])
        address, name = self._address(changed), _name(changed.get("user") or changed.get("actor_chat"))
        return [
            ReactionChanged(
                address, f"reaction:{number}:{changed['date']}:{n}", sender, name, message_id=id, emoji=e, added=a
            )
            for n, (e, a) in enumerate(both)
        ]

    def _button(self, query: Json) -> list[Inbound]:
        message = query.get("message")
        sender = _identity(query["from"])
        if message is None or sender is None or "data" not in query:
            return []
        value = self._buttons.value_of(query["data"])
        id, name = str(message["message_id"]), _name(query["from"])
        event_id = f"button:{query['id']}"
        return [ButtonPressed(self._address(message), event_id, sender, name, message_id=id, value=value)]

    def _vote(self, answer: Json, number: int) -> list[Inbound]:
        poll = self._polls.get(answer["poll_id"])
        sender = _identity(answer.get("user"), answer.get("voter_chat"))
        if poll is None or sender is None:
            return []  # a poll that is not ours, or is long forgotten
        choices = tuple(poll.options[each] for each in answer["option_ids"] if each < len(poll.options))
        address = replace(poll.address, account=self._account)
        name, message = _name(answer.get("user") or answer.get("voter_chat")), poll.message_id or poll.id
        event_id = f"vote:{poll.id}:{number}"
        return [PollAnswered(address, event_id, sender, name, poll_id=message, choices=choices)]

    def _membership(self, changed: Json, number: int) -> list[Inbound]:
        sender = _identity(changed["from"])
        before, after = (changed[each]["status"] in _AWAY for each in ("old_chat_member", "new_chat_member"))
        if sender is None or before == after:
            return []
        event_id = f"member:{number}:{changed['date']}"
        mine = f"{NAME}:user:{self._me.id}"
        return [MembershipChanged(self._address(changed), event_id, sender, member=mine, joined=before)]

    def _members(self, message: Json, sender: str) -> list[Inbound]:
        joined = [(each, True) for each in message.get("new_chat_members", ())]
        left = [(message["left_chat_member"], False)] if "left_chat_member" in message else []
        address = self._address(message)
        return [
            MembershipChanged(
                address,
                f"member:{message['message_id']}:{who['id']}",
                sender,
                member=f"{NAME}:user:{who['id']}",
                joined=j,
            )
            for who, j in joined + left
            if who["id"] != self._me.id  # that comes as my_chat_member
        ]

    def _sender(self, message: Json) -> str | None:
        if message.get("from", {}).get("id") == self._me.id:
            return None
        return _identity(message.get("from"), message.get("sender_chat"))

    def _address(self, message: Json) -> Address:
        chat = message["chat"]
        topic = message.get("message_thread_id") if message.get("is_topic_message") else None
        return Address(
            NAME,
            str(chat["id"]),
            self._account,
            _TYPES.get(chat["type"], ChatType.GROUP),
            None if topic is None else str(topic),
            topic=topic is not None,
        )

    def _command(self, message: Json) -> tuple[str, bool | None]:
        """Return the text, and whether it is a command for me (True) or another bot (False); None when it is none."""
        text = str(message.get("text") or message.get("caption") or _poll_text(message.get("poll")))
        for entity in _entities(message):
            if entity["type"] == "bot_command" and entity["offset"] == 0:
                command = _part(text, entity)
                name, at, bot = command.partition("@")
                if at and bot.lower() != self._me.username.lower():
                    return text, False
                return name + text[len(command) :], True
        return text, None

    def _addressed(self, message: Json, reply: Json | None) -> bool:
        if reply is not None and reply.get("from", {}).get("id") == self._me.id:
            return True
        text = message.get("text") or message.get("caption") or ""
        for entity in _entities(message):
            if entity["type"] == "text_mention" and entity["user"]["id"] == self._me.id:
                return True
            if entity["type"] == "mention" and _part(text, entity).lower() == f"@{self._me.username.lower()}":
                return True
        return False


def _identity(user: Json | None, chat: Json | None = None) -> str | None:
    """Return a typed identity; an anonymous administrator and a channel are the chat they speak for."""
    if chat is not None:
        return f"{NAME}:chat:{chat['id']}"
    if user is None or user.get("is_bot"):
        return None
    return f"{NAME}:user:{user['id']}"


def _entities(message: Json) -> Sequence[Json]:
    found: Sequence[Json] = message.get("entities") or message.get("caption_entities") or ()
    return found


def _part(text: str, entity: Json) -> str:
    """Return the text of an entity, whose position counts UTF-16 units."""
    units = text.encode("utf-16-le")
    start = 2 * int(entity["offset"])
    return units[start : start + 2 * int(entity["length"])].decode("utf-16-le", "replace")


def _opens_topic(message: Json, reply: Json) -> bool:
    """Whether a reply is none: each message of a topic refers to the one that opened it."""
    return "forum_topic_created" in reply or (
        bool(message.get("is_topic_message")) and reply["message_id"] == message.get("message_thread_id")
    )


def _name(who: Json | None) -> str | None:
    if who is None:
        return None
    return " ".join(filter(None, (who.get("first_name"), who.get("last_name")))) or who.get("title")


def _quote(message: Json, reply: Json | None) -> Quote | None:
    told = message.get("quote") or reply or {}
    text = told.get("text") or told.get("caption")
    return Quote(text, _identity(reply.get("from"), reply.get("sender_chat")) if reply else None) if text else None


def _media(message: Json) -> tuple[Media, ...]:
    if message.get("photo"):
        largest = max(message["photo"], key=lambda size: (size["width"] * size["height"], size.get("file_size", 0)))
        return (Media(MediaKind.IMAGE, largest["file_id"], "image/jpeg", size_bytes=largest.get("file_size")),)
    for name, kind in _FILES.items():  # an animation is a document too; it comes first
        if (file := message.get(name)) is not None:
            return (
                Media(
                    kind,
                    file["file_id"],
                    file.get("mime_type"),
                    file.get("file_name") or file.get("emoji"),
                    file.get("file_size"),
                    file.get("duration"),
                    voice=name == "voice",
                ),
            )
    return ()


def _location(location: Json, venue: Json | None) -> SharedLocation:
    return SharedLocation(location["latitude"], location["longitude"], (venue or {}).get("title"))


def _emoji(reaction: Json) -> str:
    return str(reaction.get("emoji") or reaction.get("custom_emoji_id") or "⭐")


def _poll_text(poll: Json | None) -> str:
    return "" if poll is None else "\n- ".join([poll["question"], *(each["text"] for each in poll["options"])])
