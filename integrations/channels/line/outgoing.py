"""One message for the Messaging API, as JSON. Pure.

Format: https://developers.line.biz/en/reference/messaging-api/#message-objects
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hub.messaging.contract import MediaKind, OutboundMedia, TextUnit
from hub.messaging.outbox.chunking import length
from hub.messaging.outbox.markup import Flavour, render

TEXT_LENGTH = 5_000
BUTTONS, BUTTONS_TEXT, LABEL = 4, 160, 20
QUICK_REPLIES = 13
DATA_LENGTH = 300
SHOWN_LENGTH = 300
PICTURE_BYTES, SOUND_BYTES = 1_000_000, 200_000_000
"""A picture is its own preview, which may have a megabyte."""
UNKNOWN_MS = 1_000


def text_body(text: str) -> str:
    """Return a text without Markdown's marks, or as it is when that is too long."""
    written = render(text, Flavour.PLAIN)
    return written if 0 < length(written, TextUnit.UTF16) <= TEXT_LENGTH else text


def choice_part(text: str, choices: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a text with buttons that stay, or with quick replies where they are too many or the text is too long.

    Args:
        choices: Data and labels.
    """
    actions = [
        {"type": "postback", "label": _short(label), "data": data, "displayText": label[:SHOWN_LENGTH]}
        for data, label in choices[:QUICK_REPLIES]
    ]
    if len(actions) <= BUTTONS and length(text, TextUnit.UTF16) <= BUTTONS_TEXT:
        return {
            "type": "template",
            "altText": text,
            "template": {"type": "buttons", "text": text, "actions": actions},
        }
    items = [{"type": "action", "action": action} for action in actions]
    return {"type": "text", "text": text, "quickReply": {"items": items}}


def media_part(media: OutboundMedia, size: int, head: bytes, address: str) -> dict[str, Any]:
    """Return an attachment; what LINE does not show is a text with the address.

    Args:
        head: The beginning of the file.
        address: Where LINE fetches it.
    """
    mime = media.mime_type.partition(";")[0].strip().lower()
    if media.kind is MediaKind.IMAGE and mime in ("image/jpeg", "image/png") and size <= PICTURE_BYTES:
        return {"type": "image", "originalContentUrl": address, "previewImageUrl": address}
    if media.kind is MediaKind.AUDIO and mime in ("audio/mp4", "audio/x-m4a", "audio/mpeg") and size <= SOUND_BYTES:
        return {"type": "audio", "originalContentUrl": address, "duration": _duration_ms(head)}
    return {"type": "text", "text": f"{media.name or media.path.rpartition('/')[2]}\n{address}"}


def _duration_ms(head: bytes) -> int:
    """Return how long a sound in MP4 lasts; a second where it does not say so at its beginning: LINE only shows it."""
    at = head.find(b"mvhd")
    if at < 0 or len(head) < at + 24 or head[at + 4] != 0:
        return UNKNOWN_MS
    scale, duration = (int.from_bytes(head[at + offset : at + offset + 4], "big") for offset in (16, 20))
    return max(1, duration * 1_000 // scale) if scale else UNKNOWN_MS


def _short(label: str) -> str:
    # LINE counts in UTF-16.
    if length(label, TextUnit.UTF16) <= LABEL:
        return label
    while length(label, TextUnit.UTF16) >= LABEL:
        label = label[:-1]
    return label + "…"
