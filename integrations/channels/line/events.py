"""Reads LINE's webhook events as the hub's messages and events. Pure.

Format: https://developers.line.biz/en/reference/messaging-api/#webhook-event-objects
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    Quote,
    SharedLocation,
)

Json = Mapping[str, Any]

_MEDIA = {
    "image": MediaKind.IMAGE,
    "video": MediaKind.VIDEO,
    "audio": MediaKind.AUDIO,
    "file": MediaKind.FILE,
}
_PEERS = {"user": "userId", "group": "groupId", "room": "roomId"}


def inbound_of(event: Json, account: str, sent: Callable[[str], str | None]) -> list[Inbound]:
    """Return what an event is for the hub; nothing if it is irrelevant.

    Args:
        account: The configured name of the account.
        sent: Returns the text of a message of ours, by its id.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as LINE writes them.
    """
    source, id = event["source"], event["webhookEventId"]
    kind = source["type"]
    chat_type = ChatType.DIRECT if kind == "user" else ChatType.GROUP
    address = Address("line", source[_PEERS[kind]], account, chat_type)
    if event["type"] in ("memberJoined", "memberLeft"):
        joined = event["type"] == "memberJoined"
        members = [_identity(each["userId"]) for each in event["joined" if joined else "left"]["members"]]
        return [MembershipChanged(address, f"{id}:{each}", each, member=each, joined=joined) for each in members]
    if "userId" not in source:  # somebody who has not agreed to be known to accounts
        return []
    sender = _identity(source["userId"])
    match event["type"]:
        case "message":
            return [_message(address, sender, event, sent)]
        case "postback":
            row, _, value = event["postback"]["data"].partition(" ")
            return [ButtonPressed(address, id, sender, message_id=row, value=value)]
        case "unsend":
            return [MessageDeleted(address, id, sender, message_id=event["unsend"]["messageId"])]
    return []


def _identity(user: str) -> str:
    return f"line:user:{user}"


def _message(address: Address, sender: str, event: Json, sent: Callable[[str], str | None]) -> InboundMessage:
    message = event["message"]
    kind = message["type"]
    about = message.get("quotedMessageId")
    quoted = sent(about) if about else None
    text, named = _text(kind, message)
    is_external = (message.get("contentProvider") or {}).get("type") == "external"
    return InboundMessage(
        address,
        message["id"],
        sender,
        text,
        mentioned=address.chat_type is ChatType.DIRECT or named or quoted is not None,
        sent_at=float(event["timestamp"]) / 1_000,
        media=(_media(kind, message),) if kind in _MEDIA and not is_external else (),
        location=_location(message) if kind == "location" else None,
        reply_to=about,
        quoted=Quote(quoted) if quoted else None,
        album=(message.get("imageSet") or {}).get("id"),
    )


def _text(kind: str, message: Json) -> tuple[str, bool]:
    """Return the text, without a leading mention of the assistant, and whether it was mentioned."""
    if kind in _MEDIA or kind == "location":
        return "", False
    if kind == "sticker":
        words = message.get("text") or ", ".join(message.get("keywords") or ())
        return f"(a sticker: {words})" if words else "(a sticker)", False
    if kind != "text":
        return f"(a message of the kind {kind!r}, without its content)", False
    text = str(message["text"])
    mentions = [each for each in (message.get("mention") or {}).get("mentionees") or () if each.get("isSelf")]
    if first := next((each for each in mentions if each["index"] == 0), None):
        text = text.encode("utf-16-le")[2 * first["length"] :].decode("utf-16-le").lstrip()
    return text, bool(mentions)


def _media(kind: str, message: Json) -> Media:
    duration = message.get("duration")
    return Media(
        _MEDIA[kind],
        message["id"],
        name=message.get("fileName"),
        size_bytes=message.get("fileSize"),
        duration_s=None if duration is None else duration / 1_000,
        voice=kind == "audio",
    )


def _location(message: Json) -> SharedLocation:
    name = ", ".join(filter(None, (message.get("title"), message.get("address"))))
    return SharedLocation(message["latitude"], message["longitude"], name or None)
