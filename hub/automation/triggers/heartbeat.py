"""`heartbeat`: an agent's checks are due, or it was woken.

Within the active hours it comes at an interval whose place in time depends on the agent, so that several agents do not
begin at once. `heartbeat_wake` `{agent_id, reason}` fires it at once, at any hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import duration, weekdays
from hub.automation.definition.phrases import days, span
from hub.automation.schedule.active_hours import ActiveHours, parse_active_hours
from hub.automation.schedule.contract import Schedule
from hub.automation.schedule.every import Every
from hub.automation.triggers.arming import local_time, report_errors
from hub.automation.triggers.scheduled import watch
from hub.core.errors import InvalidRequest
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Described, Invalid, Optional, Range, Required, Schema, slug, string, time_zone

EVENT_WAKE = "heartbeat_wake"
INTERVAL_S = 1_800.0
SHORTEST_S = 60.0
_HOURS = Schema(
    {
        Required("start", description="From when: HH:MM."): string,
        Required("end", description="Until when: HH:MM, or 24:00."): string,
        Optional("time_zone", description="Time zone; the home's by default."): time_zone,
        Optional("weekday", description="On which days; every day without it."): weekdays,
    }
)


def _active_hours(value: Any) -> dict[str, Any]:
    checked: dict[str, Any] = _HOURS(value)
    try:
        parse_active_hours(checked["start"], checked["end"], UTC, checked.get("weekday"))
    except InvalidRequest as error:
        raise Invalid(error.message) from error
    return checked


class WithinHours(Struct, frozen=True):
    """The due times of an interval that lie in active hours."""

    every: Every
    hours: ActiveHours

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`."""
        due = self.every.next_after(after)
        while due is not None:
            opens = self.hours.next_open(due)
            if opens == due:
                return due
            due = self.every.next_after(opens - 0.001)
        return None


def _schedule(config: Mapping[str, Any], host: TriggerHost) -> Schedule:
    interval_s: float = config["every"]
    seed = sha256((config.get("agent") or host.automation_id).encode()).digest()
    every = Every(interval_s, anchor=float(int.from_bytes(seed[:8]) % max(1, int(interval_s))))
    hours = config.get("active_hours")
    if hours is None:
        return every
    zone = ZoneInfo(hours["time_zone"]) if "time_zone" in hours else host.parts.zone()
    return WithinHours(every, parse_active_hours(hours["start"], hours["end"], zone, hours.get("weekday")))


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    """Start with the next one: heartbeats that were missed while the hub was down are not made up for."""
    agent: str | None = config.get("agent")
    facts = {"agent": agent, "reason": "interval", "description": "heartbeat"}
    entry = watch(host, _schedule(config, host), facts, after=None)

    def woken(event: Event) -> None:
        now = host.parts.clock.time()
        trigger = {
            "agent": event.data.get("agent_id"),
            "reason": "wake",
            "wake_reason": event.data.get("reason"),
            "now": local_time(host, now),
            "planned": local_time(host, now),
            "missed": 0,
            "caught_up": False,
            "description": "heartbeat, woken",
        }
        host.fire(trigger, event.context, tainted=event.context.authority.tainted)

    unlisten = host.parts.bus.listen(EVENT_WAKE, woken, {"agent_id": agent} if agent is not None else None)

    def end() -> None:
        entry()
        unlisten()

    return end


def _explain(config: Mapping[str, Any]) -> str:
    said = phrase("every {span}", span=span(config["every"]))
    if hours := config.get("active_hours"):
        said = phrase("{said} between {start} and {end}", said=said, start=hours["start"], end=hours["end"])
        said = phrase("{said} in {zone}", said=said, zone=hours["time_zone"]) if "time_zone" in hours else said
        said = phrase("{said} on {days}", said=said, days=days(hours["weekday"])) if hours.get("weekday") else said
    who = phrase("the agent {agents}", agents=config["agent"]) if "agent" in config else phrase("an agent")
    return phrase("{said}, and when {who} is woken", said=said, who=who)


KIND = TriggerKind(
    name="heartbeat",
    fields={
        Optional("every", default=INTERVAL_S, description="The interval."): All(
            duration, Range(min=SHORTEST_S, msg="expected at least one minute")
        ),
        Optional("agent", description="The agent whose heartbeat it is; any agent by default."): slug,
        Optional("active_hours", description="Start and end of the hours in which it comes."): Described(
            _active_hours, {"type": "object"}, "active hours"
        ),
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="An agent looks after things.",
    next_due=lambda config, host: _schedule(config, host).next_after(host.parts.clock.time()),
)
