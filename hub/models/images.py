"""The kinds of images that models are shown."""

from __future__ import annotations

_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def image_type(data: bytes) -> str | None:
    """Return the MIME type of an image, judged by its first bytes; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for begins, mime_type in _BEGINNINGS.items() if data.startswith(begins)), None)
