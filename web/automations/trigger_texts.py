"""Names of fired triggers: a phrase for each kind, filled in from the trigger's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.phrases import Phrase, phrase
from hub.timeline.words import MOTION, OPENINGS

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

_BY_THE_CLOCK = frozenset({"at", "cron", "time", "time_pattern"})

TURNED_TEXTS: Mapping[str, str] = {
    "on": "{entity_id} turned on",
    "off": "{entity_id} turned off",
    "open": "{entity_id} opened",
    "closed": "{entity_id} closed",
    "home": "{entity_id} came home",
    "not_home": "{entity_id} left home",
}
"""What is said of an entity that came into a state, where there is a verb for it."""
SENSED_TEXTS: Mapping[str, Mapping[str, str]] = {
    **{key: {"on": "{entity_id} saw motion", "off": "{entity_id} sees no motion now"} for key in MOTION},
    **{key: {"on": "{entity_id} opened", "off": "{entity_id} closed"} for key in OPENINGS},
}
"""The same of sensors, by what they sense."""


def trigger_text(trigger: Any) -> str:
    """Return the name of a fired trigger; its description or alias when its kind is unknown here."""
    if not isinstance(trigger, Mapping):
        return str(trigger or "")
    plain = str(trigger.get("description") or trigger.get("alias") or trigger.get("platform") or "")
    template = TRIGGER_TEXTS.get(str(trigger.get("platform")))
    if template is None or not plain:
        return plain
    if trigger.get("platform") == "state":
        state, sensed = _reached(trigger)
        template = SENSED_TEXTS.get(sensed, {}).get(state) or TURNED_TEXTS.get(state, template)
    if "{" not in template:  # in English its description says more
        return Phrase(plain[:1].upper() + plain[1:], template)
    event = trigger.get("event", trigger.get("event_type"))
    values = {**trigger, "event": event.get("event_type", "") if isinstance(event, Mapping) else event}
    texts = {key: str(value) for key, value in values.items()}
    try:
        return Phrase(template.format_map(texts), template, texts)
    except KeyError:  # kept by an earlier version, which said less of it
        return plain


def fired_text(trigger: Any, time: str) -> str:
    """Return what a trigger waited for as a sentence; of a clock, which time of day it was."""
    if isinstance(trigger, Mapping) and trigger.get("platform") in _BY_THE_CLOCK:
        return phrase("It was {time}", time=time)
    return trigger_text(trigger)


def _reached(trigger: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state into which an entity came, and what it senses; empty when that is not told, or not the state."""
    state = trigger.get("to_state")
    if trigger.get("attribute"):
        return "", ""
    if not isinstance(state, Mapping):
        return str(trigger.get("state") or ""), str(trigger.get("device_class") or "")
    attributes = state.get("attributes")
    return str(state.get("state")), str(attributes.get("device_class") if isinstance(attributes, Mapping) else "")
