"""Messages as DingTalk takes them. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from hub.messaging.contract import MediaKind, OutboundMedia
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.ogg_opus import ogg_ms

TEXT_BYTES = 4_500
"""A message may have 20 000 bytes; each of a text can take four, as it is escaped twice."""
FILE_BYTES, VOICE_BYTES = 20_000_000, 2_000_000
TITLE_LENGTH = 40
_FENCE = re.compile(r"(^```.*?(?:^```[^\S\n]*$|\Z))", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"(?<=[^\n])\n(?=[^\n])")
_MARKS = re.compile(r"[*_`#>\[\]~]+")
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/bmp"})
_VOICES = frozenset({"audio/ogg", "audio/opus"})


def markdown_of(text: str) -> str:
    """Return Markdown as DingTalk shows it: tables are blocks of code, and each line stays one.

    A text can neither show a picture nor have a link by which a reader would write something.
    """
    pieces = _FENCE.split(render(text, Flavour.DISCORD))
    written = [
        piece if number % 2 else _LINE.sub("  \n", piece).replace("![", "[").replace("dtmd:", "dtmd\u200b:")
        for number, piece in enumerate(pieces)
    ]
    return "".join(written)


def title_of(text: str) -> str:
    """Return what the list of chats shows of a text."""
    words = " ".join(_MARKS.sub("", text[:200]).split())
    return words if len(words) <= TITLE_LENGTH else f"{words[: TITLE_LENGTH - 1]}…"


def session_body(text: str) -> dict[str, Any]:
    """Return a text for the address that came with a message."""
    return {"msgtype": "markdown", "markdown": {"title": title_of(text) or "…", "text": markdown_of(text)}}


def robot_body(text: str) -> dict[str, str]:
    """Return a text for the robot's API."""
    return _robot("sampleMarkdown", title=title_of(text) or "…", text=markdown_of(text))


def upload_kind(media: OutboundMedia, content: bytes) -> str:
    """Return the kind to upload an attachment as; what DingTalk does not show or play is a file."""
    mime = media.mime_type.partition(";")[0].strip().lower()
    if media.kind in (MediaKind.IMAGE, MediaKind.STICKER) and mime in _IMAGES:
        return "image"
    if media.kind is MediaKind.AUDIO and mime in _VOICES and len(content) <= VOICE_BYTES and ogg_ms(content):
        return "voice"
    return "file"


def media_body(kind: str, id: str, name: str, content: bytes) -> dict[str, str]:
    """Return an attachment that was uploaded, for the robot's API."""
    match kind:
        case "image":
            return _robot("sampleImageMsg", photoURL=id)
        case "voice":
            return _robot("sampleAudio", mediaId=id, duration=str(ogg_ms(content)))
    return _robot("sampleFile", mediaId=id, fileName=name, fileType=name.rpartition(".")[2].lower() or "file")


def _robot(key: str, **parameters: str) -> dict[str, str]:
    return {"msgKey": key, "msgParam": json.dumps(parameters, ensure_ascii=False)}
