"""Merges a handler's answer into a payload. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from hub.core.errors import InvalidRequest
from hub.hooks.contract import HookPayload, Joined

P = TypeVar("P", bound=HookPayload)

TEXT_LIMIT = 100_000
"""Characters of a text that a handler returns."""


def merge(payload: P, answer: Any) -> P:
    """Return the payload with what a handler returned; None changes nothing.

    Raises:
        InvalidRequest: It is not a mapping of fields that may be changed.
    """
    if answer is None:
        return payload
    if not isinstance(answer, Mapping):
        raise InvalidRequest(f"it returned {type(answer).__name__}; expected None or a mapping")
    changed: dict[str, Any] = {}
    for key, value in answer.items():
        rule = payload.changes.get(key)
        if rule is None:
            known = ", ".join(payload.changes) or "nothing"
            raise InvalidRequest(f"it returned {str(key)[:80]!r}; {payload.hook} lets change {known}")
        if not isinstance(value, rule.type):
            raise InvalidRequest(f"it returned {type(value).__name__} as {key}; expected {rule.type.__name__}")
        if isinstance(value, str) and len(value) > TEXT_LIMIT:
            raise InvalidRequest(f"it returned {len(value)} characters as {key}; at most {TEXT_LIMIT} are allowed")
        if isinstance(rule, Joined):
            changed[key] = "\n\n".join(text for text in (str(getattr(payload, key)), str(value)) if text)
        else:
            changed[key] = value
    return replace(payload, **changed) if changed else payload
