"""Receives a form with one large file, as a stream, onto the disk."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import IO

from aiohttp import BodyPartReader, web

from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.phrases import phrase
from hub.storage.errors import DiskFull, from_os

PIECE_BYTES = 1_048_576
RESERVE_BYTES = 256 * 1024 * 1024
"""What an upload leaves free on the disk."""
TEXT_LIMIT_BYTES = 4_096
PARTS_LIMIT = 20


async def receive_form(
    request: web.Request, path: Path, texts: Collection[str], limit_bytes: int
) -> tuple[dict[str, str], int]:
    """Write the field `file` of a form to the disk; return its texts, and the file's size, 0 when none was chosen.

    Args:
        path: A new file; deleted again when the form does not come whole.
        texts: The other fields.
        limit_bytes: Of the file.

    Raises:
        InvalidRequest: It is no such form.
        LimitExceeded: The file is too large.
        DiskFull: There is no room.
    """
    if not request.headers.get("Content-Type", "").lower().startswith("multipart/form-data"):
        raise InvalidRequest("a form with a file was expected")
    found, size_bytes = dict.fromkeys(texts, ""), 0
    try:
        form = await request.multipart()
        for _ in range(PARTS_LIMIT):
            if (part := await form.next()) is None:
                return found, size_bytes
            if not isinstance(part, BodyPartReader):
                raise InvalidRequest("expected a file, got a form inside the form")
            if (name := part.name or "") in texts:
                found[name] = (await part.read_chunk(TEXT_LIMIT_BYTES)).decode("utf-8", "replace")
            elif name == "file":
                size_bytes = await _write(part, path, limit_bytes)
        raise InvalidRequest("the form has too many parts")
    except BaseException as error:
        await asyncio.to_thread(path.unlink, missing_ok=True)
        if isinstance(error, ValueError):
            raise InvalidRequest(f"the form cannot be read: {error}") from error
        raise


async def _write(part: BodyPartReader, path: Path, limit_bytes: int) -> int:
    size_bytes = 0
    try:
        file = await asyncio.to_thread(_new_file, path)
        try:
            while piece := await part.read_chunk(PIECE_BYTES):
                size_bytes += len(piece)
                if size_bytes > limit_bytes:
                    told = phrase("The file is larger than {count} MB.", count=limit_bytes // 1024 // 1024)
                    raise LimitExceeded(told)
                await asyncio.to_thread(_put, file, piece, path)
        finally:
            file.close()
    except OSError as error:
        raise from_os(error, path, "receiving a file into") from error
    return size_bytes


def _new_file(path: Path) -> IO[bytes]:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    return path.open("xb")


def _put(file: IO[bytes], piece: bytes, path: Path) -> None:
    if shutil.disk_usage(path.parent).free < RESERVE_BYTES + len(piece):
        raise DiskFull(phrase("There is no room for this file on the disk of the hub. Make room, and try again."))
    file.write(piece)
