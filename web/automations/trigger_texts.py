"""Names of fired triggers: a phrase for each kind, filled in from the trigger's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.phrases import Phrase

TRIGGER_TEXTS: Mapping[str, str] = {
    "agent": "Agent",
    "at": "Date and time",
    "command": "Command",
    "conversation": "Sentence “{sentence}”",
    "cron": "Cron expression",
    "device": "Device",
    "event": "Event “{event}”",
    "every": "Interval",
    "feed": "Feed",
    "file": "File “{path}”",
    "heartbeat": "Heartbeat",
    "hook": "Hook “{hook}”",
    "hub": "Hub",
    "manual": "Started by hand",
    "message": "Message",
    "mqtt": "MQTT topic “{topic}”",
    "node": "Node",
    "numeric_state": "{entity_id} passed a limit",
    "state": "{entity_id} changed",
    "sun": "Sun",
    "template": "Template",
    "time": "Time of day",
    "time_pattern": "Time pattern",
    "webhook": "Webhook",
}

TURNED_TEXTS: Mapping[str, str] = {
    "on": "{entity_id} turned on",
    "off": "{entity_id} turned off",
    "open": "{entity_id} opened",
    "closed": "{entity_id} closed",
    "home": "{entity_id} came home",
    "not_home": "{entity_id} left home",
}
"""What is said of an entity that came into a state, where there is a verb for it."""


def trigger_text(trigger: Any) -> str:
    """Return the name of a fired trigger; its description or alias when its kind is unknown here."""
    if not isinstance(trigger, Mapping):
        return str(trigger or "")
    plain = str(trigger.get("description") or trigger.get("alias") or trigger.get("platform") or "")
    template = TRIGGER_TEXTS.get(str(trigger.get("platform")))
    if template is None or not plain:
        return plain
    if trigger.get("platform") == "state":
        template = TURNED_TEXTS.get(_reached(trigger), template)
    if "{" not in template:  # in English its description says more
        return Phrase(plain[:1].upper() + plain[1:], template)
    event = trigger.get("event")
    values = {**trigger, "event": event.get("event_type", "") if isinstance(event, Mapping) else event}
    texts = {key: str(value) for key, value in values.items()}
    try:
        return Phrase(template.format_map(texts), template, texts)
    except KeyError:  # kept by an earlier version, which said less of it
        return plain


def _reached(trigger: Mapping[str, Any]) -> str:
    """Return the state into which an entity came; empty when that is not told, or it is an attribute that changed."""
    state = trigger.get("to_state")
    if trigger.get("attribute"):
        return ""
    return str(state.get("state")) if isinstance(state, Mapping) else str(trigger.get("state") or "")
