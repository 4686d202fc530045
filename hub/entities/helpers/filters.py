"""`filter`: a sensor without its outliers, its noise, or some of its values.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeAlias

from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, as_list, integer, numeric
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Past, Settings
from hub.entities.helpers.readings import NOTHING, SOURCE, exact, span, unit_of

FILTERS_LIMIT = 20
WINDOW_LIMIT = 1_000
_WINDOW = 1
_ICON = "mdi:chart-line-variant"
_Said: TypeAlias = float | str
_Memory: TypeAlias = Mapping[str, Any]


def _filtered(step: Mapping[str, Any], memory: _Memory, at: float, said: _Said) -> tuple[_Said | None, _Memory]:
    """Return what a filter makes of a value, None where it leaves it out, and what it remembers then.

    Raises:
        ValueError: It is for numbers, and this is none.
    """
    name, seen = step["filter"], list(memory.get("seen", ()))
    size = step.get("window_size", _WINDOW)
    if name == "throttle":
        is_next = not seen or len(seen) >= size
        return (said if is_next else None), {"seen": [said] if is_next else [*seen, said]}
    if name == "time_throttle":
        is_next = "at" not in memory or memory["at"] <= at - size
        return (said, {"at": at}) if is_next else (None, memory)
    if isinstance(said, str):
        raise ValueError(said)
    value = raw = said
    if name == "range":
        low, high = step.get("lower_bound"), step.get("upper_bound")
        value = high if high is not None and value > high else low if low is not None and value < low else value
    elif name == "outlier" and len(seen) == size:
        middle = statistics.median(seen)
        value = middle if abs(value - middle) > step["radius"] else value
    elif name == "lowpass" and seen:
        weight = 1.0 / step["time_constant"]
        value = (1.0 - weight) * seen[-1] + weight * value
    elif name == "time_simple_moving_average":
        gone = [each for each in seen if each[0] + size <= at]
        kept = [*(each for each in seen if each[0] + size > at), [at, value]]
        before = gone[-1] if gone else memory.get("gone") or kept[0]
        steps = pairwise([[at - size, before[1]], *kept])
        value = sum((end[0] - begin[0]) * begin[1] for begin, end in steps) / size
        return _rounded(step, value), {"seen": kept[-WINDOW_LIMIT:], "gone": before}
    value = _rounded(step, value)
    return value, {"seen": [*seen, raw if name == "outlier" else value][-size:]}


def _rounded(step: Mapping[str, Any], value: float) -> float:
    digits = step.get("precision", 2 if step["filter"] in ("lowpass", "time_simple_moving_average") else None)
    return value if digits is None else round(value) if digits == 0 else round(value, digits)


def _begin(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    """Begin with what history has of the sensor."""
    empty = Held(None, {"entity_id": settings["entity_id"]}, memory=_fresh(settings, is_read=home.past is not None))
    state = home.state(settings["entity_id"])
    past = list(home.past or ())
    if home.past is not None and state is not None and (not past or past[-1][0] < state.last_updated):
        past.append((state.last_updated, state.state))
    held = empty
    for at, text in past:
        if text not in NOTHING:
            held = _after(settings, held, home, at, text)
    return held


def _fresh(settings: Settings, *, is_read: bool) -> dict[str, Any]:
    return {"filters": [{} for _ in settings["filters"]], "read": is_read, "unit": None}


def _next(settings: Settings, held: Held, home: HelperHome) -> Held:
    state = home.state(settings["entity_id"])
    if state is None or state.state == "unknown":
        return Held(None, {**held.attributes, "entity_id": settings["entity_id"]}, memory=held.memory)
    if state.state == "unavailable":
        shown = {key: each for key, each in held.attributes.items() if key != "entity_id"}
        return Held(state.state, shown, memory=held.memory)
    return _after(settings, held, home, state.last_updated, state.state)


def _after(settings: Settings, held: Held, home: HelperHome, at: float, text: str) -> Held:
    value = exact(text)
    said: _Said = text if value is None else float(value)
    memories = list(held.memory["filters"])
    for index, step in enumerate(settings["filters"]):
        try:
            left, memories[index] = _filtered(step, memories[index], at, said)
        except ValueError:
            return held
        if left is None:
            return Held(held.state, held.attributes, memory={**held.memory, "filters": memories})
        said = left
    state = home.state(settings["entity_id"])
    unit = unit_of(state)
    memory = {**held.memory, "filters": memories, "unit": unit}
    if unit != held.memory["unit"]:
        memory["filters"] = [{**each, "seen": [], "gone": None} if "seen" in each else each for each in memories]
    source = state.attributes if state is not None else {}
    told = {key: source[key] for key in ("device_class", "state_class", "unit_of_measurement") if source.get(key)}
    icon = {} if "icon" in settings else {"icon": source.get("icon", _ICON)}
    return Held(str(said), {**told, **icon, "entity_id": settings["entity_id"]}, memory=memory)


def _past(settings: Settings, held: Held, home: HelperHome) -> Past | None:
    if held.memory["read"]:
        return None
    sizes = [(each["filter"].startswith("time_"), each.get("window_size", _WINDOW)) for each in settings["filters"]]
    longest = max((size for is_time, size in sizes if is_time), default=0.0)
    most = max((int(size) for is_time, size in sizes if not is_time), default=0)
    return Past(settings["entity_id"], home.now - longest if longest else 0.0, WINDOW_LIMIT if longest else most)


def _form(name: str, fields: Mapping[Any, Any]) -> dict[Any, Any]:
    digits = {Optional("precision", description="Digits after the point"): All(integer, Range(min=0, max=10))}
    return {Required("filter"): In((name,)), **fields, **digits}


_COUNT = {Optional("window_size", default=_WINDOW, description="How many values"): All(integer, Range(1, WINDOW_LIMIT))}
_TIME = {Required("window_size", description="How long"): span}
_FILTER = AnyOf(
    _form("lowpass", {**_COUNT, Optional("time_constant", default=10): All(integer, Range(min=1))}),
    _form("outlier", {**_COUNT, Optional("radius", default=2.0): numeric}),
    _form("range", {Optional("lower_bound"): numeric, Optional("upper_bound"): numeric}),
    _form("throttle", _COUNT),
    _form("time_throttle", _TIME),
    _form("time_simple_moving_average", {**_TIME, Optional("type", default="last"): In(("last",))}),
)
KINDS = (
    HelperKind(
        "sensor",
        "A sensor without its outliers, its noise, or some of its values",
        {
            Required("entity_id", description="The sensor"): SOURCE,
            Required("filters", description="Each makes something of what the one before leaves"): All(
                as_list, [_FILTER], Length(min=1, max=FILTERS_LIMIT)
            ),
        },
        _begin,
        {},
        lambda settings: {"name": f"{settings['entity_id']} filter", **settings},
        wake=_next,
        follows=lambda settings: (settings["entity_id"],),
        is_kept=False,
        has_editable=False,
        quotes=True,
        platform="filter",
        past=_past,
    ),
)
