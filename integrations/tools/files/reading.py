"""Reads a file for a model: some lines of text, or an image; for anything else, its kind."""

from __future__ import annotations

import base64

from hub.core.errors import InvalidRequest
from hub.models.contract import Image
from hub.models.images import image_type
from hub.tools.contract import ToolResult

READ_LIMIT_BYTES = 8 * 1024 * 1024
IMAGE_LIMIT_BYTES = 4 * 1024 * 1024
LINES_DEFAULT = 500
LINES_LIMIT = 5_000
LINE_LIMIT = 2_000
CHARACTERS_LIMIT = 25_000
SNIFFED_BYTES = 8_192


def show_file(data: bytes, path: str, offset: int, limit: int) -> ToolResult:
    """Return lines of a text file, or an image.

    Args:
        data: The file's content.
        path: The file, for messages about it.
        offset: First line, from 1.
        limit: Lines at most.

    Raises:
        InvalidRequest: It is neither text nor an image, or `offset` is past its end.
    """
    if mime_type := image_type(data):
        return _image(path, data, mime_type)
    text = decode(data, path)
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    if offset > max(1, count):
        raise InvalidRequest(f"{path} has {count} lines; there is no line {offset}")
    shown: list[str] = []
    room = CHARACTERS_LIMIT
    for line in lines[offset - 1 : min(offset - 1 + limit, count)]:
        cut = line if len(line) <= LINE_LIMIT else f"{line[:LINE_LIMIT]}[cut: {len(line)} characters]"
        room -= len(cut) + 1
        if room < 0 and shown:
            break
        shown.append(cut)
    last = offset - 1 + len(shown)
    output = "\n".join(shown)
    if offset > 1 or last < count:
        more = f"; go on with offset={last + 1}" if last < count else ""
        output += f"\n[lines {offset}-{last} of {count}{more}]"
    details = {"path": path, "first_line": offset, "last_line": last, "lines": count, "size_bytes": len(data)}
    return ToolResult(output if count else "[the file is empty]", details=details)


def decode(data: bytes, path: str) -> str:
    """Return a file's text.

    Raises:
        InvalidRequest: It is not text.
    """
    if b"\x00" in data[:SNIFFED_BYTES]:
        raise InvalidRequest(f"{path} is not text ({len(data)} bytes of binary data)", details={"path": path})
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"{path} is not UTF-8 text (byte {error.start} of {len(data)})", details={"path": path}
        ) from error


def _image(path: str, data: bytes, mime_type: str) -> ToolResult:
    if len(data) > IMAGE_LIMIT_BYTES:
        raise InvalidRequest(f"{path} is an image of {len(data)} bytes; at most {IMAGE_LIMIT_BYTES} can be shown")
    image = Image(mime_type, base64.b64encode(data).decode())
    return ToolResult(
        f"[{path}: {mime_type}, {len(data)} bytes]",
        details={"path": path, "mime_type": mime_type, "size_bytes": len(data)},
        media=(image,),
    )
