"""`every`: again and again, at a fixed interval."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import duration
from hub.automation.definition.phrases import span, value_text
from hub.automation.schedule.every import MIN_INTERVAL_S, Every
from hub.automation.schedule.fixed import parse_at
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.scheduled import validator, watch
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Optional, Range, Required


def _schedule(config: Mapping[str, Any], host: TriggerHost) -> Every:
    if "anchor" not in config:
        return Every(config["every"])
    return Every(config["every"], parse_at(config["anchor"], 0.0, host.parts.zone()))


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    facts = {"every": config["every"], "description": "time"}
    return watch(host, _schedule(config, host), facts, after=host.handled())


def _explain(config: Mapping[str, Any]) -> str:
    said = phrase("every {span}", span=span(config["every"]))
    return (
        phrase("{said}, counted from {time}", said=said, time=value_text(config["anchor"]))
        if "anchor" in config
        else said
    )


KIND = TriggerKind(
    name="every",
    fields={
        Required("every", description="The interval, such as 2h, or {minutes: 30}."): All(
            duration, Range(min=MIN_INTERVAL_S, msg="expected at least one second")
        ),
        Optional("anchor", description="Date and time from which intervals are counted; whole UTC days by default."): (
            validator(lambda value: parse_at(value, 0.0, UTC), {"type": ["string", "number"]}, "instant")
        ),
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="An interval, in real time.",
    next_due=lambda config, host: _schedule(config, host).next_after(host.parts.clock.time()),
)
