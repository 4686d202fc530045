"""The first whole picture of an MJPEG stream (`multipart/x-mixed-replace`), whatever the camera says of its length."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.entities.pictures import PICTURE_LIMIT_BYTES

_START, _END, _NEXT = b"\xff\xd8\xff", b"\xff\xd9", b"\n--"


async def first_picture(chunks: AsyncIterator[bytes], place: str) -> bytes:
    """Return the first picture: it ends where the next part begins, or where the stream ends or falls silent.

    Args:
        place: The camera, for errors.

    Raises:
        Unavailable: No whole picture came.
    """
    import aiohttp

    found = bytearray()
    try:
        async for chunk in chunks:
            found += chunk
            if (picture := _whole(found)) is not None:
                return picture
            if len(found) > PICTURE_LIMIT_BYTES:
                break
    except (OSError, aiohttp.ClientError):  # it stalled, or the connection broke: what came may be whole
        pass
    start = found.find(_START)
    rest = bytes(found[start:]).rstrip(b"\r\n") if start >= 0 else b""
    if rest.endswith(_END):
        return rest
    raise Unavailable(phrase("{place} sent no whole picture", place=place))


def _whole(found: bytearray) -> bytes | None:
    start = found.find(_START)
    end = found.find(_NEXT, start) if start >= 0 else -1
    return bytes(found[start:end]).rstrip(b"\r\n") if end >= 0 else None
