"""Matrix events as the hub's messages and events: a pure reading of what a room's timeline holds.

Formats: the client-server API of spec.matrix.org, and MSC3381 (polls) and MSC3245 (voice) as clients send them.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.messaging.contract import (
    Address,
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

REMEMBERED = 1_000
"""Events of an account that are remembered, so that a reply, an edit or a redaction shows what it is about."""
QUOTE_CHARS = 2_000
_MEDIA = {
    "m.image": MediaKind.IMAGE,
    "m.audio": MediaKind.AUDIO,
    "m.video": MediaKind.VIDEO,
    "m.file": MediaKind.FILE,
}
_GEO = re.compile(r"geo:(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?)")
_POLL_STARTS = ("m.poll.start", "org.matrix.msc3381.poll.start")
_POLL_ANSWERS = ("m.poll.response", "org.matrix.msc3381.poll.response")
_JOINED = "join"

Content = Mapping[str, Any]


class RoomFacts(Struct, frozen=True):
    """Known facts about the room of an event.

    Attributes:
        address: The room.
        me: Matrix id of the account.
        name: The name of the room, for people; None in a direct chat.
        sender_name: The name of the sender of the event.
        commands: Names that may follow a `!`, since clients keep what begins with a slash for themselves.
    """

    address: Address
    me: str
    name: str | None = None
    sender_name: str | None = None
    commands: frozenset[str] = frozenset()

    def identity_of(self, user: str) -> str:
        """Return the identity of a user."""
        return f"{self.address.channel}:user:{user}"


class Remembered(Struct, frozen=True):
    """An earlier event: who sent which text, or which reaction to which event."""

    sender: str
    text: str = ""
    target: str | None = None


class RecentEvents:
    """The latest events of an account, by room and id."""

    def __init__(self) -> None:
        self._events: OrderedDict[tuple[str, str], Remembered] = OrderedDict()

    def keep(self, room: str, event_id: str, event: Remembered) -> None:
        """Remember an event; the oldest is forgotten."""
        self._events[room, event_id] = event
        if len(self._events) > REMEMBERED:
            self._events.popitem(last=False)

    def get(self, room: str, event_id: str) -> Remembered | None:
        """Return an event, if it is remembered."""
        return self._events.get((room, event_id))


def read(event: Content, facts: RoomFacts, recent: RecentEvents) -> Inbound | None:
    """Return the hub's message or event for a timeline event; None if it is irrelevant, or our own."""
    kind, sender, event_id = (_text(event, key) for key in ("type", "sender", "event_id"))
    content = _mapping(event, "content")
    if not (kind and sender and event_id):
        return None
    base: dict[str, Any] = {"address": facts.address, "event_id": event_id, "sender": facts.identity_of(sender)}
    room, name, mine = facts.address.peer, facts.sender_name, sender == facts.me
    if kind in ("m.room.message", "m.sticker", *_POLL_STARTS):
        return _message(event, content, facts, recent)
    if kind == "m.reaction":
        relation = _mapping(content, "m.relates_to")
        target, key = _text(relation, "event_id"), _text(relation, "key")
        if not target or not key:
            return None
        recent.keep(room, event_id, Remembered(sender, key, target))
        return None if mine else ReactionChanged(**base, sender_name=name, message_id=target, emoji=key)
    if mine:
        return None
    if kind == "m.room.redaction":
        redacted = _text(event, "redacts") or _text(content, "redacts")
        before = recent.get(room, redacted)
        if before is not None and before.target is not None:
            base["sender_name"] = name
            return ReactionChanged(**base, message_id=before.target, emoji=before.text, added=False)
        return MessageDeleted(**base, message_id=redacted) if redacted else None
    if kind in _POLL_ANSWERS:
        poll, chosen = _text(_mapping(content, "m.relates_to"), "event_id"), _choices(content)
        if not poll or chosen is None:
            return None
        return PollAnswered(**base, sender_name=name, poll_id=poll, choices=chosen)
    if kind == "m.room.member":
        joined = _text(content, "membership") == _JOINED
        before_it = _mapping(_mapping(event, "unsigned"), "prev_content")
        member = _text(event, "state_key")
        if not member or joined == (_text(before_it, "membership") == _JOINED):
            return None
        return MembershipChanged(**base, member=facts.identity_of(member), joined=joined)
    return None


def _message(event: Content, content: Content, facts: RoomFacts, recent: RecentEvents) -> Inbound | None:
    sender, event_id, room = event["sender"], event["event_id"], facts.address.peer
    relation = _mapping(content, "m.relates_to")
    if _text(relation, "rel_type") == "m.replace":
        return _edit(sender, event_id, content, facts, recent)
    replied = _text(_mapping(relation, "m.in_reply_to"), "event_id") or None
    thread = _text(relation, "event_id") if _text(relation, "rel_type") == "m.thread" else ""
    if thread and relation.get("is_falling_back") is True:
        replied = None
    text = _body(event, content)
    fallback = ""
    if replied and text.startswith("> "):
        fallback, text = _without_fallback(text)
    if text.startswith("!") and text[1:].partition(" ")[0] in facts.commands:
        text = f"/{text[1:]}"
    recent.keep(room, event_id, Remembered(sender, text))
    if sender == facts.me or _text(content, "msgtype") == "m.notice":
        return None
    media = _media(event, content)
    quoted = _quote(room, replied, fallback, facts, recent)
    sent_at = event.get("origin_server_ts")
    return InboundMessage(
        replace(facts.address, thread=thread or None),
        event_id,
        facts.identity_of(sender),
        text,
        sender_name=facts.sender_name,
        mentioned=_mentions(content, facts.me) or (quoted is not None and quoted.sender == facts.identity_of(facts.me)),
        sent_at=sent_at / 1000 if isinstance(sent_at, int) else None,
        media=(media,) if media else (),
        location=_location(content),
        reply_to=replied,
        quoted=quoted,
        group_name=facts.name,
    )


def _edit(sender: str, event_id: str, content: Content, facts: RoomFacts, recent: RecentEvents) -> Inbound | None:
    room, target = facts.address.peer, _text(_mapping(content, "m.relates_to"), "event_id")
    new = _mapping(content, "m.new_content")
    before = recent.get(room, target)
    # The homeserver does not compare the senders.
    if sender == facts.me or not target or not _text(new, "body") or (before is not None and before.sender != sender):
        return None
    recent.keep(room, target, Remembered(sender, _text(new, "body")))
    return MessageEdited(facts.address, event_id, facts.identity_of(sender), message_id=target, text=_text(new, "body"))


def _body(event: Content, content: Content) -> str:
    """Return the text of a message; of media it is the caption, if there is one (MSC2530)."""
    if event["type"] in _POLL_STARTS:
        return _poll_text(event["type"], content)
    if event["type"] == "m.sticker" or _text(content, "msgtype") == "m.location":
        return ""
    body = _text(content, "body")
    if _text(content, "msgtype") in _MEDIA:
        name = _text(content, "filename")
        return body if name and name != body else ""
    return body


def _poll_text(kind: str, content: Content) -> str:
    poll = _mapping(content, kind) or _mapping(content, "m.poll")
    answers = poll.get("answers")
    lines = [_marked(_mapping(poll, "question"))]
    lines += (
        [f"- {_marked(each)}" for each in answers if isinstance(each, Mapping)] if isinstance(answers, list) else []
    )
    return "\n".join(lines).strip()


def _marked(part: Content) -> str:
    """Return the text of a part of a poll, in the older or the newer form."""
    texts = part.get("m.text")
    newer = _text(texts[0], "body") if isinstance(texts, list) and texts and isinstance(texts[0], Mapping) else ""
    return newer or _text(part, "org.matrix.msc1767.text") or _text(part, "body")


def _choices(content: Content) -> tuple[str, ...] | None:
    older = _mapping(content, "org.matrix.msc3381.poll.response").get("answers")
    chosen = content.get("m.selections", older)
    return tuple(each for each in chosen if isinstance(each, str)) if isinstance(chosen, list) else None


def _without_fallback(text: str) -> tuple[str, str]:
    """Return the quotation at the beginning of a reply, as older clients write it, and what follows it."""
    lines = text.split("\n")
    count = next((number for number, line in enumerate(lines) if not line.startswith("> ")), len(lines))
    quoted = "\n".join(line[2:] for line in lines[:count])
    return re.sub(r"^(\* )?<[^>]*> ?", "", quoted), "\n".join(lines[count:]).lstrip("\n")


def _quote(room: str, replied: str | None, fallback: str, facts: RoomFacts, recent: RecentEvents) -> Quote | None:
    if replied is None:
        return None
    known = recent.get(room, replied)
    if known is not None:
        return Quote(known.text[:QUOTE_CHARS], facts.identity_of(known.sender))
    return Quote(fallback[:QUOTE_CHARS]) if fallback else None


def _mentions(content: Content, me: str) -> bool:
    stated = content.get("m.mentions")
    if isinstance(stated, Mapping):
        users = stated.get("user_ids")
        return isinstance(users, list) and me in users
    pill = f'href="https://matrix.to/#/{me}"'
    return me in _text(content, "body") or pill in _text(content, "formatted_body").replace("%40", "@", 1)


def _media(event: Content, content: Content) -> Media | None:
    kind = MediaKind.STICKER if event["type"] == "m.sticker" else _MEDIA.get(_text(content, "msgtype"))
    encrypted, address = _mapping(content, "file"), _text(content, "url")
    if kind is None or not (encrypted or address):
        return None
    info = _mapping(content, "info")
    size, duration = info.get("size"), info.get("duration")
    return Media(
        kind,
        json.dumps(encrypted) if encrypted else address,
        _text(info, "mimetype") or None,
        _text(content, "filename") or _text(content, "body") or None,
        size if isinstance(size, int) else None,
        duration / 1000 if isinstance(duration, int) else None,
        voice=any(key in content for key in ("org.matrix.msc3245.voice", "m.voice")),
    )


def _location(content: Content) -> SharedLocation | None:
    found = _GEO.match(_text(content, "geo_uri"))
    if found is None or _text(content, "msgtype") != "m.location":
        return None
    return SharedLocation(float(found[1]), float(found[2]), _text(content, "body") or None)


def _text(content: Content, key: str) -> str:
    value = content.get(key)
    return value if isinstance(value, str) else ""


def _mapping(content: Content, key: str) -> Content:
    value = content.get(key)
    return value if isinstance(value, Mapping) else {}
