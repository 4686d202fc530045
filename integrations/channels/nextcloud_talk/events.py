"""Reads Talk's messages as the hub's. Pure.

Source: https://nextcloud-talk.readthedocs.io/en/latest/chat/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    ChatType,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    PollAnswered,
    Quote,
    ReactionChanged,
    SharedLocation,
)
from integrations.channels.acknowledging import kind_of
from integrations.channels.nextcloud_talk.api import file

Json = Mapping[str, Any]

ONE_TO_ONE = 1
TALKED_IN = frozenset({ONE_TO_ONE, 2, 3})
"""Types of conversations with others in them: with one person, with a group, and with everybody who has the link."""
WRITERS = {"users": "user", "guests": "guest", "emails": "guest", "federated_users": "federated"}
"""Kinds of people, by Talk's; programs and bridges, which can take any name, are not read."""
WRITTEN = frozenset({"comment", "voice-message", "object_shared"})
FILE = "file"
"""Where a message names a file that Nextcloud shared; in other places people put whatever path they like."""

_PLACE = re.compile(r"\{([\w-]+)\}")


class TalkSelf(Struct, frozen=True):
    """The account.

    Attributes:
        id: Id of its user, which need not be the name to sign in with.
        home: Names its Nextcloud; see `home_of`.
    """

    id: str
    name: str
    home: str

    @property
    def account_id(self) -> str:
        """Names it among all Nextclouds."""
        return f"{self.id}@{self.home}"


def home_of(url: str) -> str:
    """Return what tells a Nextcloud from all others, also on one host: the same user name on another is somebody else.

    That is its host and folder, and its port where that is another one than HTTPS has.
    """
    parts = urlsplit(url)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}{'' if port == 443 else f':{port}'}{parts.path.rstrip('/')}"


class TalkRoom(Struct, frozen=True):
    """A conversation.

    Attributes:
        person: User id of the other side of a conversation with one person.
        last: Id of the newest message.
        seen: Id of the last message that Talk marks as read.
    """

    token: str
    type: int
    name: str
    person: str | None
    last: int
    seen: int
    is_read_only: bool

    def address(self, account: str, thread: str | None = None) -> Address:
        """Return its address; conversations with one person go by the person."""
        if self.person is not None:
            return Address("nextcloud_talk", self.person, account, thread=thread)
        return Address("nextcloud_talk", self.token, account, chat_type=ChatType.GROUP, thread=thread)


def room_of(room: Json) -> TalkRoom:
    """Return a conversation of the list.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Talk writes them.
    """
    last = room.get("lastMessage") or {}
    return TalkRoom(
        room["token"],
        room["type"],
        room.get("displayName") or room["name"],
        room["name"] if room["type"] == ONE_TO_ONE else None,
        int(last.get("id") or 0) if isinstance(last, dict) else 0,
        int(room.get("lastReadMessage") or 0),
        bool(room.get("readOnly")),
    )


def of_message(message: Json, room: TalkRoom, me: TalkSelf, account: str) -> Inbound | None:
    """Return what a message says; None when it is the account's own, a program's, or a notice.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Talk writes them.
    """
    kind, id = message["actorType"], str(message["id"])
    if kind not in WRITERS or (kind, message["actorId"]) == ("users", me.id):
        return None
    sender, name = _typed(kind, message["actorId"], me), message.get("actorDisplayName") or None
    address, parent = room.address(account, _thread(message)), message.get("parent") or {}
    about = str(parent["id"]) if parent.get("id") else None
    match message.get("systemMessage") or "":
        case "":
            return _written(message, room, me, account) if message.get("messageType") in WRITTEN else None
        case "message_edited" if about is not None:
            return MessageEdited(address, id, sender, name, message_id=about, text=_text(parent, me))
        case "message_deleted" if about is not None:
            return MessageDeleted(address, id, sender, name, message_id=about)
        case "reaction" if about is not None:
            return ReactionChanged(address, id, sender, name, message_id=about, emoji=message["message"])
        case "user_added" | "user_removed" as what:
            member = _typed("users", _parameters(message)["user"]["id"], me)
            return MembershipChanged(address, id, sender, name, member=member, joined=what == "user_added")
    return None


def _written(message: Json, room: TalkRoom, me: TalkSelf, account: str) -> InboundMessage:
    parameters, parent = _parameters(message), message.get("parent") or {}
    answered = (parent.get("actorType"), parent.get("actorId")) == ("users", me.id)
    return InboundMessage(
        room.address(account, thread := _thread(message)),
        str(message["id"]),
        _typed(message["actorType"], message["actorId"], me),
        _text(message, me),
        sender_name=message.get("actorDisplayName") or None,
        mentioned=room.person is not None or answered or any(_is_me(each, me) for each in parameters.values()),
        sent_at=float(message["timestamp"]),
        media=tuple(_media(each, message, me) for key, each in parameters.items() if _is_file(key, each)),
        location=next((_location(each) for each in parameters.values() if each.get("type") == "geo-location"), None),
        reply_to=str(parent["id"]) if parent.get("id") else None,
        quoted=_quote(parent, me),
        group_name=None if room.person is not None else room.name,
        topic_name=message.get("threadTitle") if thread else None,
    )


def of_votes(notice: Json, poll: Json, room: TalkRoom, me: TalkSelf, account: str) -> list[PollAnswered]:
    """Return who voted for what in a poll that was closed, which is when Talk tells it.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Talk writes them.
    """
    votes: dict[str, tuple[str | None, list[int]]] = {}
    for each in poll.get("details") or ():
        if (kind := each["actorType"]) in WRITERS and (kind, each["actorId"]) != ("users", me.id):
            name = each.get("actorDisplayName") or None
            votes.setdefault(_typed(kind, each["actorId"], me), (name, []))[1].append(int(each["optionId"]))
    address, id = room.address(account, _thread(notice)), poll_name(poll["id"])
    return [
        PollAnswered(address, f"{notice['id']}/{sender}", sender, name, poll_id=id, numbers=tuple(sorted(numbers)))
        for sender, (name, numbers) in votes.items()
    ]


def closed_poll(message: Json) -> str | None:
    """Return the id of the poll that a message says was closed."""
    if message.get("systemMessage") != "poll_closed":
        return None
    return str(_parameters(message)["poll"]["id"])


def poll_name(id: object) -> str:
    """Return what a poll is called here, beside the id of the message that shows it."""
    return f"poll:{id}"


def is_poll(message: Json, id: str) -> bool:
    """Whether a message shows a poll."""
    shown = _parameters(message).get("object") or {}
    return (shown.get("type"), str(shown.get("id"))) == ("talk-poll", id)


def _thread(message: Json) -> str | None:
    return str(message["threadId"]) if message.get("isThread") else None


def _typed(kind: str, id: str, me: TalkSelf) -> str:
    """Return the identity of a person: users and guests are known on their Nextcloud alone, others by their own."""
    where = "" if kind == "federated_users" else f"@{me.home}"
    return f"nextcloud_talk:{WRITERS[kind]}:{id}{where}"


def _parameters(message: Json) -> Mapping[str, Json]:
    found = message.get("messageParameters")
    return found if isinstance(found, dict) else {}  # none are an empty list, as PHP has it


def _is_file(key: str, parameter: Json) -> bool:
    return key == FILE and parameter.get("type") == "file"


def _is_me(parameter: Json, me: TalkSelf) -> bool:
    return (parameter.get("type"), parameter.get("id")) == ("user", me.id)


def _text(message: Json, me: TalkSelf) -> str:
    """The text with names in place of what it refers to, without a mention of the account at its beginning."""
    parameters = _parameters(message)

    def in_words(found: re.Match[str]) -> str:
        parameter = parameters.get(found[1])
        if parameter is None:
            return found[0]
        kind, name = parameter.get("type"), str(parameter.get("name") or "")
        if kind == "geo-location" or _is_file(found[1], parameter):
            return ""
        return f"@{name}" if kind in ("user", "guest", "call", "user-group", "circle", "email") else name

    raw = str(message.get("message") or "")
    first = _PLACE.match(text := raw.lstrip())
    if first and _is_me(parameters.get(first[1]) or {}, me):
        text = text[first.end() :].lstrip(" \t\n,:")
    return _PLACE.sub(in_words, text).strip()


def _media(parameter: Json, message: Json, me: TalkSelf) -> Media:
    mime = parameter.get("mimetype") or None
    voice = message.get("messageType") == "voice-message"
    size = parameter.get("size")
    return Media(
        MediaKind.AUDIO if voice else kind_of(mime),
        file(me.id, parameter["path"]),
        mime_type=mime,
        name=parameter.get("name"),
        size_bytes=int(size) if size else None,
        voice=voice,
    )


def _location(parameter: Json) -> SharedLocation:
    name = parameter.get("name") or None
    return SharedLocation(float(parameter["latitude"]), float(parameter["longitude"]), name)


def _quote(parent: Json, me: TalkSelf) -> Quote | None:
    if not parent.get("message") or parent.get("deleted"):
        return None
    kind = parent.get("actorType")
    return Quote(_text(parent, me), _typed(kind, parent["actorId"], me) if kind in WRITERS else None)


def path_of(token: str) -> str:
    """Return a conversation's id as a part of an address."""
    return quote(token, safe="")
