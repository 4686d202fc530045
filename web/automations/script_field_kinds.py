"""How the fields of a script are asked for: the selectors that the form knows, and their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BOOLEAN = {"type": "boolean", "default": False}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
MANY = {"multiple": BOOLEAN}
OPTIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "text": {"multiline": BOOLEAN},
    "number": {"min": NUMBER, "max": NUMBER, "step": NUMBER, "unit_of_measurement": TEXT},
    "boolean": {},
    "select": {"options": TEXTS, **MANY},
    "time": {},
    "date": {},
    "datetime": {},
    "duration": {},
    "entity": {"domain": {"anyOf": [TEXT, TEXTS]}, **MANY},
    "device": MANY,
    "area": MANY,
    "person": MANY,
    "template": {},
    "object": {},
}
"""By the selectors that the form knows: their options, with JSON Schemas."""


def field_kind(item: Any) -> str | None:
    """Return the selector of a field as written; text where there is none, None for one that the form does not know."""
    if item is None:
        return "text"
    if not isinstance(item, Mapping):
        return None
    selector = item.get("selector")
    if selector is None:
        return "text" if isinstance(item.get("default"), (str, type(None))) else "object"
    found = next(iter(selector), "") if isinstance(selector, Mapping) and len(selector) == 1 else ""
    options = selector[found] if found else None
    return found if found in OPTIONS and isinstance(options, (Mapping, type(None))) else None
