"""What history keeps for the timeline when an automation is triggered: its kind, and the trigger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.automation.editing.scheduled_form import TRIGGERS
from hub.automation.tracing.trace import TraceWriter

AUTOMATION, REMINDER = "automation", "reminder"
_NAMES = ("platform", "description", "alias", "entity_id", "topic", "path", "hook", "sentence", "event_type")
_TEXT_LIMIT = 200


def kind_of(config: Mapping[str, Any]) -> str:
    """Return `reminder` for an automation that sends a text at a time, and does nothing else."""
    if not config["triggers"] or not config["actions"]:
        return AUTOMATION
    timed = all(each["trigger"] in TRIGGERS for each in config["triggers"])
    return REMINDER if timed and all(each.get("action") == "message.send" for each in config["actions"]) else AUTOMATION


class RunStart(Struct, frozen=True, eq=False):
    """The data of a run's start, serialised when it is written, without the automation's secrets."""

    trace: TraceWriter
    config: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return its kind, its name and what fired."""
        trace = self.trace
        shown: dict[str, Any] = trace.plain_copy({"name": trace.alias, "trigger": named_trigger(trace.trigger)})
        return shown | {"kind": kind_of(self.config)}


def named_trigger(trigger: Mapping[str, Any]) -> dict[str, str]:
    """Return what names a fired trigger, without the data that came with it."""
    event = trigger.get("event")
    known = {**trigger, "event_type": event.get("event_type")} if isinstance(event, Mapping) else trigger
    return {name: str(known[name])[:_TEXT_LIMIT] for name in _NAMES if isinstance(known.get(name), str)}
