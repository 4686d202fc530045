"""`time_pattern`: whenever hours, minutes and seconds match."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.phrases import span
from hub.automation.schedule.pattern import TimePattern, parse_time_pattern
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.scheduled import watch
from hub.core.errors import InvalidRequest
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Described, Invalid, Optional

_UNITS = ("hours", "minutes", "seconds")
_SECONDS = {"hours": 3_600, "minutes": 60, "seconds": 1}
_UNIT_NAMES = {"hours": phrase("hours"), "minutes": phrase("minutes"), "seconds": phrase("seconds")}


def _unit(name: str) -> Described:
    def check(value: Any) -> Any:
        try:
            parse_time_pattern(UTC, **{name: value})
        except InvalidRequest as error:
            raise Invalid(error.message.removeprefix(f"time_pattern: {name}: ")) from error
        return value

    return Described(check, {"type": ["integer", "string", "array"]}, "number, *, or /n")


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if not any(config.get(unit) is not None for unit in _UNITS):
        raise Invalid(phrase("expected at least one of hours, minutes and seconds"))
    return config


def _schedule(config: Mapping[str, Any], host: TriggerHost) -> TimePattern:
    units = {unit: config[unit] for unit in _UNITS if config.get(unit) is not None}
    return parse_time_pattern(host.parts.zone(), **units)


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    return watch(host, _schedule(config, host), {"description": "time pattern"}, after=host.handled())


def _explain(config: Mapping[str, Any]) -> str:
    given = {unit: str(config[unit]) for unit in _UNITS if config.get(unit) is not None}
    match list(given.items()):
        case [(unit, step)] if step.startswith("/") and step[1:].isdigit():
            return phrase("every {span}", span=span(int(step[1:]) * _SECONDS[unit]))
    shown = [
        phrase("{unit} {value}", unit=_UNIT_NAMES[unit], value=config[unit])
        for unit in _UNITS
        if config.get(unit) is not None
    ]
    return phrase("whenever the clock shows {time}", time=shown)


KIND = TriggerKind(
    name="time_pattern",
    fields={
        Optional("hours", description="0 to 23, *, /2, or a list."): _unit("hours"),
        Optional("minutes", description="0 to 59, *, /5, or a list; 0 when only hours are given."): _unit("minutes"),
        Optional("seconds", description="0 to 59, *, /10, or a list; 0 without it."): _unit("seconds"),
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="The clock shows a matching time.",
    next_due=lambda config, host: _schedule(config, host).next_after(host.parts.clock.time()),
    rule=_rule,
)
