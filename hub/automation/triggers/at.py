"""`at`: once, at one instant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.phrases import value_text
from hub.automation.schedule.fixed import At, parse_at
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.scheduled import validator, watch
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required, time_zone


def _schedule(config: Mapping[str, Any], host: TriggerHost) -> At:
    """A relative time ("20m", "18:00") counts from when the trigger was first armed, across restarts."""
    base = host.armed()
    zone: tzinfo = ZoneInfo(config["time_zone"]) if "time_zone" in config else host.parts.zone()
    return At(parse_at(config["at"], host.parts.clock.time() if base is None else base, zone))


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    handled = host.handled()
    armed = host.armed()
    after = handled if handled is not None else armed
    return watch(host, _schedule(config, host), {"at": config["at"], "description": "time"}, after=after)


def _next_due(config: Mapping[str, Any], host: TriggerHost) -> float | None:
    handled = host.handled()
    now = host.parts.clock.time()
    return _schedule(config, host).next_after(now if handled is None else max(now, handled))


def _explain(config: Mapping[str, Any]) -> str:
    zone = f" ({config['time_zone']})" if "time_zone" in config else ""
    return phrase("once, at {time}", time=f"{value_text(config['at'])}{zone}")


KIND = TriggerKind(
    name="at",
    fields={
        Required("at", description="A date with a time, a time of day (the next one), or 20m (from now)."): validator(
            lambda value: parse_at(value, 0.0, UTC), {"type": ["string", "number"]}, "instant"
        ),
        Optional("time_zone", description="Time zone; the home's by default."): time_zone,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="One instant; it fires once.",
    next_due=_next_due,
)
