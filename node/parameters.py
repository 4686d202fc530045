"""Reading the parameters of a command: an error names the invalid one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import NodeError

TEXT_CHARS = 20_000

Params = Mapping[str, Any]


def text(params: Params, name: str, default: str | None = None, *, limit: int = TEXT_CHARS) -> str:
    """Return a text; it is required when there is no default.

    Raises:
        NodeError: It is missing, no text, or too long.
    """
    value = params.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or len(value) > limit:
        raise NodeError("INVALID_PARAMS", f"{name}: expected a text of at most {limit} characters")
    return value


def number(params: Params, name: str, default: float, low: float, high: float) -> float:
    """Return a number, clamped to its range.

    Raises:
        NodeError: It is not a number.
    """
    value = params.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise NodeError("INVALID_PARAMS", f"{name}: expected a number from {low:g} to {high:g}")
    return min(max(float(value), low), high)


def texts(params: Params, name: str, *, count: int = 256) -> list[str]:
    """Return a list of texts, which is required and not empty.

    Raises:
        NodeError: It is not.
    """
    value = params.get(name)
    if not isinstance(value, list) or not 0 < len(value) <= count or not all(isinstance(each, str) for each in value):
        raise NodeError("INVALID_PARAMS", f"{name}: expected a list of 1 to {count} texts")
    return list(value)


def flag(params: Params, name: str) -> bool:
    """Return a yes or no; no when it is missing.

    Raises:
        NodeError: It is neither.
    """
    value = params.get(name, False)
    if not isinstance(value, bool | None):
        raise NodeError("INVALID_PARAMS", f"{name}: expected true or false")
    return bool(value)
