"""Reads Meta's webhooks as the hub's messages and events. Pure.

Format: https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/reference/messages
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    Contact,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MessageDeleted,
    MessageEdited,
    Quote,
    ReactionChanged,
    SharedLocation,
)

Json = Mapping[str, Any]

_MEDIA = {
    "image": MediaKind.IMAGE,
    "video": MediaKind.VIDEO,
    "audio": MediaKind.AUDIO,
    "document": MediaKind.FILE,
    "sticker": MediaKind.STICKER,
}


def inbound_of(
    message: Json, contacts: Sequence[Json], account: str, sent: Callable[[str], str | None]
) -> Inbound | None:
    """Return the hub's message for a platform message; None if it is irrelevant.

    Args:
        message: One of `messages`.
        contacts: The senders of the messages beside it.
        account: The configured name of the account.
        sent: Returns the message with an id.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Meta writes them.
    """
    kind, id = message["type"], message["id"]
    passed_on = message.get("unsupported") or {}
    if kind == "system" or "group_id" in message or (kind == "unsupported" and passed_on.get("type") == "edit"):
        return None
    contact = _contact_of(message, contacts)
    person = message.get("from_user_id") or contact.get("user_id") or contact.get("wa_id") or message["from"]
    address, sender = Address("whatsapp", person, account), f"whatsapp:user:{person}"
    name = (contact.get("profile") or {}).get("name")
    body = message.get(kind) or {}
    about = (message.get("context") or {}).get("id")
    match kind:
        case "reaction":
            emoji = body.get("emoji") or ""
            added = bool(emoji)
            return ReactionChanged(address, id, sender, name, message_id=body["message_id"], emoji=emoji, added=added)
        case "interactive":
            pressed = (body.get("button_reply") or body["list_reply"])["id"]
            return ButtonPressed(address, id, sender, name, message_id=about or "", value=pressed)
        case "edit":
            text = _text(body["message"]["type"], body["message"])
            return MessageEdited(address, id, sender, message_id=body["original_message_id"], text=text)
        case "revoke":
            return MessageDeleted(address, id, sender, message_id=body["original_message_id"])
    quoted = sent(about) if about else None
    return InboundMessage(
        address,
        id,
        sender,
        _text(kind, message),
        sender_name=name,
        mentioned=True,
        sent_at=float(message["timestamp"]),
        media=(_media(kind, body),) if kind in _MEDIA else (),
        location=_location(body) if kind == "location" else None,
        contacts=tuple(_card(each) for each in body) if kind == "contacts" else (),
        reply_to=about,
        quoted=Quote(quoted) if quoted else None,
    )


def _contact_of(message: Json, contacts: Sequence[Json]) -> Json:
    ids = {message.get("from"), message.get("from_user_id")} - {None}
    found = next((each for each in contacts if {each.get("wa_id"), each.get("user_id")} & ids), None)
    # Somebody with a user name may have no number, and that of some countries is written in two ways.
    return found or (contacts[0] if len(contacts) == 1 else {})


def _text(kind: str, message: Json) -> str:
    body = message.get(kind) or {}
    match kind:
        case "text":
            return str(body["body"])
        case "button":
            return str(body["text"])
        case "location" | "contacts":
            return ""
    return (
        str(body.get("caption") or "") if kind in _MEDIA else f"(a message of the kind {kind!r}, without its content)"
    )


def _media(kind: str, body: Json) -> Media:
    return Media(_MEDIA[kind], body["id"], body.get("mime_type"), body.get("filename"), voice=bool(body.get("voice")))


def _location(body: Json) -> SharedLocation:
    name = ", ".join(filter(None, (body.get("name"), body.get("address"))))
    return SharedLocation(body["latitude"], body["longitude"], name or None)


def _card(card: Json) -> Contact:
    phone = next((each.get("phone") for each in card.get("phones") or ()), None)
    return Contact((card.get("name") or {}).get("formatted_name") or "unknown", phone)
