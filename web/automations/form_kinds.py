"""What the form knows of the grammar: the kinds, their keys, and where lists of steps stand in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from hub.automation.definition.grammar import settings_json
from hub.automation.definition.kinds import (
    ACTIONS,
    CONDITIONS,
    TRIGGERS,
    action_kind,
    condition_kind,
    step_key,
    trigger_kind,
)
from hub.automation.definition.values import is_template
from hub.core.json_schema import to_json_schema

TRIGGER, CONDITION, ACTION = "trigger", "condition", "action"
KINDS: Mapping[str, Mapping[str, str]] = {TRIGGER: TRIGGERS, CONDITION: CONDITIONS, ACTION: ACTIONS}
LISTS: Mapping[str, tuple[str, str]] = {
    TRIGGER: ("triggers", "trigger"),
    CONDITION: ("conditions", "condition"),
    ACTION: ("actions", "action"),
}
"""Lists of an automation, by their current and old keys."""
COMMON: Mapping[str, tuple[str, ...]] = {
    TRIGGER: ("alias", "id", "enabled", "variables"),
    CONDITION: ("alias", "enabled"),
    ACTION: ("alias", "enabled", "continue_on_error"),
}
_COMMON_SCHEMA: Mapping[str, Mapping[str, Any]] = {
    "alias": {"type": "string", "description": "Name shown in traces."},
    "id": {"type": "string", "description": "Available to conditions and templates as `trigger.id`."},
    "enabled": {"type": ["boolean", "string"], "description": "true, false, or a template."},
    "variables": {"type": "object", "description": "Additional variables of the runs it starts."},
    "continue_on_error": {"type": "boolean", "description": "Whether the run goes on when it fails."},
}
_NEVER = frozenset({"metadata", "data_template", "event_data_template", "index"})
_BESIDE = {"repeat": {"count": {"type": ["integer", "string"]}, "for_each": {}}}


class Nested(Struct, frozen=True):
    """A list of cards inside a card: below which keys, and of what."""

    keys: tuple[str, ...]
    what: str


NESTED: Mapping[tuple[str, str], tuple[Nested, ...]] = {
    (CONDITION, "and"): (Nested(("conditions",), CONDITION),),
    (CONDITION, "or"): (Nested(("conditions",), CONDITION),),
    (CONDITION, "not"): (Nested(("conditions",), CONDITION),),
    (ACTION, "if"): (Nested(("if",), CONDITION), Nested(("then",), ACTION), Nested(("else",), ACTION)),
    (ACTION, "sequence"): (Nested(("sequence",), ACTION),),
    (ACTION, "parallel"): (Nested(("parallel",), ACTION),),
    (ACTION, "choose"): (Nested(("default",), ACTION),),
    (ACTION, "repeat"): (
        Nested(("repeat", "while"), CONDITION),
        Nested(("repeat", "sequence"), ACTION),
        Nested(("repeat", "until"), CONDITION),
    ),
    (ACTION, "wait_for_trigger"): (Nested(("wait_for_trigger",), TRIGGER),),
}
OPTION: tuple[Nested, ...] = (Nested(("conditions",), CONDITION), Nested(("sequence",), ACTION))
"""Lists of an option of `choose`."""

_FRESH_ACTION: Mapping[str, Any] = {
    "delay": "00:00:05",
    "wait_template": "{{ true }}",
    "wait_for_trigger": None,
    "condition": "state",
    "choose": None,
    "repeat": {"count": 2, "sequence": None},
    "sequence": None,
    "parallel": None,
    "variables": {"name": "value"},
}


def kind_of(what: str, item: Any) -> str | None:
    """Return the kind of a trigger, condition or step as written; None when the form cannot show it."""
    if isinstance(item, str):
        return "template" if what != TRIGGER and is_template(item) else None
    if not isinstance(item, dict):
        return None
    if what == TRIGGER:
        name = item.get("trigger", item.get("platform"))
        return name if isinstance(name, str) and name in TRIGGERS else None
    if what == CONDITION:
        return _condition_kind(item)
    if "service" in item and step_key(item) is None:
        return "action"
    if step_key(item) is None and item.keys() & {"and", "or", "not"}:
        return "condition"
    return step_key(item)


def fresh(what: str, kind: str) -> dict[str, Any]:
    """Return a new trigger, condition or step."""
    if what == ACTION:
        if kind == "if":
            return {"if": None, "then": None}
        return {kind: _FRESH_ACTION.get(kind, "")}
    found: dict[str, Any] = {what: kind}
    if what == CONDITION and kind in ("and", "or", "not"):
        found["conditions"] = None
    return found


@cache
def own_keys(what: str, kind: str) -> Mapping[str, Any]:
    """Return `{"properties": …, "required": […]}` of a kind's own keys that are fields, not lists of cards."""
    skipped = _NEVER.union(COMMON[what], (nested.keys[0] for nested in NESTED.get((what, kind), ())))
    if kind == "choose":
        skipped |= {"choose"}
    if what != ACTION:
        skipped |= {what, "platform"}
        if kind == "trigger":
            skipped -= {"id"}
    fields = {key: check for key, check in _fields(what, kind).items() if str(key) not in skipped}
    if what == ACTION and kind == "condition":
        return {"properties": {}, "required": []}
    found = to_json_schema(fields)
    return {"properties": found.get("properties", {}), "required": found.get("required", [])}


def below_keys(kind: str) -> Mapping[str, Any]:
    """Return the fields that stand one level deeper in a step, such as `count` in `repeat`."""
    return _BESIDE.get(kind, {})


def common_schema(key: str) -> Mapping[str, Any]:
    """Return the JSON Schema of a key that every kind has."""
    return _COMMON_SCHEMA[key]


@cache
def settings() -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON Schemas of an automation's own keys."""
    found: Mapping[str, Mapping[str, Any]] = settings_json()["properties"]
    return found


def _fields(what: str, kind: str) -> Mapping[Any, Any]:
    if what == TRIGGER:
        return trigger_kind(kind).fields
    return condition_kind(kind).fields if what == CONDITION else action_kind(kind).fields


def _condition_kind(item: dict[str, Any]) -> str | None:
    name = item.get("condition")
    if isinstance(name, str):
        return name if name in CONDITIONS else None
    if name is None:
        return next((short for short in ("and", "or", "not") if short in item), None)
    return None
