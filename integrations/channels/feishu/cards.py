"""Messages as Feishu takes them: cards of the format 2.0, which alone show Markdown. Pure.

Source: https://open.feishu.cn/document/feishu-cards/card-json-v2-structure
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hub.messaging.contract import Button, MediaKind, OutboundMedia

TEXT_BYTES = 7_000
"""A card may have 30 KB; each byte of text can take four, as it is escaped twice."""
ELEMENT = "answer"
"""The id of the element with the text."""
IMAGE_BYTES, FILE_BYTES = 10_000_000, 30_000_000
PRESSED = "pressed"
"""Where a button keeps its value."""
LABEL_LENGTH = 100

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_TAG = re.compile(r"<(?=[/a-zA-Z])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_FILE_TYPES = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "ppt",
}


def card_of(text: str, buttons: Sequence[Sequence[Button]] = (), *, plain: bool = False) -> dict[str, Any]:
    """Return a card with a text and rows of buttons.

    Args:
        plain: Whether the text is shown as it is written.
    """
    if plain:
        shown: dict[str, Any] = {"tag": "div", "text": {"tag": "plain_text", "content": _CONTROL.sub("", text)}}
    else:
        shown = {"tag": "markdown", "content": markdown_of(text)}
    elements = [{**shown, "element_id": ELEMENT}, *(_row(row) for row in buttons)]
    return {"schema": "2.0", "config": {"update_multi": True}, "body": {"elements": elements}}


def markdown_of(text: str) -> str:
    """Return Markdown in which a text can neither call somebody nor show a picture: Feishu has tags for the former."""
    pieces = _CODE.split(_CONTROL.sub("", text))
    written = [
        _TAG.sub("<\u200b", piece) if number % 2 else _TAG.sub("&#60;", piece).replace("![", "[")
        for number, piece in enumerate(pieces)
    ]
    return "".join(written)


def _row(buttons: Sequence[Button]) -> dict[str, Any]:
    columns = [{"tag": "column", "width": "auto", "elements": [_button(each)]} for each in buttons]
    return {"tag": "column_set", "flex_mode": "flow", "columns": columns}


def _button(button: Button) -> dict[str, Any]:
    label = {"tag": "plain_text", "content": button.label[:LABEL_LENGTH]}
    behavior = {"type": "callback", "value": {PRESSED: button.value}}
    return {"tag": "button", "text": label, "type": "default", "behaviors": [behavior]}


def upload_of(media: OutboundMedia, size: int) -> tuple[str, str]:
    """Return the kind of message that shows an attachment, and the type to upload it as; empty for a picture.

    What Feishu does not show or play is a file.
    """
    mime = media.mime_type.partition(";")[0].strip().lower()
    if media.kind in (MediaKind.IMAGE, MediaKind.STICKER) and mime.startswith("image/") and size <= IMAGE_BYTES:
        return "image", ""
    if media.kind is MediaKind.AUDIO and mime in ("audio/ogg", "audio/opus"):
        return "audio", "opus"
    if media.kind is MediaKind.VIDEO and mime == "video/mp4":
        return "media", "mp4"
    return "file", _FILE_TYPES.get(mime, "stream")
