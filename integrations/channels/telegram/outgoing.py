"""Messages for Telegram: as requests, with markup, and without it where that is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    Message,
    ReplyParameters,
)

from hub.messaging.contract import Address, Button, MediaKind, OutboundMessage
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.http_api import PlatformError
from integrations.channels.telegram.api import TelegramApi

GENERAL_TOPIC = "1"
BUTTONS_PER_ROW = 8
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
"""Telegram would fetch a link to show a preview of it, and a link can carry out what is known here."""
TOPIC_GONE = ("message thread not found", "TOPIC_DELETED", "TOPIC_CLOSED")
_FIELDS = {
    MediaKind.IMAGE: "photo",
    MediaKind.VIDEO: "video",
    MediaKind.AUDIO: "audio",
    MediaKind.STICKER: "sticker",
    MediaKind.FILE: "document",
}
T = TypeVar("T")


def target(address: Address, *, with_general: bool = False) -> dict[str, Any]:
    """Return chat and topic in the API's form; the General topic is named only for a chat action."""
    named: dict[str, Any] = {"chat_id": int(address.peer)}
    if address.thread is not None and (with_general or address.thread != GENERAL_TOPIC):
        named["message_thread_id"] = int(address.thread)
    return named


def which_message(address: Address, platform_id: str) -> dict[str, Any]:
    """Return chat and message in the API's form."""
    return {"chat_id": int(address.peer), "message_id": int(platform_id)}


async def send(api: TelegramApi, message: OutboundMessage, data: Iterable[str], topic_gone: Callable[[], str]) -> str:
    """Send a message; return its id.

    Args:
        api: The API.
        message: The message.
        data: The data of its buttons, in order.
        topic_gone: Returns the beginning of the text when its topic is deleted or closed and it goes to the group.

    Raises:
        PlatformError, OSError: It was not sent, or that is not known.
    """
    request = target(message.address) | {"disable_notification": message.silent or None}
    if message.reply_to is not None and message.reply_to.isdigit():
        request["reply_parameters"] = ReplyParameters(int(message.reply_to), allow_sending_without_reply=True)
    if message.buttons:
        request["reply_markup"] = InlineKeyboardMarkup(_keyboard(message.buttons, iter(data)))
    try:
        return await _request(api, message, message.text, request)
    except PlatformError as error:
        gone = any(reason in error.message for reason in TOPIC_GONE)
        if not gone or request.pop("message_thread_id", None) is None:
            raise
    return await _request(api, message, f"{topic_gone()}\n\n{message.text}", request)


async def change(api: TelegramApi, address: Address, platform_id: str, text: str) -> None:
    """Give a sent message another text; of one with media it is the caption."""
    which = which_message(address, platform_id)
    try:
        await _formatted(api, api.bot.edit_message_text, "text", text, which)
    except PlatformError as error:
        if "no text in the message" not in error.message:
            raise
        await _formatted(api, api.bot.edit_message_caption, "caption", text, which)


async def _request(api: TelegramApi, message: OutboundMessage, text: str, request: dict[str, Any]) -> str:
    if not message.media:
        return str((await _formatted(api, api.bot.send_message, "text", text, request)).message_id)
    (one,) = message.media
    kind = "voice" if one.voice and one.kind is MediaKind.AUDIO else _FIELDS[one.kind]
    method: Callable[..., Awaitable[Message]] = getattr(api.bot, f"send_{kind}")
    content = await asyncio.to_thread(Path(one.path).read_bytes)
    request = request | {kind: InputFile(content, one.name or kind)}
    # Stickers have no caption; the outbox gives them none.
    return str((await _formatted(api, method, "caption", text, request)).message_id)


async def _formatted(
    api: TelegramApi, method: Callable[..., Awaitable[T]], field: str, text: str, request: Mapping[str, Any]
) -> T:
    if not text:
        return await api.call(method(**request))
    if field == "text":
        request = {**request, "link_preview_options": NO_PREVIEW}
    try:
        return await api.call(method(**request, **{field: render(text, Flavour.HTML_TELEGRAM)}, parse_mode="HTML"))
    except PlatformError as error:
        if "can't parse entities" not in error.message:
            raise
    return await api.call(method(**request, **{field: text}))


def _keyboard(rows: Iterable[Iterable[Button]], data: Iterator[str]) -> list[list[InlineKeyboardButton]]:
    keyboard = []
    for row in rows:
        made = [InlineKeyboardButton(button.label, callback_data=next(data)) for button in row]
        keyboard += [made[n : n + BUTTONS_PER_ROW] for n in range(0, len(made), BUTTONS_PER_ROW)]
    return keyboard
