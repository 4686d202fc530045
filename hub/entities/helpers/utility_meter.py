"""`utility_meter`: what a sensor has counted in this hour, day, month …, for each tariff on its own.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    as_list,
    boolean,
    entity_id,
    show,
    string,
)
from hub.core.slugs import slugify
from hub.entities.helpers.contract import Held, HeldCall, HelperHome, HelperKind, HelperService, Settings
from hub.entities.helpers.readings import ENERGY_UNITS, SOURCE, exact, span, unit_of

SECTION = "utility_meter"
TARIFFS_LIMIT = 50
_DAY_S = 86_400
_CYCLES: Mapping[str, str] = {
    "quarter-hourly": "{minute}/15 * * * *",
    "hourly": "{minute} * * * *",
    "daily": "{minute} {hour} * * *",
    "weekly": "{minute} {hour} * * {day}",
    "monthly": "{minute} {hour} {day} * *",
    "bimonthly": "{minute} {hour} {day} */2 *",
    "quarterly": "{minute} {hour} {day} */3 *",
    "yearly": "{minute} {hour} {day} 1 *",
}


def _cron(value: Any) -> str:
    from croniter import croniter  # type: ignore[import-untyped]

    text: str = string(value).strip()
    if len(text.split()) != 5 or not croniter.is_valid(text):
        raise Invalid(phrase("expected five fields of cron such as 0 17 * * *, got {value}", value=show(value)))
    return text


def _rule(settings: dict[str, Any]) -> dict[str, Any]:
    if "cron" in settings and ("cycle" in settings or settings["offset"]):
        raise Invalid(phrase("expected cron, or cycle with its offset, but not both"), path=["cron"])
    if len(set(settings["tariffs"])) < len(settings["tariffs"]):
        raise Invalid(phrase("expected each tariff once"), path=["tariffs"])
    return settings


def _next_reset(settings: Settings, home: HelperHome) -> datetime | None:
    from croniter import croniter

    pattern = settings.get("cron")
    if (cycle := settings.get("cycle")) is not None:
        days, seconds = divmod(int(settings["offset"]), _DAY_S)
        pattern = _CYCLES[cycle].format(minute=seconds % 3_600 // 60, hour=seconds // 3_600, day=days + 1)
    found: datetime | None = croniter(pattern, home.local).get_next(datetime) if pattern is not None else None
    return found


# --- meters ---


def _meters(key: str, settings: Settings) -> Mapping[str, Settings]:
    name = settings.get("name", key)
    if not settings["tariffs"]:
        return {key: {**settings, "name": name, "object_id": slugify(name)}}
    shared = {**_without_id(settings), "select": f"select.{key}"}
    return {
        slugify(f"{key} {tariff}"): {**shared, "name": f"{name} {tariff}", "tariff": tariff}
        for tariff in settings["tariffs"]
    }


def _without_id(settings: Settings) -> dict[str, Any]:
    return {name: each for name, each in settings.items() if name != "default_entity_id"}


def _begin(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    memory: dict[str, Any]
    memory = dict(kept.memory) if kept is not None and kept.memory else {"period": "0", "reset": _utc(home)}
    state = home.state(settings["source"])
    memory |= {"last": state.state if state is not None else None, "is_there": True}
    if home.starting and (missed := memory.get("next")) is not None and missed <= home.now:
        memory = _reset(memory, home)
    if "tariff" in settings:
        memory |= {"collecting": _tariff(settings, home) == settings["tariff"], "valid": None}
    return _meter(settings, memory, home, again=True)


def _read(settings: Settings, held: Held, home: HelperHome) -> Held:
    """Return the meter after its source, or the tariff, has changed, or its time is over."""
    memory: dict[str, Any] = dict(held.memory)
    if home.changed is None:
        return _meter(settings, _reset(memory, home), home, again=True)
    if home.changed != settings["source"]:
        memory |= {"collecting": _tariff(settings, home) == settings["tariff"], "valid": None}
        return _meter(settings, memory, home)
    state, before = home.state(settings["source"]), exact(memory["last"])
    memory["last"] = state.state if state is not None else None
    if "tariff" in settings and not memory["collecting"]:
        if memory.get("value") is None and state is not None and exact(state.state) is not None:
            memory |= {"value": "0", **_measured(state)}
        return _meter(settings, memory, home)
    memory["collecting"] = True
    if state is None or state.state == "unavailable":
        memory["is_there"] = settings["always_available"]
        return _meter(settings, memory, home) if not settings["always_available"] else _silent(held, memory)
    now = exact(state.state)
    if now is None:
        return _silent(held, memory)
    value, valid = Decimal(memory.get("value") or 0), exact(memory.get("valid"))
    step = now - before if before is not None else None
    if settings["delta_values"]:
        step = now
    elif not settings["periodically_resetting"] and valid is not None:
        step = now - valid
    if step is not None and (settings["net_consumption"] or step >= 0):
        value += step
    memory |= {"value": str(value), "valid": str(now), "is_there": True, **_measured(state)}
    return _meter(settings, memory, home)


def _silent(held: Held, memory: Mapping[str, Any]) -> Held:
    return Held(held.state, held.attributes, held.due, memory=memory)


def _measured(state: Any) -> dict[str, Any]:
    return {"unit": unit_of(state), "class": state.attributes.get("device_class")}


def _reset(memory: Mapping[str, Any], home: HelperHome) -> dict[str, Any]:
    return {**memory, "period": memory.get("value") or "0", "value": "0", "reset": _utc(home)}


def _utc(home: HelperHome) -> str:
    return datetime.fromtimestamp(home.now, UTC).isoformat()


def _tariff(settings: Settings, home: HelperHome) -> str | None:
    state = home.state(settings["select"])
    return state.state if state is not None else None


def _meter(settings: Settings, memory: dict[str, Any], home: HelperHome, *, again: bool = False) -> Held:
    """Return the meter as it is shown; `again` when its next reset is looked for."""
    if again:
        following = _next_reset(settings, home)
        memory["next"] = following.timestamp() if following is not None else None
    due, unit = memory.get("next"), memory.get("unit")
    kind = memory.get("class") or ("energy" if unit in ENERGY_UNITS else None)
    told = {
        "state_class": "total" if settings["net_consumption"] else "total_increasing",
        **({"unit_of_measurement": unit} if unit is not None else {}),
        **({"device_class": kind} if kind is not None else {}),
    }
    if not memory["is_there"]:
        return Held("unavailable", told, due, memory=memory)
    told |= {
        "status": "collecting" if memory.get("collecting") else "paused",
        "last_period": memory["period"],
        "last_valid_state": str(memory.get("valid")),
        "last_reset": memory["reset"],
        **({"tariff": settings["tariff"]} if "tariff" in settings else {}),
        **({"next_reset": datetime.fromtimestamp(due, home.zone).isoformat()} if due is not None else {}),
    }
    return Held(memory.get("value"), told, due, memory=memory)


def _calibrate(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    return _meter(settings, {**held.memory, "value": data["value"]}, home)


def _reset_one(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    return _meter(settings, _reset(held.memory, home), home)


# --- the choice of a tariff ---


def _choices(key: str, settings: Settings) -> Mapping[str, Settings]:
    meters = [f"sensor.{each}" for each in _meters(key, settings)]
    return (
        {key: {**_without_id(settings), "name": settings.get("name", key), "meters": meters}}
        if settings["tariffs"]
        else {}
    )


def _choice(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    known = kept.state if kept is not None else None
    return Held(known if known in settings["tariffs"] else settings["tariffs"][0])


def _choose(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    if data["option"] not in settings["tariffs"]:
        choices = settings["tariffs"]
        raise InvalidRequest(
            phrase("{key} is one of {choices}, not {value}", key="option", choices=choices, value=data["option"])
        )
    return Held(data["option"])


def _reset_all(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    return Held(held.state, calls=(HeldCall(SECTION, "reset", {"entity_id": [*map(home.id_of, settings["meters"])]}),))


_FIELDS: Mapping[Any, Any] = {
    Required("source", description="The sensor that counts"): SOURCE,
    Optional("unique_id", description="Of Home Assistant; its key here is what stays the same"): string,
    Optional("default_entity_id", description="Its entity id at first, without tariffs"): entity_id,
    Optional("cycle", description="How often it begins anew"): In(tuple(_CYCLES)),
    Optional("offset", default=0, description="How long after the begin of a cycle; less than 28 days"): All(
        span, Range(min=0, max=28 * _DAY_S - 1)
    ),
    Optional("cron", description="When it begins anew, in place of a cycle"): _cron,
    Optional("delta_values", default=False, description="Whether the sensor says what was added"): boolean,
    Optional("net_consumption", default=False, description="Whether it may go down"): boolean,
    Optional(
        "periodically_resetting",
        default=True,
        description="Whether the sensor may begin at 0 again; without it, what was counted meanwhile is added",
    ): boolean,
    Optional("tariffs", default=list, description="Each is counted on its own; a select chooses one"): All(
        as_list, [All(string, Length(min=1, max=100))], Length(max=TARIFFS_LIMIT)
    ),
    Optional("always_available", default=False, description="Whether it stays while the sensor is away"): boolean,
}
KINDS = (
    HelperKind(
        "sensor",
        "What a sensor has counted in an hour, a day, a month …, by name",
        _FIELDS,
        _begin,
        {"calibrate": HelperService(_calibrate), "reset": HelperService(_reset_one)},
        _rule,
        wake=_read,
        follows=lambda settings: (settings["source"], *((settings["select"],) if "tariff" in settings else ())),
        name_of=str,
        has_editable=False,
        quotes=True,
        named_in=SECTION,
        each_of=_meters,
    ),
    HelperKind(
        "select",
        "",
        _FIELDS,
        _choice,
        {"select_option": HelperService(_choose), "reset": HelperService(_reset_all)},
        _rule,
        shown=lambda settings: {"options": settings["tariffs"]},
        name_of=str,
        has_editable=False,
        quotes=True,
        named_in=SECTION,
        each_of=_choices,
    ),
)
