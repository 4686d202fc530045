"""One message for the Cloud API, as JSON. Pure.

Format: https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hub.messaging.contract import Address, MediaKind, OutboundMedia
from hub.messaging.outbox.markup import Flavour, render

TEXT_LENGTH = 4_096
BUTTONS, BUTTON_TEXT, BUTTON_LABEL = 3, 1_024, 20
ROWS, ROW_LABEL, ROW_DESCRIPTION = 10, 24, 72
BUTTON_LENGTH = 256
"""The longest id of a button."""
LIST_LABEL = "☰"
_PLAIN_TYPE = "text/plain"
_TAKEN: dict[MediaKind, tuple[str, int, frozenset[str]]] = {
    MediaKind.IMAGE: ("image", 5_000_000, frozenset({"image/jpeg", "image/png"})),
    MediaKind.VIDEO: ("video", 16_000_000, frozenset({"video/mp4", "video/3gpp"})),
    MediaKind.AUDIO: (
        "audio",
        16_000_000,
        frozenset({"audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg"}),
    ),
    MediaKind.STICKER: ("sticker", 100_000, frozenset({"image/webp"})),
}
_OFFICE = "application/vnd.openxmlformats-officedocument."
_DOCUMENTS = frozenset().union(*(types for _, _, types in _TAKEN.values())) | {
    *(_PLAIN_TYPE, "application/pdf", "application/msword"),
    *("application/vnd.ms-excel", "application/vnd.ms-powerpoint"),
    *(_OFFICE + each for each in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")),
}


def recipient(address: Address) -> dict[str, str]:
    """Return whom a message is for: a phone number, or the id of somebody whose number is not known."""
    return {"to" if address.peer.isdigit() else "recipient": address.peer}


def text_body(text: str) -> str:
    """Return a text in WhatsApp's markup, or plain when that is too long."""
    written = render(text, Flavour.WHATSAPP)
    return written if 0 < len(written) <= TEXT_LENGTH else text


def type_of(media: OutboundMedia, size: int) -> tuple[str, str]:
    """Return the kind and type of an attachment; anything that WhatsApp does not show is a document.

    A type that WhatsApp does not know is stated as plain text: the file's name shows what it is.
    """
    mime = media.mime_type.partition(";")[0].strip().lower()
    kind, limit, types = _TAKEN.get(media.kind, ("", 0, frozenset()))
    if mime in types and size <= limit:
        return kind, mime
    return "document", mime if mime in _DOCUMENTS else _PLAIN_TYPE


def media_part(media: OutboundMedia, kind: str, mime: str, id: str) -> dict[str, Any]:
    """Return an attachment that was uploaded."""
    body: dict[str, Any] = {"id": id}
    if kind == "document":
        body["filename"] = media.name or media.path.rpartition("/")[2]
    if kind == "audio" and media.voice and mime == "audio/ogg":
        body["voice"] = True
    return {"type": kind, kind: body}


def choice_part(text: str, choices: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a text with buttons, or with a list of choices where they are too many or too long for buttons.

    Args:
        text: In WhatsApp's markup.
        choices: Ids and labels.
    """
    fit = all(len(label) <= BUTTON_LABEL for _, label in choices)
    if fit and len(choices) <= BUTTONS and len(text) <= BUTTON_TEXT:
        buttons = [{"type": "reply", "reply": {"id": id, "title": label}} for id, label in choices]
        action: dict[str, Any] = {"buttons": buttons}
    else:
        action = {"button": LIST_LABEL, "sections": [{"rows": [_row(id, label) for id, label in choices[:ROWS]]}]}
    kind = "button" if "buttons" in action else "list"
    return {"type": "interactive", "interactive": {"type": kind, "body": {"text": text}, "action": action}}


def _row(id: str, label: str) -> dict[str, str]:
    if len(label) <= ROW_LABEL:
        return {"id": id, "title": label}
    return {"id": id, "title": label[: ROW_LABEL - 1] + "…", "description": label[:ROW_DESCRIPTION]}
