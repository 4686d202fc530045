"""JSON from clients, decoded within bounds."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from hub.core.errors import InvalidRequest
from hub.core.surfaces import FRAME_LIMIT_BYTES

PARTS_LIMIT = 500_000
"""Commas and opening brackets in one document: attachments and files have few, and each costs time to decode."""


def read_json(raw: bytes | msgspec.Raw, what: str) -> Any:
    """Return the value of a JSON document.

    Raises:
        InvalidRequest: It is not JSON, or has too many parts; the message begins with `what`.
    """
    data = memoryview(raw)
    if len(data) > FRAME_LIMIT_BYTES and sum(map(bytes(data).count, (b",", b"[", b"{"))) > PARTS_LIMIT:
        raise InvalidRequest(f"{what} has more than {PARTS_LIMIT} parts")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"{what} is not JSON: {error}") from None
