"""Reads Google Chat's events as the hub's messages and events, in the form of Chat apps and in that of add-ons. Pure.

Format: https://developers.google.com/workspace/chat/receive-respond-interactions
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    CommandUsed,
    Inbound,
    InboundMessage,
    Media,
    PollAnswered,
    Quote,
)
from integrations.channels.acknowledging import kind_of

Json = Mapping[str, Any]

BUTTON, POLL, CHOICE = "homarus_button", "homarus_poll", "homarus_choice"
"""Names in our cards."""
_KINDS = {
    "DIRECT_MESSAGE": ChatType.DIRECT,
    "DM": ChatType.DIRECT,
    "GROUP_CHAT": ChatType.GROUP,
    "SPACE": ChatType.CHANNEL,
    "ROOM": ChatType.CHANNEL,
}


class ChatEvent(Struct, frozen=True):
    """An event, in either form.

    Attributes:
        is_addon: Whether it came in the form of add-ons, and is answered in it.
        pressed: The parameters of what was pressed, if anything was.
        inputs: What was filled in beside it.
    """

    user: Json
    space: Json
    message: Json
    time: str
    is_addon: bool = False
    pressed: Json | None = None
    inputs: Json = {}


def event_of(body: Json) -> ChatEvent:
    """Return an event.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Google writes them.
    """
    if "chat" not in body:
        common, message = body.get("common") or {}, body.get("message") or {}
        listed = {each["key"]: each.get("value", "") for each in (body.get("action") or {}).get("parameters") or ()}
        pressed = {**listed, **(common.get("parameters") or {})} if body["type"] == "CARD_CLICKED" else None
        space = body.get("space") or message.get("space") or {}
        inputs = common.get("formInputs") or {}
        return ChatEvent(body.get("user") or {}, space, message, body.get("eventTime") or "", False, pressed, inputs)
    chat, common = body["chat"], body.get("commonEventObject") or {}
    payload: Json = next((value for key, value in chat.items() if key.endswith("Payload")), {})
    message = payload.get("message") or {}
    pressed = (common.get("parameters") or {}) if "buttonClickedPayload" in chat else None
    space = payload.get("space") or message.get("space") or {}
    inputs = common.get("formInputs") or {}
    return ChatEvent(chat.get("user") or {}, space, message, chat.get("eventTime") or "", True, pressed, inputs)


def inbound_of(event: ChatEvent, account: str) -> Iterator[Inbound]:
    """Yield the content of an event; nothing if it is a bot's or irrelevant.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Google writes them.
    """
    message = event.message
    if not message:
        return
    person = event.user if event.pressed is not None else message.get("sender") or event.user
    if person.get("type") == "BOT":
        return
    address, name = address_of(event, account), person.get("displayName")
    by = f"google_chat:user:{person['name'].removeprefix('users/')}"
    if event.pressed is not None:
        id, about = f"{message['name']}:{person['name']}:{event.time}", message["name"]
        if BUTTON in event.pressed:
            yield ButtonPressed(address, id, by, name, message_id=about, value=str(event.pressed[BUTTON]))
        elif POLL in event.pressed:
            chosen = ((event.inputs.get(CHOICE) or {}).get("stringInputs") or {}).get("value") or ()
            yield PollAnswered(address, id, by, name, poll_id=about, numbers=tuple(int(each) for each in chosen))
        return
    annotations = message.get("annotations") or ()
    command = next((each["slashCommand"] for each in annotations if each.get("type") == "SLASH_COMMAND"), None)
    arguments = str(message.get("argumentText") or "").strip()
    if command is not None and command.get("commandName"):
        yield CommandUsed(
            address, message["name"], by, name, name=command["commandName"].lstrip("/"), arguments=arguments
        )
        return
    yield _message(event, address, by, name)


def address_of(event: ChatEvent, account: str) -> Address:
    """Return where something happened; only an answer in a thread belongs to it."""
    space, message = event.space, event.message
    kind = _KINDS[space.get("spaceType") or space["type"]]
    thread = (message.get("thread") or {}).get("name") if message.get("threadReply") else None
    return Address("google_chat", space["name"], account, kind, thread=thread if kind is ChatType.CHANNEL else None)


def _message(event: ChatEvent, address: Address, by: str, name: str | None) -> InboundMessage:
    message = event.message
    quoted = message.get("quotedMessageMetadata") or {}
    words = (quoted.get("quotedMessageSnapshot") or {}).get("text")
    direct = address.chat_type is ChatType.DIRECT
    mentions = [each.get("userMention") or {} for each in message.get("annotations") or ()]
    argument = message.get("argumentText")
    return InboundMessage(
        address,
        message["name"],
        by,
        str(message.get("text") or "" if argument is None else argument).strip(),
        sender_name=name,
        mentioned=direct or any((each.get("user") or {}).get("type") == "BOT" for each in mentions),
        sent_at=datetime.fromisoformat(message["createTime"]).timestamp() if message.get("createTime") else None,
        media=tuple(_media(each) for each in message.get("attachment") or ()),
        reply_to=quoted.get("name"),
        quoted=Quote(str(words)) if words else None,
        group_name=None if direct else event.space.get("displayName") or None,
    )


def _media(attachment: Json) -> Media:
    mime = attachment.get("contentType") or None
    reference = (attachment.get("attachmentDataRef") or {}).get("resourceName") or ""
    return Media(kind_of(mime), reference, mime, attachment.get("contentName"))
