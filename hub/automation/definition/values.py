"""Validators of the single values in automations: durations, templates, times, entity ids.

What may be a template is checked for its syntax and kept as written; it is rendered when needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import (
    DURATION_UNITS_S,
    REGISTRY_ID,
    Described,
    Invalid,
    MultipleInvalid,
    Schema,
    as_list,
    boolean,
    duration,
    each_error,
    entity_id,
    entity_or_registry_id,
    show,
    string,
)
from hub.core.secret import Secret

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ALL_OR_NONE = ("all", "none")
_TIME = re.compile(r"^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$")
_literal: ContextVar[bool] = ContextVar("literal", default=False)


@contextmanager
def literal_text(literal: bool) -> Iterator[None]:
    """Treat text as literal within this context if `literal` is true: nothing is a template."""
    token = _literal.set(literal)
    try:
        yield
    finally:
        _literal.reset(token)


def is_template(value: Any) -> bool:
    """Whether a value is text with a template in it."""
    return isinstance(value, str) and "{" in value and ("{{" in value or "{%" in value or "{#" in value)


def checked_template(text: str) -> str:
    if _literal.get() or not is_template(text):
        return text
    from hub.template.check import check_template

    problem = check_template(text)
    if problem is not None:
        raise Invalid(phrase("the template is not valid: {problem}", problem=problem))
    return text


def _described(json: Mapping[str, Any], name: str) -> Callable[[Callable[[Any], Any]], Described]:
    return lambda check: Described(check, json, name)


@_described({"type": "string"}, "template")
def template(value: Any) -> str:
    """Accept a template, or a constant in its place: text, a number, true or false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return checked_template(string(value))


@_described({}, "value or template")
def dynamic(value: Any) -> Any:
    """Accept plain data in which every text may be a template; a secret becomes its text."""
    if isinstance(value, str):
        return checked_template(value)
    if isinstance(value, Secret):
        raise Invalid(phrase("expected text"))  # the check of the files then puts its text here, and shows it nowhere
    if isinstance(value, dict):
        return _each(value.items(), {}, value)
    if isinstance(value, list):
        return _each(enumerate(value), [], value)
    return value


def _each(items: Any, empty: Any, value: Any) -> Any:
    errors: list[Invalid] = []
    for key, each in items:
        try:
            dynamic(each)
        except Invalid as error:
            error.prepend([key])
            errors.extend(each_error(error))
    if errors:
        raise MultipleInvalid(errors)
    return value


@_described({"type": "string"}, "text or template")
def dynamic_text(value: Any) -> str:
    """Accept text that may be a template."""
    return checked_template(string(value))


@_described({"type": "object"}, "variables")
def variables(value: Any) -> dict[str, Any]:
    """Accept names and their values, which may be templates."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(phrase("expected names and their values, got {value}", value=show(value)))
    for name in value:
        if not isinstance(name, str) or not name.isidentifier():
            raise Invalid(
                phrase("expected the name of a variable (letters, digits, _), got {value}", value=show(name)),
                path=[name],
            )
    checked: dict[str, Any] = dynamic(value)
    return checked


@_described(duration.json_schema, "duration or template")
def dynamic_duration(value: Any) -> Any:
    """Accept a duration (returned in seconds), a template of one, or a mapping with templates (returned as it is)."""
    if is_template(value):
        return checked_template(value)
    if isinstance(value, dict) and any(is_template(each) for each in value.values()):
        for key in value:
            if key not in DURATION_UNITS_S:
                raise Invalid(
                    phrase("expected days, hours, minutes, seconds or milliseconds, got {value}", value=show(key)),
                    path=[key],
                )
        return dynamic(value)
    return duration(value)


def resolve_duration(value: Any, render: Callable[[Any], Any]) -> float:
    """Return the seconds of a `dynamic_duration`.

    Args:
        render: Renders what has templates in it.

    Raises:
        Invalid: What came out is not a duration.
    """
    if isinstance(value, float):
        return value
    return float(duration(render(value)))


# Compiled once: a validator that is called outside of a schema is compiled at every call.
_ENTITY_IDS = Schema([entity_or_registry_id])


def _entity_ids(value: Any) -> list[str]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    found = _ENTITY_IDS([each.lower() if isinstance(each, str) else each for each in as_list(value)])
    if not found:
        raise Invalid(phrase("expected an entity id such as light.kitchen, got nothing"))
    return list(dict.fromkeys(found))


_LIST_OF_TEXT = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
entity_ids = Described(_entity_ids, _LIST_OF_TEXT, "entity ids")


@_described(_LIST_OF_TEXT, "entity ids or template")
def dynamic_entity_ids(value: Any) -> Any:
    """Accept entity ids (returned as a list), or a template of them (returned as it is)."""
    if is_template(value):
        return checked_template(value)
    if isinstance(value, list) and any(is_template(each) for each in value):
        return dynamic(value)
    return _entity_ids(value)


@_described(_LIST_OF_TEXT, "entity ids, all or none")
def some_or_all(value: Any) -> list[str] | str:
    """Accept entity ids (returned as a list), or `all` or `none`."""
    if isinstance(value, str) and value.strip().lower() in ALL_OR_NONE:
        return value.strip().lower()
    return _entity_ids(value)


@_described(_LIST_OF_TEXT, "entity ids, all, none or template")
def target_entity_ids(value: Any) -> Any:
    """Accept entity ids, a template of them, or the words `all` and `none`."""
    if isinstance(value, str) and value.strip().lower() in ALL_OR_NONE:
        return value.strip().lower()
    return dynamic_entity_ids(value)


@_described(_LIST_OF_TEXT, "ids or template")
def target_ids(value: Any) -> Any:
    """Accept ids of devices, areas, floors or labels, or templates of them."""
    if value is None or isinstance(value, str):
        return dynamic(value)
    return [dynamic_text(each) for each in as_list(value)]


@_described({"type": ["number", "string"]}, "number or entity id")
def number_or_entity(value: Any) -> float | str:
    """Accept a number, or an entity that provides one, also by its registry id."""
    if isinstance(value, str) and REGISTRY_ID.fullmatch(value):
        return value
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if math.isfinite(found):
            return found
    try:
        return str(entity_id(value.lower() if isinstance(value, str) else value))
    except Invalid:
        raise Invalid(
            phrase("expected a number or an entity id such as sensor.limit, got {value}", value=show(value))
        ) from None


@_described(_LIST_OF_TEXT, "event types")
def event_types(value: Any) -> list[str]:
    """Accept one event type or a list; templates of them are kept."""
    found = [checked_template(string(each)) for each in as_list(value)]
    if not found or not all(found):
        raise Invalid(phrase("expected an event type, got nothing"))
    return found


@_described(_LIST_OF_TEXT, "text or list of texts")
def match_text(value: Any) -> list[str]:
    """Accept one text or a list of texts, none of them empty."""
    found = [string(each) for each in as_list(value)]
    if not found or not all(found):
        raise Invalid(phrase("expected text, got nothing"))
    return found


@_described({"type": "string", "pattern": _TIME.pattern}, "time of day")
def time_of_day(value: Any) -> int:
    """Accept `HH:MM` or `HH:MM:SS`; return seconds since midnight.

    A reader of YAML 1.1 takes 07:30 without quotes for a number; ours does not, so quotes are optional.
    """
    match = _TIME.match(value) if isinstance(value, str) else None
    if match is None:
        raise Invalid(phrase("expected a time of day such as 07:30 or 07:30:00, got {value}", value=show(value)))
    return int(match[1]) * 3_600 + int(match[2]) * 60 + int(match[3] or 0)


@_described({"anyOf": [{"enum": list(WEEKDAYS)}, {"type": "array", "items": {"enum": list(WEEKDAYS)}}]}, "weekdays")
def weekdays(value: Any) -> list[str]:
    """Accept one of mon, tue, wed, thu, fri, sat, sun, or a list of them."""
    found = as_list(value)
    for index, each in enumerate(found):
        if each not in WEEKDAYS:
            raise Invalid(
                phrase("expected one of {names}, got {value}", names=WEEKDAYS, value=show(each)),
                path=[index] * (value is found),
            )
    return list(dict.fromkeys(found))


@_described({"type": ["boolean", "string"]}, "true, false or template")
def enabled(value: Any) -> bool | str:
    """Accept true, false, or a template of it."""
    if is_template(value):
        return checked_template(value)
    return bool(boolean(value))
