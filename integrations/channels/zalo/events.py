"""Reads the updates of Zalo's Bot API as the hub's messages. Pure.

Format: https://bot.zaloplatforms.com/docs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.messaging.contract import Address, ChatType, InboundMessage, Media, MediaKind

Json = Mapping[str, Any]

SECONDS_LIMIT = 100_000_000_000
"""Larger times are in milliseconds."""


def inbound_of(update: Json, account: str, name: str | None) -> InboundMessage | None:
    """Return the hub's message for an update; None if it is irrelevant.

    Args:
        account: The configured name of the account.
        name: The bot's, as people mention it in groups.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Zalo writes them.
    """
    event, message = update["event_name"], update["message"]
    author, chat = message["from"], message["chat"]
    if author.get("is_bot") or not str(event).startswith("message."):
        return None
    is_group = chat.get("chat_type") != "PRIVATE"  # a kind that is not known is not taken for a direct chat
    text = str(message.get("text") or message.get("caption") or "")
    mention = f"@{name}" if name else None
    named = mention is not None and mention in text
    if named and mention is not None and text.startswith(mention):
        text = text.removeprefix(mention).lstrip()
    photo = message.get("photo_url") or message.get("photo")
    kind = str(event).split(".")[1]
    if not text and not photo:
        text = "(a sticker)" if kind == "sticker" else f"(a message of the kind {kind!r}, without its content)"
    date = float(message["date"])
    return InboundMessage(
        Address("zalo", str(chat["id"]), account, ChatType.GROUP if is_group else ChatType.DIRECT),
        str(message["message_id"]),
        f"zalo:user:{author['id']}",
        text,
        sender_name=author.get("display_name") or author.get("name"),
        mentioned=named or not is_group,
        sent_at=date / 1_000 if date > SECONDS_LIMIT else date,
        media=(Media(MediaKind.IMAGE, str(photo)),) if photo else (),
    )
