"""Hooks that observe what the bus tells anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.events import Event, EventBus
from hub.hooks.contract import AgentEnd, HookPayload, MessageReceived, MessageSent
from hub.hooks.registry import Hooks

_OBSERVED: Mapping[str, type[HookPayload]] = {
    "message_received": MessageReceived,
    "message_sent": MessageSent,
    "run_finished": AgentEnd,
}


def observe_bus(bus: EventBus, hooks: Hooks) -> None:
    """Call hooks for events of the bus."""
    for type, payload in _OBSERVED.items():
        bus.listen(type, _observer(hooks, payload))


def _observer(hooks: Hooks, payload: type[HookPayload]) -> Any:
    def observe(event: Event) -> None:
        if hooks.wants(payload):
            data = {**event.data, "message_kind": event.data.get("kind"), "context": event.context}
            hooks.observe(payload(**{name: data[name] for name in payload.__struct_fields__}))

    return observe
