"""Reads a server's error from any of the formats in use. Pure."""

from __future__ import annotations

from typing import Any

import orjson


def read_fault(body: Any) -> tuple[int | None, str, str]:
    """Return (status, code, message) of an error object; status only when the object carries one.

    Args:
        body: Parsed JSON of an error answer, or of an event inside a stream.
    """
    if isinstance(body, list):
        return read_fault(body[0]) if body else (None, "", "")
    if not isinstance(body, dict):
        return None, "", str(body) if body is not None else ""
    error = body.get("error")
    if isinstance(error, dict):
        return _fields(error)
    if isinstance(error, str) and error:
        return None, _word(body.get("code")), error
    if isinstance(body.get("message"), str):
        return _fields(body)
    detail = body.get("detail")
    if isinstance(detail, str):
        return None, "", detail
    return None, "", orjson.dumps(detail if detail is not None else body).decode()


def read_fault_text(raw: bytes) -> tuple[int | None, str, str]:
    """Like `read_fault`, for the bytes of an error answer; anything but JSON is treated as text."""
    try:
        return read_fault(orjson.loads(raw))
    except ValueError:
        return None, "", raw.decode("utf-8", "replace")


def is_fault(chunk: dict[str, Any]) -> bool:
    """Whether an event of a stream is an error instead of a piece of the answer."""
    return bool(chunk.get("error")) or chunk.get("object") == "error" or chunk.get("type") == "error"


def _fields(error: dict[str, Any]) -> tuple[int | None, str, str]:
    code, kind = error.get("code"), error.get("type")
    status = code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 else None
    if status is None and isinstance(code, str) and code.isdigit() and 400 <= int(code) < 600:
        status = int(code)
    message = error.get("message")
    words = message if isinstance(message, str) else orjson.dumps(error).decode()
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        words = f"{words}: {metadata['raw']}"
    return status, f"{_word(code)} {_word(kind)}".strip(), words


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
