"""Plain data as readable YAML: multi-line text becomes block text."""

from __future__ import annotations

from typing import Any

from hub.config.bounds import DEPTH_LIMIT
from hub.config.render import inline, is_block, key_text

INDENT = "  "


def to_yaml(value: Any) -> str:
    """Return data as YAML for reading.

    Raises:
        InvalidRequest: It holds what YAML here cannot say.
    """
    return "\n".join(_lines(value, 0)) + "\n"


def _lines(value: Any, depth: int) -> list[str]:
    if not is_block(value) or depth > DEPTH_LIMIT:
        return [inline(value)]
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in _entry(f"{key_text(str(key))}:", each, depth)]
    return [line for each in value for line in _item(each, depth)]


def _entry(head: str, value: Any, depth: int) -> list[str]:
    if isinstance(value, str) and _stands_alone(value):
        sign = "|" if value.endswith("\n") else "|-"
        return [f"{head} {sign}", *(f"{INDENT}{line}".rstrip() for line in value.rstrip("\n").split("\n"))]
    if is_block(value):
        return [head, *(INDENT + line for line in _lines(value, depth + 1))]
    return [f"{head} {inline(value)}"]


def _item(value: Any, depth: int) -> list[str]:
    if not is_block(value):
        return _entry("-", value, depth)
    first, *rest = _lines(value, depth + 1)
    return [f"- {first}", *(INDENT + line for line in rest)]


def _stands_alone(text: str) -> bool:
    """Whether a literal block means exactly this text."""
    lines = text.removesuffix("\n").split("\n")
    plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    return len(lines) > 1 and plain and bool(lines[0]) and bool(lines[-1]) and not lines[0].startswith(" ")
