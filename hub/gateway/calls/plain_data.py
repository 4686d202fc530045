"""Plain data at the gateway: bounded input of callers, and answers that fit into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from re import Pattern
from typing import Any

from hub.core.schema import Described, Invalid, show

DEPTH_LIMIT = 20
VALUES_LIMIT = 10_000
NUMBER_LIMIT = 2**63
"""Whole numbers from here on, which JSON here cannot hold, become text."""
TOLD_DEPTH_LIMIT = 64


def _plain_mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"expected a mapping, got {show(value)}")
    _judge(value)
    return value


def _judge(value: Any) -> None:
    """Refuse data that is nested too deep, has too many values, or a number that is not finite."""
    level: list[Any] = [value]
    count = 0
    for _ in range(DEPTH_LIMIT):
        below: list[Any] = []
        for each in level:
            if isinstance(each, float) and (each != each or abs(each) == float("inf")):
                raise Invalid("expected a number, got one that is not finite")
            if isinstance(each, dict):
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
        count += len(below)
        if count > VALUES_LIMIT:
            raise Invalid(f"there are more than {VALUES_LIMIT} values in it")
        if not below:
            return
        level = below
    raise Invalid(f"it is nested more than {DEPTH_LIMIT} deep")


plain_mapping = Described(_plain_mapping, {"type": "object"}, "mapping")


def as_json(value: Any, depth: int = 0) -> Any:
    """Return any value in a form that JSON can hold; anything that is not plain data becomes text.

    Secrets must have been removed before.
    """
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return value if -NUMBER_LIMIT <= value < NUMBER_LIMIT else str(value)
    if depth >= TOLD_DEPTH_LIMIT:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): as_json(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(each, depth + 1) for each in value]
    if isinstance(value, Pattern):
        return value.pattern
    as_dict = getattr(value, "as_dict", None)
    if callable(as_dict) and not isinstance(value, type):
        return as_json(as_dict(), depth + 1)
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat() if callable(isoformat) else value)
