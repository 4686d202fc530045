"""`cron`: when the clock matches an expression of five fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import duration
from hub.automation.definition.phrases import days, span
from hub.automation.schedule.cron import Cron, check_cron
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.scheduled import validator, watch
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Optional, Required, string, time_zone


def _schedule(config: Mapping[str, Any], host: TriggerHost) -> Cron:
    zone = ZoneInfo(config["time_zone"]) if "time_zone" in config else host.parts.zone()
    return Cron(config["expression"], zone, config.get("stagger", 0.0), host.automation_id)


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    facts = {"expression": config["expression"], "description": "time"}
    return watch(host, _schedule(config, host), facts, after=host.handled())


_DAILY = re.compile(r"(\d{1,2}) (\d{1,2}) \* \* (\*|1-5|0,6|6,0|6,7|[0-7])")
_WEEK = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


def _explain(config: Mapping[str, Any]) -> str:
    expression = config["expression"]
    said: str
    if "time_zone" in config:
        zone = config["time_zone"]
        said = phrase("whenever the clock in {zone} matches {expression}", zone=zone, expression=expression)
    else:
        said = _daily(expression) or phrase("whenever the clock matches {expression}", expression=expression)
    if config.get("stagger"):
        return phrase("{said}, spread over {span}", said=said, span=span(config["stagger"]))
    return said


def _daily(expression: str) -> str | None:
    """Return an expression of one time on some days in words; None for any other."""
    found = _DAILY.fullmatch(expression.strip())
    if found is None:
        return None
    minute, hour, on = int(found[1]), int(found[2]), found[3]
    time = f"{hour}:{minute:02}"
    match on:
        case "*":
            return phrase("every day at {time}", time=time)
        case "1-5":
            return phrase("from Monday to Friday at {time}", time=time)
        case "0,6" | "6,0" | "6,7":
            return phrase("on weekends at {time}", time=time)
    return phrase("every {day} at {time}", day=days([_WEEK[int(on) % 7]]), time=time)


KIND = TriggerKind(
    name="cron",
    fields={
        Required("expression", description="minute hour day month weekday, or @daily and the like."): All(
            string, validator(check_cron, {"type": "string"}, "cron expression")
        ),
        Optional("time_zone", description="Time zone; the home's by default."): time_zone,
        Optional(
            "stagger", description="Spread automations due at the same time over this long; each keeps its place."
        ): duration,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="A cron expression.",
    next_due=lambda config, host: _schedule(config, host).next_after(host.parts.clock.time()),
)
