"""Validators for lists of triggers, conditions and steps, whose items are of many kinds; and all other validators.

Each item is given to the schema of its kind; old words and short forms become today's long ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from hub.automation.definition.kinds import SAME_TRIGGER, SORTS, AnyKind, kinds_in_use, sort_of
from hub.automation.definition.values import (
    dynamic,
    dynamic_duration,
    dynamic_entity_ids,
    dynamic_text,
    enabled,
    entity_ids,
    event_types,
    is_template,
    literal_text,
    match_text,
    number_or_entity,
    resolve_duration,
    target_entity_ids,
    target_ids,
    template,
    time_of_day,
    variables,
    weekdays,
)
from hub.config.suggest import nearest
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import (
    Described,
    DescribedLater,
    Invalid,
    MultipleInvalid,
    Optional,
    Schema,
    SchemaError,
    as_list,
    boolean,
    duration,
    each_error,
    show,
    string,
)

__all__ = [
    "Described",
    "conditions",
    "duration",
    "dynamic",
    "dynamic_duration",
    "dynamic_entity_ids",
    "dynamic_text",
    "enabled",
    "entity_ids",
    "event_types",
    "is_template",
    "literal_text",
    "match_text",
    "number_or_entity",
    "resolve_duration",
    "sequence",
    "target_entity_ids",
    "target_ids",
    "template",
    "time_of_day",
    "triggers",
    "variables",
    "weekdays",
]

STEPS_LIMIT = 1_000
KINDS_LIMIT = 500
"""Kinds whose schemas are kept."""
_OLD_ACTION = ("service", "service_template")
# --- triggers, conditions, steps ---


_COMMON: Mapping[str, Mapping[Any, Any]] = {
    "trigger": {
        Optional("trigger", description="Which kind of trigger."): string,
        Optional("platform", description="The old name of `trigger`."): string,
        Optional("id", description="Available to conditions and templates as `trigger.id`."): string,
        Optional("alias", description="Name shown in traces."): string,
        Optional("enabled", description="Whether it is watched."): enabled,
        Optional("variables", description="Additional variables of the runs it starts."): variables,
    },
    "condition": {
        Optional("condition", description="Which kind of condition."): string,
        Optional("alias", description="Name shown in traces."): string,
        Optional("enabled", description="Whether it counts."): enabled,
    },
    "action": {
        Optional("alias", description="Name shown in traces."): string,
        Optional("enabled", description="Whether it is done."): enabled,
        Optional("continue_on_error", description="Whether the run goes on when it fails."): boolean,
    },
}


@lru_cache(KINDS_LIMIT)
def _schema_of(kind: AnyKind) -> Schema:
    return Schema({**_COMMON[sort_of(type(kind))], **kind.fields})


def _kind_schema(kind: AnyKind) -> dict[str, Any]:
    what = sort_of(type(kind))
    found = dict(to_json_schema(_schema_of(kind)))
    if what != "action":
        old = [word for word, name in SAME_TRIGGER.items() if what == "trigger" and name == kind.name]
        named = {"enum": [kind.name, *old]} if old else {"const": kind.name}
        found["properties"] = {**found.get("properties", {}), what: named}
        found["required"] = [what, *found.get("required", ())]
    found["description"] = kind.description
    return found


def _valid(kind: AnyKind, value: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _schema_of(kind)(value)
    return found if kind.rule is None else kind.rule(found)


def _trigger(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(phrase("expected a trigger (a mapping with the key trigger), got {value}", value=show(value)))
    key = "trigger" if "trigger" in value else "platform"
    if key not in value:
        raise _without_kind(value, "trigger", ("trigger", "platform"))
    kind = _named("trigger", value[key], key)
    found = _valid(kind, value)
    found.pop("platform", None)
    found["trigger"] = kind.name
    return found


def _named(what: str, name: Any, key: str) -> AnyKind:
    try:
        if not isinstance(name, str):
            raise Invalid(
                phrase("expected the name of one kind of {what}, got {value}", what=SORTS[what], value=show(name))
            )
        return kinds_in_use().of(what, name)
    except Invalid as error:
        error.prepend([key])
        raise


def _without_kind(value: Mapping[str, Any], what: str, words: Iterable[str]) -> Invalid:
    """Return the error for an item without a kind; names a key that nearly is one."""
    for key in value:
        meant = nearest(str(key), words)
        if meant is not None and key not in _COMMON[what]:
            return Invalid(phrase("there is no key {key} here; did you mean {word}?", key=key, word=meant), path=[key])
    if what == "action":
        return Invalid(phrase("this is not an action; expected one of the keys {names}", names=list(words)))
    return Invalid(phrase("expected the key {what}, which says what kind of {what} this is", what=what))


def _trigger_or_nest(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and "triggers" in value and not value.keys() & {"trigger", "platform"}:
        others = [key for key in value if key != "triggers"]
        if others:
            raise Invalid(
                phrase("a nested list of triggers has no other keys; expected triggers alone"), path=others[:1]
            )
        try:
            return {"triggers": _all_of(_trigger_or_nest, value["triggers"])}
        except Invalid as error:
            error.prepend(["triggers"])
            raise
    return _trigger(value)


def _triggers(value: Any) -> list[dict[str, Any]]:
    """Check triggers and flatten nested lists; `index` is where each was."""
    return list(_flat(_all_of(_trigger_or_nest, value), ""))


def _flat(found: list[dict[str, Any]], place: str) -> Iterator[dict[str, Any]]:
    for index, each in enumerate(found):
        if "trigger" in each:
            yield {**each, "index": f"{place}{index}"}
        else:
            yield from _flat(each["triggers"], f"{place}{index}/")


def _condition(value: Any) -> dict[str, Any]:
    if isinstance(value, (str, bool)):
        return {"condition": "template", "value_template": template(value)}
    if isinstance(value, list):
        return {"condition": "and", "conditions": conditions(value)}
    if not isinstance(value, dict):
        raise Invalid(
            phrase(
                "expected a condition (a mapping with the key condition, or a template), got {value}", value=show(value)
            )
        )
    name = value.get("condition")
    if name is None:
        for short in ("and", "or", "not"):
            if short in value:
                return _short_condition(value, short)
        raise _without_kind(value, "condition", ("condition", "and", "or", "not"))
    if isinstance(name, str) and is_template(name):
        return {**_COMMON_CONDITION({**value, "condition": "template"}), "value_template": template(name)}
    return _valid(_named("condition", name, "condition"), value)


def _short_condition(value: dict[str, Any], short: str) -> dict[str, Any]:
    rest = {key: each for key, each in value.items() if key != short}
    found: dict[str, Any] = _COMMON_CONDITION(rest)
    try:
        found["conditions"] = conditions(value[short])
    except Invalid as error:
        error.prepend([short])
        raise
    found["condition"] = short
    return found


_COMMON_CONDITION = Schema(dict(_COMMON["condition"]))


def _step(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and is_template(value):
        return {"condition": "template", "value_template": template(value)}
    if not isinstance(value, dict):
        raise Invalid(
            phrase("expected an action (a mapping such as action: light.turn_on), got {value}", value=show(value))
        )
    kinds = kinds_in_use()
    key = kinds.step_key(value)
    old = next((name for name in _OLD_ACTION if name in value), None)
    if old is not None and key in (None, "action"):
        return _old_step(value, old)
    if key is None and value.keys() & {"and", "or", "not"}:
        return _step_condition(value)
    if key is None and isinstance(value.get("scene"), str):
        rest = {name: each for name, each in value.items() if name not in ("scene", "metadata")}
        return _step({**rest, "action": "scene.turn_on", "target": {"entity_id": value["scene"]}})
    if key is None:
        raise _without_kind(value, "action", kinds.names("action"))
    if key == "condition":
        return _step_condition(value)
    if key in ("repeat", "choose") and "sequence" in value:
        raise Invalid(phrase("a sequence cannot be beside {key}; put it inside", key=key), path=["sequence"])
    return _valid(kinds.action(key), value)


def _old_step(value: dict[str, Any], old: str) -> dict[str, Any]:
    """Validate a service call in the old syntax; errors name the key as written in the file."""
    others = [name for name in ("action", *_OLD_ACTION) if name in value and name != old]
    if others:
        raise Invalid(
            phrase("{old} is the old name of {new}; use only one of them", old=old, new="action"),
            path=[others[0] if others[0] != "action" else old],
        )
    try:
        return _valid(
            kinds_in_use().action("action"), {("action" if name == old else name): each for name, each in value.items()}
        )
    except Invalid as error:
        for each in each_error(error):
            if each.path and each.path[0] == "action":
                each.path[0] = old
        raise


def _step_condition(value: dict[str, Any]) -> dict[str, Any]:
    plain = {name: each for name, each in value.items() if name != "continue_on_error"}
    found = _condition(plain)
    if "continue_on_error" in value:
        found["continue_on_error"] = boolean(value["continue_on_error"])
    return found


def _all_of(check: Callable[[Any], dict[str, Any]], value: Any) -> list[dict[str, Any]]:
    """Validate each item and report all errors; a single item counts as a list."""
    items = as_list(value)
    if len(items) > STEPS_LIMIT:
        raise Invalid(phrase("expected at most {most} of these, got {count}", most=STEPS_LIMIT, count=len(items)))
    found: list[dict[str, Any]] = []
    errors: list[SchemaError] = []
    for index, item in enumerate(items):
        try:
            found.append(check(item))
        except Invalid as error:
            if items is value:
                error.prepend([index])
            errors.extend(each_error(error))
    if errors:
        raise MultipleInvalid(errors)
    return found


def _conditions(value: Any) -> list[dict[str, Any]]:
    return _all_of(_condition, value)


def _sequence(value: Any) -> list[dict[str, Any]]:
    return _all_of(_step, value)


def _any_of(sort: str, short: Callable[[], list[dict[str, Any]]] = list) -> Callable[[], dict[str, Any]]:
    def json() -> dict[str, Any]:
        kinds = kinds_in_use()
        each = (_kind_schema(kinds.of(sort, name)) for name in kinds.names(sort))
        return {"type": "array", "items": {"anyOf": [*each, *short()]}}

    return json


def _short_conditions() -> list[dict[str, Any]]:
    common = to_json_schema(_COMMON_CONDITION)
    keys = {name: each for name, each in common["properties"].items() if name != "condition"}
    alone = {"not": {"required": ["condition"]}}
    return [
        {**common, "properties": {**keys, word: conditions.json_schema}, "required": [word], **alone}
        for word in ("and", "or", "not")
    ]


def _nested_triggers() -> list[dict[str, Any]]:
    alone = {"not": {"required": ["trigger"]}}
    return [{"type": "object", "properties": {"triggers": triggers.json_schema}, "required": ["triggers"], **alone}]


triggers = DescribedLater(_triggers, _any_of("trigger", _nested_triggers), "triggers", "array")
conditions = DescribedLater(_conditions, _any_of("condition", _short_conditions), "conditions", "array")
sequence = DescribedLater(_sequence, _any_of("action"), "actions", "array")
