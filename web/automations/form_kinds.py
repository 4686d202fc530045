"""The form's knowledge of the grammar: the kinds, their keys, and their nested lists of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from hub.automation.definition.fields import KINDS_LIMIT
from hub.automation.definition.grammar import script_settings_json, settings_json
from hub.automation.definition.kinds import AnyKind, kinds_in_use
from hub.automation.definition.values import is_template
from hub.core.json_schema import to_json_schema
from web.automations.script_field_kinds import OPTIONS, field_kind

TRIGGER, CONDITION, ACTION = "trigger", "condition", "action"
FIELD = "field"
"""A field of a script."""
LISTS: Mapping[str, tuple[str, str]] = {
    TRIGGER: ("triggers", "trigger"),
    CONDITION: ("conditions", "condition"),
    ACTION: ("actions", "action"),
}
"""Lists of an automation, by their current and old keys."""


class Shape(Struct, frozen=True):
    """What an automation or a script consists of, as its form shows it.

    Attributes:
        lists: Its lists of cards, by their current and old keys; the cards of fields are a mapping.
        settings: Returns the JSON Schemas of its own keys.
        first: Those of its own keys that are not folded away.
        titles: Titles of lists, where they are others than those of such a list inside a card.
    """

    lists: Mapping[str, tuple[str, str]]
    settings: Callable[[], Mapping[str, Mapping[str, Any]]]
    first: tuple[str, ...] = ("alias",)
    titles: Mapping[str, str] = {}


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
RARE: Mapping[str, frozenset[str]] = {
    "": frozenset(
        {
            "account", "active_hours", "after_offset", "allowed_methods", "anchor", "attribute",
            "before_offset", "code", "context", "continue_on_timeout", "data", "discovery_id", "domain",
            "encoding", "environment", "error", "errors", "event_data", "folder", "from_owner",
            "ignore_retained", "language", "local_only", "match", "max_per_minute", "model", "not_from",
            "not_to", "on_error", "pattern", "peer", "qos", "recursive", "regex", "response_variable",
            "restart", "sender", "session", "signature", "skip_unchanged", "stagger", "status", "subtype",
            "threshold", "time_zone", "tool", "value_template",
        }
    ),
    "template": frozenset(),
    "event": frozenset({"context"}),
    "stop": frozenset({"response_variable"}),
}  # fmt: skip
"""Keys whose fields are folded away while they are empty, by kind; those of most kinds first."""
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


def kind_names(what: str) -> tuple[str, ...]:
    """Return the names of all kinds of triggers, conditions, actions or fields that there are."""
    return tuple(OPTIONS) if what == FIELD else kinds_in_use().names(what) if what in LISTS else ()


def kind_of(what: str, item: Any) -> str | None:
    """Return the kind of a trigger, condition, step or field as written; None when the form cannot show it."""
    if what == FIELD:
        return field_kind(item)
    if isinstance(item, str):
        return "template" if what != TRIGGER and is_template(item) else None
    if not isinstance(item, dict):
        return None
    if what == TRIGGER:
        name = item.get("trigger", item.get("platform"))
        return name if isinstance(name, str) and name in kind_names(TRIGGER) else None
    if what == CONDITION:
        return _condition_kind(item)
    key = kinds_in_use().step_key(item)
    if key is None and "service" in item:
        return "action"
    return "condition" if key is None and item.keys() & {"and", "or", "not"} else key


def fresh(what: str, kind: str) -> dict[str, Any]:
    """Return a new trigger, condition, step or field."""
    if what == FIELD:
        return {"selector": {kind: {}}}
    if what == ACTION:
        if kind == "if":
            return {"if": None, "then": None}
        return {kind: _FRESH_ACTION.get(kind, "")}
    found: dict[str, Any] = {what: kind}
    if what == CONDITION and kind in ("and", "or", "not"):
        found["conditions"] = None
    return found


def own_keys(what: str, kind: str) -> Mapping[str, Any]:
    """Return `{"properties": …, "required": […]}` of a kind's own keys that are fields, not lists of cards."""
    return _own_keys(what, kind, kinds_in_use().of(what, kind))


@lru_cache(KINDS_LIMIT)
def _own_keys(what: str, kind: str, found: AnyKind) -> Mapping[str, Any]:
    skipped = _NEVER.union(COMMON[what], (nested.keys[0] for nested in NESTED.get((what, kind), ())))
    if kind == "choose":
        skipped |= {"choose"}
    if what != ACTION:
        skipped |= {what, "platform"}
        if kind == "trigger":
            skipped -= {"id"}
    fields = {key: check for key, check in found.fields.items() if str(key) not in skipped}
    if what == ACTION and kind == "condition":
        return {"properties": {}, "required": []}
    schema = to_json_schema(fields)
    return {"properties": schema.get("properties", {}), "required": schema.get("required", [])}


def below_keys(kind: str) -> Mapping[str, Any]:
    """Return the fields that are one level deeper in a step, such as `count` in `repeat`."""
    return _BESIDE.get(kind, {})


def common_schema(key: str) -> Mapping[str, Any]:
    """Return the JSON Schema of a key that every kind has."""
    return _COMMON_SCHEMA[key]


@cache
def settings() -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON Schemas of an automation's own keys."""
    found: Mapping[str, Mapping[str, Any]] = settings_json()["properties"]
    return found


@cache
def script_settings() -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON Schemas of a script's own keys."""
    found: Mapping[str, Mapping[str, Any]] = script_settings_json()["properties"]
    return found


AUTOMATION_SHAPE = Shape(LISTS, settings)
SCRIPT_SHAPE = Shape(
    {FIELD: ("fields", "fields"), ACTION: ("sequence", "sequence")},
    script_settings,
    ("alias", "description"),
    {ACTION: "steps"},
)


def _condition_kind(item: dict[str, Any]) -> str | None:
    name = item.get("condition")
    if isinstance(name, str):
        return name if name in kind_names(CONDITION) else None
    if name is None:
        return next((short for short in ("and", "or", "not") if short in item), None)
    return None
