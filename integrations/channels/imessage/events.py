"""Reads the messages of BlueBubbles as the hub's messages and events. Pure.

Format: https://github.com/BlueBubblesApp/bluebubbles-server (MessageSerializer)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    ChatType,
    Inbound,
    InboundMessage,
    Media,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    ReactionChanged,
)
from integrations.channels.acknowledging import kind_of

Json = Mapping[str, Any]

NAME = "imessage"
TAPBACKS = {"love": "❤️", "like": "👍", "dislike": "👎", "laugh": "😂", "emphasize": "‼️", "question": "❓"}
_NUMBERED = dict(zip(range(2000, 2006), TAPBACKS, strict=True))
_ABOUT = re.compile(r"^(?:p:\d+/|bp:)?(.+)$")
_OBJECT = "\ufffc"
"""What Messages writes into the text where an attachment is."""
PARTICIPANT_CHANGED, GROUP_RENAMED, LEFT = 1, 2, 3
UPDATED = "updated-message"


class Reading(Struct, frozen=True):
    """What is known where a message is read.

    Attributes:
        account: The configured name of the account.
        names: Words that address the assistant in a group.
        sent: Guids of the assistant's own messages.
    """

    account: str
    names: Sequence[str] = ()
    sent: Collection[str] = ()


def inbound_of(message: Json, known: Reading, event: str = "") -> Inbound | None:
    """Return the hub's message for a platform message; None if it is irrelevant or the account's own.

    Args:
        event: The event that a webhook delivered it with.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as BlueBubbles writes them.
    """
    handle, chats = message.get("handle"), message.get("chats") or ()
    if message.get("isFromMe") or not handle or not chats:
        return None
    chat = chats[0]
    sender, address = f"{NAME}:{_kind(handle, chat)}:{handle['address']}", address_of(chat["guid"], known.account)
    guid = str(message["guid"])
    if message.get("itemType") in (PARTICIPANT_CHANGED, LEFT):
        joined = message["itemType"] == PARTICIPANT_CHANGED and message.get("groupActionType") == 0
        member = message.get("otherHandleAddress") or handle["address"]
        return MembershipChanged(address, guid, sender, member=f"{NAME}:user:{member}", joined=joined)
    if message.get("itemType"):
        return None
    if about := message.get("associatedMessageGuid"):
        return _tapback(message, str(about), address, guid, sender)
    if event == UPDATED:
        return _update(message, address, guid, sender)
    text = str(message.get("text") or "").replace(_OBJECT, "").strip()
    media = tuple(_media(each, message) for each in message.get("attachments") or () if not each.get("hideAttachment"))
    if not text and not media:
        return None  # a row that Messages left behind
    replies_to = message.get("threadOriginatorGuid") or None
    named, text = _addressed(text, known.names)
    return InboundMessage(
        address,
        guid,
        sender,
        text,
        mentioned=address.chat_type is ChatType.DIRECT or named or replies_to in known.sent,
        sent_at=message["dateCreated"] / 1000 if message.get("dateCreated") else None,
        media=media,
        reply_to=replies_to,
        group_name=chat.get("displayName") or None,
    )


def address_of(chat_guid: str, account: str) -> Address:
    """Return the address of a chat."""
    group = ";+;" in chat_guid
    return Address(NAME, chat_guid, account, chat_type=ChatType.GROUP if group else ChatType.DIRECT)


def chat_of(peer: str) -> str:
    """Return the chat's guid for an address; a number or mail address alone is somebody on iMessage."""
    return peer if ";" in peer else f"iMessage;-;{peer}"


def _kind(handle: Json, chat: Json) -> str:
    """Return the kind of an identity: the sender of an SMS can be forged, and is nobody who was let in on iMessage."""
    services = {str(handle.get("service") or "any"), str(chat["guid"]).partition(";")[0]} - {"any"}
    return "user" if services and services <= {"iMessage", "iMessageLite"} else "sms"


def _tapback(message: Json, about: str, address: Address, guid: str, sender: str) -> Inbound | None:
    told = str(message.get("associatedMessageType") or "")
    if told.isdigit():
        number = int(told)
        name, added = _NUMBERED.get(number if number < 3000 else number - 1000), number < 3000
    else:
        name, added = told.removeprefix("-"), not told.startswith("-")
    emoji = message.get("associatedMessageEmoji") or TAPBACKS.get(name or "")
    found = _ABOUT.match(about)
    if emoji is None or found is None:
        return None
    return ReactionChanged(address, guid, sender, message_id=found[1], emoji=str(emoji), added=added)


def _update(message: Json, address: Address, guid: str, sender: str) -> Inbound | None:
    if retracted := message.get("dateRetracted"):
        return MessageDeleted(address, f"{guid}:{retracted}", sender, message_id=guid)
    if edited := message.get("dateEdited"):
        text = str(message.get("text") or "")
        return MessageEdited(address, f"{guid}:{edited}", sender, message_id=guid, text=text)
    return None  # it was read, or delivered


def _addressed(text: str, names: Sequence[str]) -> tuple[bool, str]:
    """Return whether a text names the assistant, and the text without a name that it begins with."""
    for name in names:
        if found := re.search(rf"(?<!\w)@?{re.escape(name)}(?!\w)", text, re.IGNORECASE):
            rest = text[found.end() :].lstrip(" ,:") if found.start() == 0 else text
            return True, rest or text
    return False, text


def _media(attachment: Json, message: Json) -> Media:
    mime = attachment.get("mimeType") or None
    return Media(
        kind_of(mime),
        attachment["guid"],
        mime,
        attachment.get("transferName") or None,
        attachment.get("totalBytes") or None,
        voice=bool(message.get("isAudioMessage")),
    )
