"""Pictures as commands return them: base64, with the format and size that are read from their first bytes. Pure."""

from __future__ import annotations

import base64
from typing import Any

from .errors import NodeError

PICTURE_LIMIT_BYTES = 12 * 1024 * 1024
_FRAMES = frozenset({*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)})
"""The JPEG segments that hold a size."""


def picture(data: bytes) -> dict[str, Any]:
    """Return `{format, base64, width, height}`.

    Raises:
        NodeError: It is not a JPEG or PNG, or too large to be sent.
    """
    size = _png_size(data) or _jpeg_size(data)
    if size is None:
        raise NodeError("UNAVAILABLE", "the program did not make a picture")
    if len(data) > PICTURE_LIMIT_BYTES:
        raise NodeError("PAYLOAD_TOO_LARGE", f"the picture has {len(data)} bytes; ask for a smaller maxWidth")
    width, height = size
    kind = "png" if data.startswith(b"\x89PNG") else "jpg"
    return {"format": kind, "base64": base64.b64encode(data).decode(), "width": width, "height": height}


def _png_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or len(data) < 24:
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data.startswith(b"\xff\xd8") and at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in _FRAMES:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None
