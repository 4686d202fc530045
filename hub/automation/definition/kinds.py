"""The kinds of triggers, conditions and actions: found by the word that stands in the YAML, imported on first use.

A kind's module has one constant `KIND`; the tables here are closed, so that a word from a file never names a module.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from hub.automation.contract import ActionKind, ConditionKind, TriggerKind
from hub.core.schema import Invalid, show

TRIGGERS: Mapping[str, str] = {
    **{name: name for name in ("event", "state", "numeric_state", "template", "time", "time_pattern", "sun")},
    **{name: name for name in ("at", "every", "cron", "message", "heartbeat", "agent", "node", "mqtt", "webhook")},
    **{name: name for name in ("conversation", "hub", "file", "feed", "command")},
}
CONDITIONS: Mapping[str, str] = {
    **dict.fromkeys(("and", "or", "not"), "logic"),
    **{name: name for name in ("state", "numeric_state", "template", "time", "sun", "trigger")},
    **{name: name for name in ("agent", "budget", "presence", "heartbeat")},
}
ACTIONS: Mapping[str, str] = {
    "action": "service",
    "event": "event",
    "delay": "delay",
    "wait_template": "wait_template",
    "wait_for_trigger": "wait_for_trigger",
    "condition": "condition",
    "if": "if_then",
    "choose": "choose",
    "repeat": "repeat",
    "sequence": "sequence",
    "parallel": "parallel",
    "variables": "variables",
    "stop": "stop",
    "set_conversation_response": "conversation_response",
}
"""Key that tells a step from others → module; in the order in which a step is looked through."""

SAME_TRIGGER: Mapping[str, str] = {"homeassistant": "hub"}
"""Words of Home Assistant that mean one of ours."""

_NO_AREAS = "there are no devices and areas here; use the entity's state"
REFUSED_TRIGGERS: Mapping[str, str] = {
    "device": _NO_AREAS,
    "zone": "there are no zones here; use a state trigger on person.<id>",
    "geo_location": "there are no geolocation entities here",
    "calendar": "there are no calendars here; use cron, time or at",
    "tag": "there are no tags here; use an event trigger",
    "persistent_notification": "there are no notification events here; repairs fire the event repairs_changed",
}
REFUSED_CONDITIONS: Mapping[str, str] = {
    "device": _NO_AREAS,
    "zone": "there are no zones here; use the condition presence, or state on person.<id>",
}
REFUSED_ACTIONS: Mapping[str, str] = {
    "device_id": _NO_AREAS + " and its services",
    "scene": "there are no scenes here; write a script",
}


@cache
def trigger_kind(name: str) -> TriggerKind:
    """Return the kind of trigger with this name.

    Raises:
        Invalid: There is none; the message names the nearest.
    """
    name = SAME_TRIGGER.get(name, name)
    if name not in TRIGGERS:
        raise Invalid(_unknown("trigger", name, TRIGGERS, REFUSED_TRIGGERS))
    kind: TriggerKind = import_module(f"hub.automation.triggers.{TRIGGERS[name]}").KIND
    return kind


@cache
def condition_kind(name: str) -> ConditionKind:
    """Return the kind of condition with this name; see `trigger_kind`."""
    if name not in CONDITIONS:
        raise Invalid(_unknown("condition", name, CONDITIONS, REFUSED_CONDITIONS))
    module = import_module(f"hub.automation.conditions.{CONDITIONS[name]}")
    kind: ConditionKind = getattr(module, name.upper() if CONDITIONS[name] == "logic" else "KIND")
    return kind


@cache
def action_kind(name: str) -> ActionKind:
    """Return the kind of step with this key; see `trigger_kind`."""
    if name not in ACTIONS:
        raise Invalid(_unknown("action", name, ACTIONS, REFUSED_ACTIONS))
    kind: ActionKind = import_module(f"hub.automation.actions.{ACTIONS[name]}").KIND
    return kind


def step_key(step: Mapping[str, Any]) -> str | None:
    """Return the key that tells which kind of step this is, or None when it has none."""
    for key in ACTIONS:
        if key in step:
            return key
    return None


def _unknown(what: str, name: Any, known: Iterable[str], refused: Mapping[str, str]) -> str:
    if not isinstance(name, str):
        return f"expected the name of a {what}, got {show(name)}"
    if name in refused:
        return f"the {what} {name} does not exist here: {refused[name]}"
    if "." in name:
        return f"there is no {what} {show(name)}: {what}s that belong to a domain do not exist here; use state"
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
    return f"there is no {what} {show(name)}; {hint}"


AnyKind = TriggerKind | ConditionKind | ActionKind
