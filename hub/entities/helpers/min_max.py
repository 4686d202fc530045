"""`min_max`: the least, greatest, mean … of several sensors.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import statistics
from typing import Any

from hub.core.schema import All, In, Length, Optional, Range, Required, integer
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Settings
from hub.entities.helpers.groups import ENTITIES, MEMBERS_LIMIT
from hub.entities.helpers.readings import MEASUREMENT, one_unit, reading

TYPES = ("min", "max", "mean", "median", "last", "range", "sum")


def _min_max(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    ids, kind, digits = settings["entity_ids"], settings["type"], settings["round_digits"]
    states = {each: home.state(each) for each in ids}
    numbers = {each: value for each, state in states.items() if (value := reading(state)) is not None}
    before = None if kept is None or home.starting else kept.attributes.get("unit_of_measurement")
    unit = one_unit(states.values()) or before
    value, of = combined(kind, numbers, digits, is_whole=len(numbers) == len(ids)), None
    if kind in ("min", "max") and numbers:
        of = (min if kind == "min" else max)(numbers, key=numbers.__getitem__)
    if kind == "last":
        known = kept.attributes.get("last_entity_id") if kept is not None and not home.starting else None
        of = home.changed if home.changed in numbers else known or next(reversed(numbers), None)
        value = numbers.get(of) if of in numbers else float(kept.state) if kept is not None and kept.state else None
    told = {f"{kind}_entity_id": of} if kind in ("min", "max", "last") else {}
    shown = {**MEASUREMENT, **({"unit_of_measurement": unit} if unit is not None else {}), **told}
    return Held(None if value is None or unit == "ERR" else str(value), shown)


def combined(kind: str, numbers: dict[str, float], digits: int | None, *, is_whole: bool) -> float | None:
    """Return the least, mean, sum … of numbers; None where there are none, or the sum of some alone."""
    found = list(numbers.values())
    if not found or (kind == "sum" and not is_whole):
        return None
    match kind:
        case "min":
            return min(found)
        case "max":
            return max(found)
        case "mean":
            value = statistics.fmean(found)
        case "median":
            value = statistics.median(found)
        case "range":
            value = max(found) - min(found)
        case "sum":
            value = sum(found)
        case _:
            return None
    return round(value, digits) if digits is not None else value


def _rule(settings: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"{settings['type']} sensor".capitalize(), **settings}


KINDS = (
    HelperKind(
        "sensor",
        "The least, greatest, mean … of several sensors",
        {
            Required("entity_ids", description="The sensors"): All(ENTITIES, Length(min=1, max=MEMBERS_LIMIT)),
            Optional("type", default="max", description="What is made of them"): In(TYPES),
            Optional("round_digits", default=2, description="Digits after the point of a mean"): All(
                integer, Range(min=0, max=10)
            ),
        },
        _min_max,
        {},
        _rule,
        lambda settings: {"icon": "mdi:calculator"} if "icon" not in settings else {},
        _min_max,
        lambda settings: settings["entity_ids"],
        is_kept=False,
        has_editable=False,
        quotes=True,
        platform="min_max",
    ),
)
