"""Attachments of a message: images in base64, as clients of the protocol send them."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.schema import REMOVE_EXTRA, All, AnyOf, Length, Optional, Required, Schema
from hub.models.contract import Image

ATTACHMENTS_LIMIT = 16
IMAGE_LIMIT_BYTES = 10_485_760
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

ATTACHMENTS_SCHEMA = All(
    [
        Schema(
            {
                Optional("type"): AnyOf(None, str),
                Required("mimeType"): All(str, Length(max=100)),
                Optional("fileName"): AnyOf(None, All(str, Length(max=255))),
                Required("content"): str,
            },
            extra=REMOVE_EXTRA,
        )
    ],
    Length(max=ATTACHMENTS_LIMIT),
)


def images_of(attachments: Iterable[Mapping[str, Any]]) -> tuple[Image, ...]:
    """Return the images.

    Raises:
        InvalidRequest: One is not an image, too large, or not base64.
    """
    return tuple(_image(each, f"attachments[{index}]") for index, each in enumerate(attachments))


def _image(attachment: Mapping[str, Any], place: str) -> Image:
    mime_type = attachment["mimeType"].lower()
    if mime_type not in IMAGE_TYPES:
        raise InvalidRequest(f"{place}.mimeType: expected one of {', '.join(sorted(IMAGE_TYPES))}")
    content = attachment["content"].rpartition(";base64,")[2]
    try:
        size = len(b64decode(content, validate=True))
    except (binascii.Error, ValueError):
        raise InvalidRequest(f"{place}.content: expected base64") from None
    if not 0 < size <= IMAGE_LIMIT_BYTES:
        raise InvalidRequest(f"{place}.content: an image has 1 to {IMAGE_LIMIT_BYTES} bytes")
    return Image(mime_type, content)
