"""Reads what DingTalk's robot is told as the hub's messages. Pure.

Source: https://open.dingtalk.com/document/orgapp/receive-message
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.messaging.contract import Address, ChatType, InboundMessage, Media, MediaKind, Quote

Json = Mapping[str, Any]

DIRECT = "1"
_MEDIA = {
    "picture": MediaKind.IMAGE,
    "audio": MediaKind.AUDIO,
    "video": MediaKind.VIDEO,
    "file": MediaKind.FILE,
}


class SessionWebhook(Struct, frozen=True):
    """An address that a conversation is answered at for a while.

    Attributes:
        until: Seconds since the epoch.
    """

    url: str
    until: float


def message_of(data: Json, account: str) -> InboundMessage:
    """Return a message to the robot.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as DingTalk writes them.
    """
    kind, content = data["msgtype"], data.get("content") or {}
    person = data.get("senderStaffId") or data["senderId"]
    direct = str(data["conversationType"]) == DIRECT
    text = data.get("text") or {}
    replied = text.get("repliedMsg") or {}
    return InboundMessage(
        Address("dingtalk", person, account)
        if direct
        else Address("dingtalk", data["conversationId"], account, chat_type=ChatType.GROUP),
        data["msgId"],
        f"dingtalk:user:{person}",
        _text(kind, text, content),
        sender_name=data.get("senderNick"),
        mentioned=direct or bool(data.get("isInAtList")),
        sent_at=float(data["createAt"]) / 1000 if data.get("createAt") else None,
        media=_media(kind, content),
        reply_to=replied.get("msgId"),
        quoted=_quote(replied),
        group_name=None if direct else data.get("conversationTitle"),
    )


def session_of(data: Json) -> SessionWebhook | None:
    """Return where the conversation of a message is answered at."""
    url, until = data.get("sessionWebhook"), data.get("sessionWebhookExpiredTime")
    return SessionWebhook(str(url), float(until) / 1000) if url and until else None


def _text(kind: str, text: Json, content: Json) -> str:
    match kind:
        case "text":
            return str(text["content"]).strip()
        case "richText":
            return "".join(str(each.get("text") or "") for each in _parts(content)).strip()
        case "audio":
            return str(content.get("recognition") or "")
        case "picture" | "video" | "file":
            return ""
    return f"(a message of the kind {kind!r}, without its content)"


def _parts(content: Json) -> Sequence[Json]:
    found: Sequence[Json] = content.get("richText") or ()
    return found


def _media(kind: str, content: Json) -> tuple[Media, ...]:
    if kind == "richText":
        return tuple(
            Media(MediaKind.IMAGE, each["downloadCode"]) for each in _parts(content) if each.get("type") == "picture"
        )
    if kind not in _MEDIA:
        return ()
    is_voice = kind == "audio"
    duration = content.get("duration")
    return (
        Media(
            _MEDIA[kind],
            content["downloadCode"],
            mime_type="audio/amr" if is_voice else None,
            name=content.get("fileName"),
            duration_s=float(duration) / (1000 if is_voice else 1) if duration else None,
            voice=is_voice,
        ),
    )


def _quote(replied: Json) -> Quote | None:
    content = replied.get("content")
    text = content.get("text") if isinstance(content, Mapping) else None
    return Quote(text) if isinstance(text, str) and text else None
