"""Frames on the pipes between hub and worker: four bytes of length, then JSON. Both sides read them with this."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import orjson

FRAME_LIMIT_BYTES = 32 * 1024 * 1024
"""A job with ten thousand conversations is about two megabytes."""

_LENGTH = struct.Struct(">I")


class FrameError(Exception):
    """The input is not a frame; nothing after it on this pipe can be understood."""


def encode(message: Any) -> bytes:
    """Return a message as a frame.

    Raises:
        FrameError: It is too large, or holds what JSON cannot.
    """
    try:
        body = orjson.dumps(message, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError) as error:
        raise FrameError(f"the message cannot be sent: {error}") from error
    if len(body) > FRAME_LIMIT_BYTES:
        raise FrameError(f"the message has {len(body)} bytes; a frame has at most {FRAME_LIMIT_BYTES}")
    return _LENGTH.pack(len(body)) + body


async def read(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """Return the next message, None at the end of the pipe; a frame cut off by the end is not a message.

    Raises:
        FrameError: It is too large, or no JSON object.
    """
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > FRAME_LIMIT_BYTES:
            raise FrameError(f"a frame of {length} bytes was announced; expected at most {FRAME_LIMIT_BYTES}")
        body = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise FrameError("expected JSON in a frame") from error
    if not isinstance(message, dict):
        raise FrameError("expected a JSON object in a frame")
    return message
