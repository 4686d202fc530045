"""Sensors and binary sensors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import In, Invalid, Optional, duration, string
from hub.template.native import as_bool
from integrations.devices.template.contract import Settings, Shown, TemplateField, TemplateKind, Values
from integrations.devices.template.reading import Unchanged, field, number, wrong

STATE_CLASSES = ("measurement", "measurement_angle", "total", "total_increasing")
_NOT_NUMERIC = frozenset({"date", "enum", "timestamp"})
UNIT: Mapping[Any, Any] = {Optional("unit_of_measurement", description="Its unit."): string}
DEVICE_CLASS: Mapping[Any, Any] = {Optional("device_class", description="What it is, such as temperature."): string}


def _read_sensor(result: Any, settings: Settings, values: Values) -> Values:
    """Return the state of a sensor: a moment where it is one, a number where it has a unit or is a measurement."""
    kind = settings.get("device_class")
    if result is None:
        return {"state": None}
    if kind in ("timestamp", "date"):
        return {"state": _moment(result, kind)}
    numeric = kind not in (None, *_NOT_NUMERIC) or "state_class" in settings or "unit_of_measurement" in settings
    if numeric:
        try:
            number(result)
        except ValueError as error:
            raise Unchanged(*error.args) from None
    return {"state": str(result)}


def _moment(result: Any, kind: str) -> str:
    """Return a moment as it is shown: in UTC, to the second; or a day."""
    try:
        if kind == "date":
            return date.fromisoformat(str(result)).isoformat()
        moment = datetime.fromisoformat(str(result))
    except ValueError:
        raise wrong(phrase("a date") if kind == "date" else phrase("a time with its zone"), result) from None
    if moment.tzinfo is None:
        raise wrong(phrase("a time with its zone"), result)
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _last_reset(result: Any) -> str:
    try:
        return datetime.fromisoformat(str(result)).isoformat()
    except ValueError:
        raise wrong(phrase("a time"), result) from None


def _show_sensor(settings: Settings, values: Values) -> Shown:
    fixed = {"state_class": settings["state_class"]} if "state_class" in settings else {}
    last = {"last_reset": values["last_reset"]} if values.get("last_reset") else {}
    return Shown(values.get("state"), fixed, last)


def _sensor_rule(settings: dict[str, Any]) -> dict[str, Any]:
    if "last_reset" in settings and settings.get("state_class") != "total":
        raise Invalid(phrase("last_reset needs state_class: total"), path=["last_reset"])
    return settings


_COMMON_OLD = {"friendly_name_template": "name", "value_template": "state"}
SENSOR = TemplateKind(
    domain="sensor",
    description="Something that is measured or worked out.",
    templates={
        "state": TemplateField(_read_sensor, {"state": None}, required=True, is_state=True),
        "last_reset": field("last_reset", _last_reset),
    },
    show=_show_sensor,
    fields={
        **DEVICE_CLASS,
        **UNIT,
        Optional("state_class", description="How its statistics are made."): In(STATE_CLASSES),
    },
    rule=_sensor_rule,
    restores=lambda settings, triggered: triggered,
    legacy="sensors",
    renamed=_COMMON_OLD,
)


def _show_binary(settings: Settings, values: Values) -> Shown:
    state = values.get("state")
    return Shown(None if state is None else "on" if state else "off")


def seconds(result: Any) -> float:
    """Return the seconds of a duration."""
    try:
        return float(duration(result))
    except Invalid as error:
        raise ValueError(error.msg) from None


DELAYS = ("delay_on", "delay_off", "auto_off")
BINARY_SENSOR = TemplateKind(
    domain="binary_sensor",
    description="Something that is on or off.",
    templates={
        **{key: field(key, seconds) for key in DELAYS},
        "state": field("state", as_bool, required=True, is_state=True),
    },
    show=_show_binary,
    fields={**DEVICE_CLASS, **UNIT},
    restores=lambda settings, triggered: triggered or "delay_on" in settings or "delay_off" in settings,
    legacy="sensors",
    renamed=_COMMON_OLD,
)
