"""The kinds of triggers, conditions and actions: found by the word in the YAML, imported on first use.

A kind of ours is a module with one constant `KIND`; a word from a file never names a module. Integrations offer further
kinds, declared in their manifests.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

from hub.automation.contract import ActionKind, ConditionKind, TriggerKind
from hub.core.schema import Invalid, show

AnyKind = TriggerKind | ConditionKind | ActionKind
K = TypeVar("K", TriggerKind, ConditionKind, ActionKind)
Offers = Mapping[str, Callable[[], AnyKind]]
"""Kinds of integrations: name → what returns it, or raises `Invalid` when it cannot be loaded."""


class KindTable(Mapping[str, str]):
    """The kinds of one sort by name: ours, and those that integrations offer.

    Args:
        own: Name → module in the folder of this sort.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own = own
        self._loaded: dict[str, AnyKind] = {}
        self._offers: Offers = {}
        self.version = 0
        """Counts the changes of what integrations offer."""

    def __getitem__(self, name: str) -> str:
        return self._own[name] if name in self._own else name if name in self._offers else self._own[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self._offers if name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def offer(self, offers: Offers) -> None:
        """Replace what integrations offer; a kind of ours cannot be replaced."""
        self._offers = dict(offers)
        self.version += 1

    def load(self, name: str, own: Callable[[str], AnyKind]) -> AnyKind:
        """Return a kind of this table; `own` loads one of ours from its module."""
        if name not in self._own:
            return self._offers[name]()
        if name not in self._loaded:
            self._loaded[name] = own(self._own[name])
        return self._loaded[name]


TRIGGERS = KindTable(
    {
        **{name: name for name in ("event", "state", "numeric_state", "template", "time", "time_pattern", "sun")},
        **{name: name for name in ("at", "every", "cron", "message", "heartbeat", "agent", "node", "mqtt", "webhook")},
        **{name: name for name in ("conversation", "hub", "file", "feed", "command")},
    }
)
CONDITIONS = KindTable(
    {
        **dict.fromkeys(("and", "or", "not"), "logic"),
        **{name: name for name in ("state", "numeric_state", "template", "time", "sun", "trigger")},
        **{name: name for name in ("agent", "budget", "presence", "heartbeat")},
    }
)
ACTIONS = KindTable(
    {
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
)
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


def trigger_kind(name: str) -> TriggerKind:
    """Return the kind of trigger with this name.

    Raises:
        Invalid: There is none, and the message names the nearest; or its integration's module cannot be loaded.
    """
    name = SAME_TRIGGER.get(name, name)
    if name not in TRIGGERS:
        raise Invalid(_unknown("trigger", name, TRIGGERS, REFUSED_TRIGGERS))
    kind = TRIGGERS.load(name, lambda module: _kind_in(f"hub.automation.triggers.{module}"))
    return _of_sort(kind, TriggerKind, name)


def condition_kind(name: str) -> ConditionKind:
    """Return the kind of condition with this name; see `trigger_kind`."""
    if name not in CONDITIONS:
        raise Invalid(_unknown("condition", name, CONDITIONS, REFUSED_CONDITIONS))

    def own(module: str) -> AnyKind:
        return _kind_in(f"hub.automation.conditions.{module}", name.upper() if module == "logic" else "KIND")

    return _of_sort(CONDITIONS.load(name, own), ConditionKind, name)


def action_kind(name: str) -> ActionKind:
    """Return the kind of step with this key; see `trigger_kind`."""
    if name not in ACTIONS:
        raise Invalid(_unknown("action", name, ACTIONS, REFUSED_ACTIONS))
    kind = ACTIONS.load(name, lambda module: _kind_in(f"hub.automation.actions.{module}"))
    return _of_sort(kind, ActionKind, name)


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


def _kind_in(module: str, constant: str = "KIND") -> AnyKind:
    kind: AnyKind = getattr(import_module(module), constant)
    return kind


def _of_sort(kind: AnyKind, sort: type[K], name: str) -> K:
    if not isinstance(kind, sort):
        raise Invalid(f"the integration that brings {name} offers a {type(kind).__name__}, not a {sort.__name__}")
    return kind
