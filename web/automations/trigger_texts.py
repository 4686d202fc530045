"""Names of fired triggers: a phrase for each kind, filled in from the trigger's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.phrases import Phrase

TRIGGER_TEXTS: Mapping[str, str] = {
    "agent": "Agent",
    "at": "Date and time",
    "command": "Command",
    "conversation": "sentence “{sentence}”",
    "cron": "Cron expression",
    "device": "Device",
    "event": "event {event}",
    "every": "Interval",
    "feed": "Feed",
    "file": "file {path}",
    "heartbeat": "Heartbeat",
    "hook": "hook {hook}",
    "hub": "Hub",
    "manual": "started by hand",
    "message": "Message",
    "mqtt": "MQTT topic {topic}",
    "node": "Node",
    "numeric_state": "numeric state of {entity_id}",
    "state": "state of {entity_id}",
    "sun": "Sun",
    "template": "Template",
    "time": "Time of day",
    "time_pattern": "Time pattern",
    "webhook": "Webhook",
}


def trigger_text(trigger: Any) -> str:
    """Return the name of a fired trigger; its description or alias when its kind is unknown here."""
    if not isinstance(trigger, Mapping):
        return str(trigger or "")
    plain = str(trigger.get("description") or trigger.get("alias") or trigger.get("platform") or "")
    template = TRIGGER_TEXTS.get(str(trigger.get("platform")))
    if template is None or not plain:
        return plain
    event = trigger.get("event")
    values = {**trigger, "event": event.get("event_type", "") if isinstance(event, Mapping) else event}
    return Phrase(plain, template, {key: str(value) for key, value in values.items()})
