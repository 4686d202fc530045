"""Messages for Telegram: as requests, with markup, and without it where that is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hub.messaging.contract import Address, Button, MediaKind, OutboundMessage
from hub.messaging.outbox.markup import Flavour, render

if TYPE_CHECKING:
    from telegram import Bot, InlineKeyboardMarkup, Message

T = TypeVar("T")

GENERAL_TOPIC = "1"
BUTTONS_PER_ROW = 8
UPLOAD_S = 120.0
_FIELDS = {
    MediaKind.IMAGE: "photo",
    MediaKind.VIDEO: "video",
    MediaKind.AUDIO: "audio",
    MediaKind.STICKER: "sticker",
    MediaKind.FILE: "document",
}


def target(address: Address, *, with_general: bool = False) -> dict[str, Any]:
    """Return chat and topic as the API wants them; the General topic is named only for a chat action."""
    named: dict[str, Any] = {"chat_id": int(address.peer)}
    if address.thread is not None and (with_general or address.thread != GENERAL_TOPIC):
        named["message_thread_id"] = int(address.thread)
    return named


async def send(bot: Bot, message: OutboundMessage, data: Iterable[str], topic_gone: str) -> Message:
    """Send a message; return what the chat shows.

    Args:
        bot: The API.
        message: What is sent.
        data: What its buttons carry, in order.
        topic_gone: Begins the text when its topic was deleted and it goes to the group.

    Raises:
        TelegramError, OSError: It was not sent, or that is not known.
    """
    from telegram import ReplyParameters
    from telegram.error import BadRequest

    request = target(message.address) | {"disable_notification": message.silent or None}
    if message.reply_to is not None and message.reply_to.isdigit():
        request["reply_parameters"] = ReplyParameters(int(message.reply_to), allow_sending_without_reply=True)
    if message.buttons:
        request["reply_markup"] = _keyboard(message.buttons, data)
    try:
        return await _request(bot, message, message.text, request)
    except BadRequest as error:
        if "message thread not found" not in str(error).lower() or request.pop("message_thread_id", None) is None:
            raise
    return await _request(bot, message, f"{topic_gone}\n\n{message.text}", request)


async def change(bot: Bot, address: Address, platform_id: str, text: str) -> None:
    """Give a sent message another text; of one with media it is the caption."""
    from telegram.error import BadRequest

    which = {"chat_id": int(address.peer), "message_id": int(platform_id)}
    try:
        await _formatted(bot.edit_message_text, "text", text, which)
    except BadRequest as error:
        if "no text in the message" not in str(error):
            raise
        await _formatted(bot.edit_message_caption, "caption", text, which)


async def _request(bot: Bot, message: OutboundMessage, text: str, request: dict[str, Any]) -> Message:
    if not message.media:
        return await _formatted(bot.send_message, "text", text, request)
    (one,) = message.media
    kind = "voice" if one.voice and one.kind is MediaKind.AUDIO else _FIELDS[one.kind]
    content = await asyncio.to_thread(Path(one.path).read_bytes)
    request = request | {kind: content, "write_timeout": UPLOAD_S, "read_timeout": UPLOAD_S}
    if one.kind is MediaKind.STICKER:
        return await bot.send_sticker(**request)
    call: Callable[..., Awaitable[Message]] = getattr(bot, f"send_{kind}")
    return await _formatted(call, "caption", text, request | {"filename": one.name})


async def _formatted(call: Callable[..., Awaitable[T]], field: str, text: str, request: dict[str, Any]) -> T:
    from telegram.error import BadRequest

    try:
        return await call(**request, **{field: render(text, Flavour.HTML_TELEGRAM)}, parse_mode="HTML")
    except BadRequest as error:
        if "can't parse entities" not in str(error).lower():
            raise
    return await call(**request, **{field: text})


def _keyboard(rows: Iterable[Iterable[Button]], data: Iterable[str]) -> InlineKeyboardMarkup:
    from telegram import InlineKeyboardButton, InlineKeyboardMarkup

    values = iter(data)
    keyboard = []
    for row in rows:
        made = [InlineKeyboardButton(button.label, callback_data=next(values)) for button in row]
        keyboard += [made[n : n + BUTTONS_PER_ROW] for n in range(0, len(made), BUTTONS_PER_ROW)]
    return InlineKeyboardMarkup(keyboard)
