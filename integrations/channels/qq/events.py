"""Reads QQ's events as the hub's messages.

Source: https://bot.q.qq.com/wiki/develop/api-v2/server-inter/message/send-receive/event.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from hub.messaging.contract import Address, ChatType, InboundMessage, Media, MediaKind, Quote
from integrations.channels.acknowledging import kind_of

DIRECT = "C2C_MESSAGE_CREATE"
MENTIONED, OVERHEARD = "GROUP_AT_MESSAGE_CREATE", "GROUP_MESSAGE_CREATE"
QUOTES = 103

_MENTION = re.compile(r"^\s*<@!?(\w+)>\s*")

Json = Mapping[str, Any]


def message_of(event: str, data: Json, account: str) -> InboundMessage | None:
    """Return the message in an event; None for other events, and for what bots write.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as QQ writes them.
    """
    if event not in (DIRECT, MENTIONED, OVERHEARD) or data["author"].get("bot"):
        return None
    author, mentions = data["author"], data.get("mentions") or ()
    if event == DIRECT:
        person = author["user_openid"]
        address = Address("qq", person, account)
    else:
        person = author["member_openid"]
        address = Address("qq", data["group_openid"], account, ChatType.GROUP)
    quoted = _quoted(data)
    return InboundMessage(
        address,
        data["id"],
        f"qq:user:{person}",
        _MENTION.sub("", data.get("content") or "", count=1).strip(),
        sender_name=author.get("username") or None,
        mentioned=event != OVERHEARD or any(each.get("is_you") for each in mentions),
        sent_at=datetime.fromisoformat(data["timestamp"]).timestamp(),
        media=tuple(_media(data)),
        quoted=Quote(quoted) if quoted else None,
    )


def _quoted(data: Json) -> str:
    """Return the words of the message that is quoted."""
    if data.get("message_type") != QUOTES:
        return ""
    return "\n".join(filter(None, (each.get("content") for each in data.get("msg_elements") or ()))).strip()


def _media(data: Json) -> Iterator[Media]:
    for each in data.get("attachments") or ():
        mime = each.get("content_type") or ""
        voice = mime == "voice" or bool(each.get("voice_wav_url"))
        address = str((voice and each.get("voice_wav_url")) or each["url"])
        yield Media(
            MediaKind.AUDIO if voice else kind_of(mime),
            f"https:{address}" if address.startswith("//") else address if "://" in address else f"https://{address}",
            mime_type="audio/wav" if voice and each.get("voice_wav_url") else mime if "/" in mime else None,
            name=each.get("filename") or None,
            size_bytes=None if voice else each.get("size") or None,
            voice=voice,
        )
