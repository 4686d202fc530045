"""`sun`: sunrise or sunset, or some time before or after."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.phrases import SUN_EVENTS
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.scheduled import explain_offset, offset, watch
from hub.core.errors import InvalidRequest
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import In, Optional, Required
from hub.entities.sun import GeoPosition, Sun, SunEvent

NO_LOCATION = phrase("the home’s place is not known; set latitude and longitude in the settings")


def _schedule(config: Mapping[str, Any], host: TriggerHost) -> Sun | None:
    location = host.parts.location()
    if location is None:
        return None
    place = GeoPosition(location.latitude, location.longitude, location.elevation_m)
    return Sun(SunEvent(config["event"]), place, config.get("offset", 0.0))


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    schedule = _schedule(config, host)
    if schedule is None:
        raise InvalidRequest(NO_LOCATION)
    facts = {
        "event": config["event"],
        "offset": timedelta(seconds=config.get("offset", 0.0)),
        "description": config["event"] + (" with offset" if config.get("offset") else ""),
    }
    return watch(host, schedule, facts, after=host.handled())


def _next_due(config: Mapping[str, Any], host: TriggerHost) -> float | None:
    schedule = _schedule(config, host)
    return None if schedule is None else schedule.next_after(host.parts.clock.time())


def _explain(config: Mapping[str, Any]) -> str:
    event = SUN_EVENTS[config["event"]]
    offset = config.get("offset", 0.0)
    return explain_offset(event, offset) if offset else phrase("at {time}", time=event)


KIND = TriggerKind(
    name="sun",
    fields={
        Required("event", description="sunrise or sunset."): In(("sunrise", "sunset")),
        Optional("offset", description="Offset: 00:45:00 is later, -00:45:00 earlier."): offset,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="Sunrise or sunset.",
    next_due=_next_due,
)
