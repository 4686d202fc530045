"""`derivative` and `integration`: how fast a sensor changes, and what it adds up to over time.

Source: the documentation of these integrations of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hub.core.schema import All, AnyOf, In, Optional, Range, Required, integer, string
from hub.core.states import EntityState
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Settings
from hub.entities.helpers.readings import ENERGY_UNITS, SOURCE, exact, span, unit_of

_PREFIXES = {None: 1.0, "none": 1.0, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_LARGE = (None, "none", "k", "M", "G", "T")
_TIMES = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_DIGITS = All(integer, Range(min=0, max=15))


def _prefix(settings: Settings) -> str | None:
    """Return the prefix of the unit; Home Assistant once stored the lack of one as a word."""
    found = settings.get("unit_prefix")
    return None if found == "none" else found


def _last(state: EntityState | None, at: float) -> dict[str, Any]:
    """Return what the source says, to be compared with what it says next."""
    return {"last": [at, state.state] if state is not None else None}


def _begun(state: EntityState | None) -> dict[str, Any]:
    return _last(state, state.last_updated if state is not None else 0.0)


# --- derivative ---


def _begin_rate(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    digits = settings["round"]
    known = exact(kept.state) if kept is not None else None
    unit = settings.get("unit") or (kept.attributes.get("unit_of_measurement") if kept is not None else None)
    return Held(
        str(round(known or Decimal(0), digits)),
        {"source": settings["source"], **({"unit_of_measurement": unit} if unit is not None else {})},
        memory=_begun(home.state(settings["source"])),
    )


def _rate(settings: Settings, held: Held, home: HelperHome) -> Held:
    """Return the change over the time since the source was last heard, or its mean over a window of time."""
    state, last = home.state(settings["source"]), held.memory.get("last")
    memory: dict[str, Any] = {**held.memory, **_last(state, home.now)}
    unchanged = Held(held.state, held.attributes, memory=memory)
    if state is None or last is None or (last[1] == state.state and not float(held.state or 0)):
        return unchanged
    before, now = exact(last[1]), exact(state.state)
    elapsed = home.now - last[0]
    if before is None or now is None or elapsed <= 0:
        return unchanged
    unit = settings.get("unit") or held.attributes.get("unit_of_measurement")
    if unit is None:
        unit = f"{_prefix(settings) or ''}{unit_of(state) or ''}/{settings['unit_time']}"
    attributes = {**held.attributes, "unit_of_measurement": unit}
    rate = float(now - before) / elapsed / _PREFIXES[_prefix(settings)] * _TIMES[settings["unit_time"]]
    if state.attributes.get("state_class") == "total_increasing" and rate < 0:
        return Held(held.state, attributes, memory=memory)  # it was reset
    span = settings["time_window"]
    window = [each for each in held.memory.get("window", ()) if home.now - each[1] < span]
    window.append([last[0], home.now, rate])
    memory["window"] = window
    if elapsed <= span:
        rate = sum(value * (end - max(start, home.now - span)) / span for start, end, value in window)
    return Held(f"{rate:.{settings['round']}f}", attributes, memory=memory)


# --- integration ---


def _begin_sum(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    state = home.state(settings["source"])
    memory = {**_begun(state), "total": kept.memory.get("total") if kept is not None else None, "at": home.now}
    known = kept.attributes.get("unit_of_measurement") if kept is not None else None
    attributes = {**_look(settings), **({"unit_of_measurement": known} if known is not None else {})}
    if state is not None and state.state != "unavailable":
        attributes = _measure(settings, state)
    attributes = {**attributes, "source": settings["source"]}
    return Held(_told(settings, memory), attributes, _due(settings, home), memory=memory)


def _sum(settings: Settings, held: Held, home: HelperHome) -> Held:
    """Return the sum, with what was added since the source was last heard; due again when it stays silent."""
    state = home.state(settings["source"])
    memory: dict[str, Any] = {**held.memory, **_last(state, home.now)}
    if state is None:
        return Held(held.state, held.attributes, memory=memory)
    if state.state == "unavailable":
        shown = {key: each for key, each in held.attributes.items() if key != "source"}
        return Held(state.state, shown, memory=memory)
    is_silent = home.changed is None
    last = held.memory.get("last")
    values = [exact(last[1]) if last is not None else None, exact(state.state)]
    if settings["method"] == "left" or is_silent:
        values[1] = values[0]
    elif settings["method"] == "right":
        values[0] = values[1]
    begin = held.memory["at"] if held.memory.get("by_time") or is_silent else last[0] if last is not None else home.now
    if last is not None and values[0] is not None and values[1] is not None:
        area = Decimal(str(home.now - begin)) * (values[0] + values[1]) / 2
        scale = Decimal(str(_PREFIXES[_prefix(settings)] * _TIMES[settings["unit_time"]]))
        memory["total"] = str(Decimal(memory["total"] or 0) + area / scale)
    memory |= {"at": home.now, "by_time": is_silent}
    attributes = {**_measure(settings, state), "source": settings["source"]}
    return Held(_told(settings, memory), attributes, _due(settings, home), memory=memory)


def _told(settings: Settings, memory: Mapping[str, Any]) -> str | None:
    total, digits = memory["total"], settings.get("round")
    return str(round(Decimal(total), digits)) if total is not None and digits else total


def _due(settings: Settings, home: HelperHome) -> float | None:
    state, longest = home.state(settings["source"]), settings.get("max_sub_interval")
    return home.now + longest if longest and state is not None and exact(state.state) is not None else None


def _measure(settings: Settings, state: EntityState) -> dict[str, Any]:
    """Return the unit of the sum: `W` becomes `Wh`, and `km/h` becomes `km`."""
    unit, time = unit_of(state), settings["unit_time"]
    if unit is not None:
        unit = f"{_prefix(settings) or ''}{unit.removesuffix(f'/{time}') if unit.endswith(f'/{time}') else unit + time}"
    is_energy = state.attributes.get("device_class") == "power" and unit in ENERGY_UNITS
    told = {"device_class": "energy"} if is_energy else _look(settings)
    return {**({"unit_of_measurement": unit} if unit is not None else {}), **told}


def _look(settings: Settings) -> dict[str, Any]:
    return {} if "icon" in settings else {"icon": "mdi:chart-histogram"}


KINDS = (
    HelperKind(
        "sensor",
        "How fast a sensor changes",
        {
            Required("source", description="The sensor"): SOURCE,
            Optional("round", default=3, description="Digits after the point"): _DIGITS,
            Optional("unit_prefix", description="What its unit begins with"): In(tuple(_PREFIXES)),
            Optional("unit_time", default="h", description="The time of its unit: s, min, h or d"): In(tuple(_TIMES)),
            Optional("unit", description="Its unit, in place of the one that follows from the sensor's"): string,
            Optional("time_window", default=0, description="The time that it is the mean of"): span,
        },
        _begin_rate,
        {},
        lambda settings: {"name": f"{settings['source']} derivative", **settings},
        wake=_rate,
        follows=lambda settings: (settings["source"],),
        has_editable=False,
        quotes=True,
        platform="derivative",
        hears_reports=True,
    ),
    HelperKind(
        "sensor",
        "What a sensor adds up to over time",
        {
            Required("source", description="The sensor"): SOURCE,
            Optional("round", default=3, description="Digits after the point"): AnyOf(None, _DIGITS),
            Optional("unit_prefix", description="What its unit begins with"): In(_LARGE),
            Optional("unit_time", default="h", description="The time of its unit: s, min, h or d"): In(tuple(_TIMES)),
            Optional("method", default="trapezoidal", description="What holds between two values"): In(
                ("left", "right", "trapezoidal")
            ),
            Optional("max_sub_interval", description="How long it waits for a sensor that is silent"): span,
        },
        _begin_sum,
        {},
        lambda settings: {"name": f"{settings['source']} integral", **settings},
        shown=lambda settings: {"state_class": "total"},
        wake=_sum,
        follows=lambda settings: (settings["source"],),
        has_editable=False,
        quotes=True,
        platform="integration",
        hears_reports=True,
    ),
)
