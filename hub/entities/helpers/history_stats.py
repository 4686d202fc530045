"""`history_stats`: how long, or how often, an entity was in a state within a span of time.

Source: the documentation of this integration of Home Assistant.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import All, In, Invalid, Length, Optional, Required, as_list, string
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Past, Settings
from hub.entities.helpers.readings import MEASUREMENT, SOURCE, span
from hub.template.check import check_template

LOOK_EVERY_S = 60.0
CHANGES_LIMIT = 20_000
_UNITS = {"time": "h", "ratio": "%", "count": ""}
_BOUNDS = ("start", "end", "duration")


def _bounds(settings: Settings, home: HelperHome) -> tuple[float, float] | None:
    """Return the span of time, or None where a template says no moment."""
    found: dict[str, float] = {}
    for key in ("start", "end"):
        if key not in settings:
            continue
        try:
            said = home.render(settings[key])
            moment = said if isinstance(said, datetime) else _moment(said)
        except (HubError, ValueError, TypeError):
            return None
        if isinstance(moment, datetime):
            moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=home.zone)).timestamp()
        found[key] = math.floor(moment)
    length = settings.get("duration", 0.0)
    start = found["start"] if "start" in found else found["end"] - length
    return start, found["end"] if "end" in found else start + length


def _moment(said: Any) -> datetime | float:
    try:
        return float(said)
    except ValueError:
        return datetime.fromisoformat(str(said))


def _begin(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    """Begin with what history has, and what came while it was read."""
    bounds, state = _bounds(settings, home), home.state(settings["entity_id"])
    changes = [list(each) for each in home.past or ()]
    if home.past is not None and kept is not None and "changes" in kept.memory:
        changes += [each for each in kept.memory["changes"] if not changes or each[0] > changes[-1][0]]
    if not changes and state is not None:
        changes = [[state.last_changed, state.state]]
    since = bounds[0] if bounds is not None and home.past is not None else None
    return _held(settings, home, bounds, changes, since)


def _next(settings: Settings, held: Held, home: HelperHome) -> Held:
    changes, state = list(held.memory["changes"]), home.state(settings["entity_id"])
    if home.changed is not None:
        said = state.state if state is not None else "unknown"
        if not changes or changes[-1][1] != said:
            changes.append([home.now, said])
    return _held(settings, home, _bounds(settings, home), changes, held.memory["since"])


def _held(
    settings: Settings, home: HelperHome, bounds: tuple[float, float] | None, changes: list[Any], since: float | None
) -> Held:
    """Return the value, and what of the changes still counts: the last one before the span, and those within."""
    value = None
    if bounds is not None:
        start, end = bounds
        before = [each for each in changes if each[0] <= start]
        changes = [*before[-1:], *(each for each in changes if each[0] > start)][-CHANGES_LIMIT:]
        value = _value(settings, start, end, home.now, changes) if start <= home.now else None
        since = start if since is not None and start >= since else since
    kind = {"device_class": "duration"} if settings["type"] == "time" else {}
    icon = {} if "icon" in settings else {"icon": "mdi:chart-line"}
    told = {**MEASUREMENT, "unit_of_measurement": _UNITS[settings["type"]], **kind, **icon}
    return Held(value, told, home.now + LOOK_EVERY_S, memory={"changes": changes, "since": since})


def _value(settings: Settings, start: float, end: float, now: float, changes: list[Any]) -> str:
    wanted, seconds, count, was = set(settings["state"]), 0.0, 0, False
    until = min(end, math.floor(now))
    last = start
    for at, state in changes:
        if math.floor(at) > min(now, end):
            break
        if was:
            seconds += max(at, start) - last
        elif state in wanted:
            count += 1
        was, last = state in wanted, max(start, at)
    if was:
        seconds += max(0.0, until - last)
    if settings["type"] == "count":
        return str(count)
    if settings["type"] == "ratio":
        return str(round(100 * seconds / (end - start), 1) if end > start else 0.0)
    return str(round(seconds / 3_600, 2))


def _past(settings: Settings, held: Held, home: HelperHome) -> Past | None:
    """Return the span while it has not been read, or begins before what was read."""
    bounds, since = _bounds(settings, home), held.memory["since"]
    if bounds is None or bounds[0] > home.now or (since is not None and bounds[0] >= since):
        return None
    return Past(settings["entity_id"], bounds[0], CHANGES_LIMIT)


def _template(value: Any) -> str:
    text = string(value)
    if (problem := check_template(text)) is not None:
        raise Invalid(problem)
    return str(text)


def _rule(settings: dict[str, Any]) -> dict[str, Any]:
    if sum(key in settings for key in _BOUNDS) != 2:
        raise Invalid(phrase("expected two of start, end and duration"), path=["start"])
    return {"name": "unnamed statistics", **settings}


KINDS = (
    HelperKind(
        "sensor",
        "How long, or how often, an entity was in a state",
        {
            Required("entity_id", description="The entity"): SOURCE,
            Required("state", description="The state, or several"): All(as_list, [string], Length(min=1, max=100)),
            Optional("type", default="time", description="Hours, a share of the span, or how often it began"): In(
                tuple(_UNITS)
            ),
            Optional("start", description="A template of the moment where the span begins"): _template,
            Optional("end", description="A template of the moment where it ends"): _template,
            Optional("duration", description="How long it is"): span,
        },
        _begin,
        {},
        _rule,
        wake=_next,
        follows=lambda settings: (settings["entity_id"],),
        is_kept=False,
        has_editable=False,
        quotes=True,
        platform="history_stats",
        past=_past,
    ),
)
