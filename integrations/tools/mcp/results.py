"""Converts servers' answers to tool results: words from outside, always."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from hub.models.contract import Image
from hub.tools.contract import ToolResult

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
TEXT_LIMIT = 1_000_000


def answer(blocks: Iterable[Mapping[str, Any]], structured: Any = None, *, is_error: bool = False) -> ToolResult:
    """Return the tool result for a server's content blocks.

    Args:
        blocks: The blocks as they are written in JSON: text, image, audio, resource, resource_link.
        structured: The same as data, shown when there is no text.
        is_error: Whether the server reports a failure.
    """
    texts: list[str] = []
    images: list[Image] = []
    for block in blocks:
        image = _image(block)
        if image is not None:
            images.append(image)
        else:
            texts.append(_text(block))
    if structured is not None and not any(texts):
        texts.append(orjson.dumps(structured, option=orjson.OPT_INDENT_2, default=str).decode())
    output = "\n".join(each for each in texts if each)[:TEXT_LIMIT]
    if not output:
        output = f"[{len(images)} images]" if images else "[an empty answer]"
    return ToolResult(output, media=tuple(images), is_error=is_error, trusted=False)


def failure(text: str) -> ToolResult:
    """Return the result of a call that failed, in words that may be the server's."""
    return ToolResult(f"error: {text}", is_error=True, trusted=False)


def _image(block: Mapping[str, Any]) -> Image | None:
    data = block.get("data")
    if block.get("type") != "image" or block.get("mimeType") not in IMAGES or not isinstance(data, str):
        return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Image(block["mimeType"], data)


def _text(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource_link":
            return f"[resource {block.get('uri')}: {block.get('title') or block.get('name') or ''}]"
        case "resource":
            return contents(block.get("resource") or {})
    return f"[{block.get('type')}, {block.get('mimeType', 'of unknown kind')}: not shown]"


def contents(resource: Mapping[str, Any]) -> str:
    """Return a resource's text; anything but text is described."""
    text = resource.get("text")
    if isinstance(text, str):
        return f"[resource {resource.get('uri')}]\n{text}"
    return f"[resource {resource.get('uri')}, {resource.get('mimeType', 'of unknown kind')}: not text]"
