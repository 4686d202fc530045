"""One message for Telegram: which requests it takes, with markup, and without it where that is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.messaging.contract import Address, MediaKind, OutboundMedia, OutboundMessage
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.telegram.errors import is_markup_refused, is_thread_gone

if TYPE_CHECKING:
    from telegram import Bot, InlineKeyboardMarkup, Message

GENERAL_TOPIC = "1"
ALBUM_LIMIT = 10
BUTTONS_PER_ROW = 8
UPLOAD_S = 120.0
_FIELDS = {
    MediaKind.IMAGE: "photo",
    MediaKind.VIDEO: "video",
    MediaKind.AUDIO: "audio",
    MediaKind.STICKER: "sticker",
    MediaKind.FILE: "document",
}


class PartlySent(Exception):
    """Some of the requests of a message succeeded before one failed (`__cause__`)."""

    def __init__(self, ids: Sequence[str]) -> None:
        super().__init__("a part of it was sent")
        self.ids = tuple(ids)


def target(address: Address, *, with_general: bool = False) -> dict[str, Any]:
    """Return chat and topic as the API wants them; the General topic is named only for a chat action."""
    named: dict[str, Any] = {"chat_id": int(address.peer)}
    if address.thread is not None and (with_general or address.thread != GENERAL_TOPIC):
        named["message_thread_id"] = int(address.thread)
    return named


async def send_all(bot: Bot, message: OutboundMessage, data: Sequence[str], topic_gone: str) -> list[Message]:
    """Send a message; return what the chat shows.

    Args:
        bot: The API.
        message: What is sent.
        data: What its buttons carry, in order.
        topic_gone: Begins the text when its topic was deleted and it goes to the group.

    Raises:
        TelegramError, OSError: Nothing was sent, or it is not known.
        PartlySent: A part was.
    """
    from telegram import ReplyParameters

    common = target(message.address)
    common["disable_notification"] = message.silent or None
    if message.reply_to is not None and message.reply_to.isdigit():
        common["reply_parameters"] = ReplyParameters(int(message.reply_to), allow_sending_without_reply=True)
    keyboard = _keyboard(message, data)
    sent: list[Message] = []
    text = message.text
    for group in _groups(message.media) or [[]]:
        try:
            sent += await _send_group(bot, group, text, common, keyboard if not sent else None, topic_gone)
        except Exception as error:
            if not sent:
                raise
            raise PartlySent([str(each.message_id) for each in sent]) from error
        text = ""
        common.pop("reply_parameters", None)
    return sent


async def _send_group(
    bot: Bot,
    group: Sequence[OutboundMedia],
    text: str,
    common: dict[str, Any],
    keyboard: InlineKeyboardMarkup | None,
    topic_gone: str,
) -> list[Message]:
    from telegram.error import BadRequest

    formatted = True
    while True:
        shown = {"parse_mode": "HTML"} if formatted else {}
        written = render(text, Flavour.HTML_TELEGRAM) if formatted else text
        try:
            return await _request(bot, group, written, common | shown, keyboard)
        except BadRequest as error:
            if formatted and is_markup_refused(error):
                formatted = False
            elif is_thread_gone(error) and common.pop("message_thread_id", None) is not None:
                text = f"{topic_gone}\n\n{text}"
            else:
                raise


async def _request(
    bot: Bot, group: Sequence[OutboundMedia], text: str, common: dict[str, Any], keyboard: InlineKeyboardMarkup | None
) -> list[Message]:
    if not group:
        return [await bot.send_message(text=text, reply_markup=keyboard, **common)]
    contents = [await asyncio.to_thread(Path(each.path).read_bytes) for each in group]
    if len(group) > 1:
        from telegram import InputMediaAudio, InputMediaDocument, InputMediaPhoto, InputMediaVideo

        inputs: dict[MediaKind, Any] = {
            MediaKind.IMAGE: InputMediaPhoto,
            MediaKind.VIDEO: InputMediaVideo,
            MediaKind.AUDIO: InputMediaAudio,
            MediaKind.FILE: InputMediaDocument,
        }
        media = [inputs[each.kind](content, filename=each.name) for each, content in zip(group, contents, strict=True)]
        return list(
            await bot.send_media_group(
                media=media, caption=text or None, write_timeout=UPLOAD_S, read_timeout=UPLOAD_S, **common
            )
        )
    (one,) = group
    kind = "voice" if one.voice and one.kind is MediaKind.AUDIO else _FIELDS[one.kind]
    details: dict[str, Any] = {**common, "filename": one.name, "caption": text or None}
    if one.kind is MediaKind.STICKER:
        details = {name: value for name, value in common.items() if name != "parse_mode"}
    send = getattr(bot, f"send_{kind}")
    return [
        await send(
            reply_markup=keyboard, write_timeout=UPLOAD_S, read_timeout=UPLOAD_S, **{kind: contents[0]}, **details
        )
    ]


def _groups(media: Sequence[OutboundMedia]) -> list[list[OutboundMedia]]:
    """Return the albums that attachments make: pictures with videos, else each kind with its own."""
    groups: list[list[OutboundMedia]] = []
    for each in media:
        last = groups[-1][-1] if groups else None
        if last is None or len(groups[-1]) == ALBUM_LIMIT or _album_of(each) != _album_of(last) or not _album_of(each):
            groups.append([])
        groups[-1].append(each)
    return groups


def _album_of(media: OutboundMedia) -> str | None:
    if media.voice or media.kind is MediaKind.STICKER:
        return None
    return "visual" if media.kind in (MediaKind.IMAGE, MediaKind.VIDEO) else media.kind.value


def _keyboard(message: OutboundMessage, data: Sequence[str]) -> InlineKeyboardMarkup | None:
    if not message.buttons:
        return None
    from telegram import InlineKeyboardButton, InlineKeyboardMarkup

    values = iter(data)
    rows = []
    for row in message.buttons:
        made = [InlineKeyboardButton(button.label, callback_data=next(values)) for button in row]
        rows += [made[n : n + BUTTONS_PER_ROW] for n in range(0, len(made), BUTTONS_PER_ROW)]
    return InlineKeyboardMarkup(rows)
