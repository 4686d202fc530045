"""Values as YAML text: short, readable, and exact when read back."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from hub.config.bounds import DEPTH_LIMIT
from hub.config.scalars import BadScalar, resolve_plain
from hub.config.spans import Tagged
from hub.core.errors import InvalidRequest
from hub.core.lazy_pattern import LazyPattern
from hub.core.secret import Secret

INDENT = 2

_PLAIN = LazyPattern(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*|\d{1,3}(?:\.\d{1,3}){3}")
_UNSAFE = LazyPattern("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_TAG = LazyPattern(r"![A-Za-z_][A-Za-z0-9_]*")


def inline(value: Any, depth: int = 0) -> str:
    """Return a value on one line.

    Raises:
        InvalidRequest: It cannot be written: a secret without a name, a number that is not finite, a foreign type.
    """
    if depth > DEPTH_LIMIT:
        raise InvalidRequest("the value is nested too deeply")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key_text(key)}: {inline(each, depth + 1)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(each, depth + 1) for each in value) + "]"
    return _scalar(value)


def block(value: Any, indent: int, depth: int = 0) -> list[str]:
    """Return a mapping or list as lines that are indented by `indent` spaces; anything else as one such line."""
    if depth > DEPTH_LIMIT:
        raise InvalidRequest("the value is nested too deeply")
    space = " " * indent
    if isinstance(value, dict) and value:
        lines: list[str] = []
        for key, each in value.items():
            lines += entry(key, each, indent, depth + 1)
        return lines
    if isinstance(value, (list, tuple)) and value:
        return [line for each in value for line in item(each, indent, depth + 1)]
    return [space + inline(value)]


def entry(key: Any, value: Any, indent: int, depth: int = 0) -> list[str]:
    """Return `key: value` as lines."""
    space = " " * indent
    if is_block(value):
        return [f"{space}{key_text(key)}:", *block(value, indent + INDENT, depth + 1)]
    return [f"{space}{key_text(key)}: {inline(value)}"]


def item(value: Any, indent: int, depth: int = 0) -> list[str]:
    """Return `- value` as lines."""
    space = " " * indent
    if is_block(value):
        lines = block(value, indent + INDENT, depth + 1)
        return [f"{space}- {lines[0].lstrip(' ')}", *lines[1:]]
    return [f"{space}- {inline(value)}"]


def is_block(value: Any) -> bool:
    """Return whether a value is written on separate lines."""
    return isinstance(value, (dict, list, tuple)) and bool(value)


def key_text(key: Any) -> str:
    """Return a key as written."""
    if not isinstance(key, str) or not key:
        raise InvalidRequest("a key must be a text")
    return _text(key)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if not isfinite(value):
            raise InvalidRequest("a number that is not finite cannot be written")
        return repr(float(value))
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Secret):
        if value.source is None or not value.source.startswith("!"):
            raise InvalidRequest("a secret is not written into the configuration; put it into secrets.yaml")
        return value.source
    if isinstance(value, Tagged):
        if not _TAG.fullmatch(value.tag):
            raise InvalidRequest(f"there is no tag {value.tag}")
        return f"{value.tag} {_text(str(value.value))}"
    raise InvalidRequest(f"a value of the type {type(value).__name__} cannot be written")


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and _means_itself(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _means_itself(text: str) -> bool:
    try:
        return resolve_plain(text) == text and isinstance(resolve_plain(text), str)
    except BadScalar:
        return False
