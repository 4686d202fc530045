"""Values of selectors: each function returns the value, or raises `Invalid` with what was expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from hub.automation.definition.values import template, time_of_day
from hub.automation.services.addresses import TARGET
from hub.core.phrases import phrase
from hub.core.schema import Invalid, as_list, boolean, duration, entity_id, number, show, slug, string
from hub.entities.domains import TARGET_KEYS

Options = Mapping[str, Any]

_ICON = re.compile(r"[a-z0-9-]{1,32}:[a-z0-9-]{1,64}")
_TOOL_OR_NAME_LIMIT = 100_000
_SESSION = re.compile(r"[^\s]{1,300}")


def anything(value: Any, options: Options) -> Any:
    return value


def text(value: Any, options: Options) -> Any:
    if isinstance(value, bool):
        raise Invalid(phrase("expected text, got {value}; put quotes around it", value=show(value)))
    found = string(value)
    if len(found) > _TOOL_OR_NAME_LIMIT:
        raise Invalid(phrase("expected at most {limit} characters", limit=_TOOL_OR_NAME_LIMIT))
    return found


def template_value(value: Any, options: Options) -> Any:
    return template(value)


def true_or_false(value: Any, options: Options) -> Any:
    return boolean(value)


def slug_value(value: Any, options: Options) -> Any:
    return slug(value)


def channel(value: Any, options: Options) -> Any:
    """The name of a channel; with `address: true` where something goes: none, last, or a channel and a peer on it."""
    if not options.get("address"):
        return slug(value)
    try:
        return TARGET(value)
    except Invalid as error:
        if isinstance(value, dict):
            raise
        raise Invalid(
            phrase("expected last, none, or a channel and to (the peer on it), got {value}", value=show(value))
        ) from error


def number_value(value: Any, options: Options) -> Any:
    found = number(value)
    low = options.get("min", options.get("min_mireds"))
    high = options.get("max", options.get("max_mireds"))
    if (low is not None and found < low) or (high is not None and found > high):
        raise Invalid(phrase("expected a number {range}, got {value}", range=_span(low, high), value=show(value)))
    return found


def _span(low: float | None, high: float | None) -> str:
    if low is None:
        return phrase("of at most {high}", high=f"{high:g}")
    if high is None:
        return phrase("of at least {low}", low=f"{low:g}")
    return phrase("from {low} to {high}", low=f"{low:g}", high=f"{high:g}")


def color(value: Any, options: Options) -> Any:
    is_color = isinstance(value, list) and len(value) == 3 and all(type(each) is int for each in value)
    if not is_color or not all(0 <= each <= 255 for each in value):
        raise Invalid(phrase("expected a color as three numbers from 0 to 255, got {value}", value=show(value)))
    return list(value)


def date_value(value: Any, options: Options) -> Any:
    try:
        date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise Invalid(phrase("expected a date such as 2026-12-24, got {value}", value=show(value))) from None
    return string(value)


def datetime_value(value: Any, options: Options) -> Any:
    try:
        datetime.fromisoformat(value if isinstance(value, str) and len(value) > 10 else "")
    except ValueError:
        raise Invalid(
            phrase("expected a date and time such as 2026-12-24 18:00:00, got {value}", value=show(value))
        ) from None
    return string(value)


def time_value(value: Any, options: Options) -> Any:
    time_of_day(value)
    return string(value)


def duration_value(value: Any, options: Options) -> Any:
    negative = isinstance(value, dict) and options.get("allow_negative")
    duration({key: abs(each) if _is_number(each) else each for key, each in value.items()} if negative else value)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def icon(value: Any, options: Options) -> Any:
    if not isinstance(value, str) or not _ICON.fullmatch(value):
        raise Invalid(phrase("expected an icon such as mdi:lightbulb, got {value}", value=show(value)))
    return value


def location(value: Any, options: Options) -> Any:
    if not isinstance(value, dict) or not {"latitude", "longitude"} <= value.keys():
        raise Invalid(phrase("expected latitude and longitude, got {value}", value=show(value)))
    for key, each in value.items():
        if key not in {"latitude", "longitude", "radius"}:
            raise Invalid(phrase("expected latitude, longitude and perhaps radius"), path=[key])
        number(each)
    if abs(value["latitude"]) > 90 or abs(value["longitude"]) > 180:
        raise Invalid(phrase("expected a latitude from -90 to 90 and a longitude from -180 to 180"))
    return value


def session(value: Any, options: Options) -> Any:
    if not isinstance(value, str) or not _SESSION.fullmatch(value):
        raise Invalid(phrase("expected main, isolated or the key of a session, got {value}", value=show(value)))
    return value


def constant(value: Any, options: Options) -> Any:
    if value != options["value"] or isinstance(value, bool) != isinstance(options["value"], bool):
        raise Invalid(
            phrase(
                "expected {value}, the only value there is, got {given}",
                value=show(options["value"]),
                given=show(value),
            )
        )
    return value


def option(value: Any, options: Options) -> Any:
    found = ("true" if value else "false") if isinstance(value, bool) else string(value)
    known = [each["value"] if isinstance(each, dict) else each for each in options["options"]]
    if found not in known and not options.get("custom_value"):
        raise Invalid(phrase("expected one of {names}, got {value}", names=", ".join(known), value=show(value)))
    return found


def entity(value: Any, options: Options) -> Any:
    found = entity_id(value)
    domain = found.partition(".")[0]
    filters = [{"domain": options["domain"]}] if "domain" in options else options.get("filter", [])
    domains: list[list[str]] = [each["domain"] for each in filters if "domain" in each]
    if domains and len(domains) == len(filters) and not any(domain in each for each in domains):
        known = ", ".join(dict.fromkeys(name for each in domains for name in each))
        raise Invalid(phrase("expected an entity of {known}, got {value}", known=known, value=show(value)))
    for key, wanted in (("include_entities", True), ("exclude_entities", False)):
        if key in options and (found in options[key]) is not wanted:
            raise Invalid(phrase("the entity {found} cannot be chosen here", found=found))
    return found


def target(value: Any, options: Options) -> Any:
    if not isinstance(value, dict):
        raise Invalid(phrase("expected a target such as entity_id: light.kitchen, got {value}", value=show(value)))
    for key, each in value.items():
        if key not in TARGET_KEYS:
            raise Invalid(phrase("expected one of {names}", names=", ".join(TARGET_KEYS)), path=[key])
        for id in as_list(each):
            (entity_id if key == "entity_id" else string)(id)
    return {key: each for key, each in value.items() if each not in (None, "", [])}


def steps(value: Any, options: Options) -> Any:
    return _list_of(value, "actions")


def condition_list(value: Any, options: Options) -> Any:
    return value if isinstance(value, str) else _list_of(value, "conditions")


def trigger_list(value: Any, options: Options) -> Any:
    return _list_of(value, "triggers")


def _list_of(value: Any, what: str) -> Any:
    """Accept a list or a mapping; the grammar validates its items where they are used."""
    if not isinstance(value, (list, dict)):
        raise Invalid(phrase("expected {what}, got {value}", what=what, value=show(value)))
    return value
