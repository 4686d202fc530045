"""Hooks that observe events of the bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hub.core.events import Event, EventBus
from hub.hooks.contract import (
    AfterCompaction,
    AgentEnd,
    BeforeCompaction,
    CommandReceived,
    GatewayStart,
    GatewayStop,
    HookPayload,
    MessageReceived,
    MessageSent,
    SessionEnd,
    SessionStart,
    SubagentEnded,
    SubagentSpawned,
)
from hub.hooks.registry import Hooks

_OBSERVED: Sequence[tuple[str, type[HookPayload], Mapping[str, Any] | None]] = (
    ("message_received", MessageReceived, None),
    ("command_received", CommandReceived, None),
    ("message_sent", MessageSent, None),
    ("run_finished", AgentEnd, None),
    ("session_changed", SessionEnd, {"what": ["reset", "deleted"]}),
    ("session_changed", SessionStart, {"what": ["created", "reset"]}),
    ("compaction_started", BeforeCompaction, None),
    ("compaction_finished", AfterCompaction, None),
    ("subagent_spawned", SubagentSpawned, None),
    ("subagent_ended", SubagentEnded, None),
    ("hub_started", GatewayStart, None),
    ("hub_stopping", GatewayStop, None),
)
_OTHER_NAMES = {"message_kind": "kind", "reason": "what"}
_OPTIONAL = ("tokens_after", "error")


def observe_bus(bus: EventBus, hooks: Hooks) -> None:
    """Call hooks for events of the bus, which are heard while somebody wants the hook."""
    for type, payload, where in _OBSERVED:
        hooks.while_handled(payload.hook, partial(bus.listen, type, _observer(hooks, payload), where))


def _observer(hooks: Hooks, payload: type[HookPayload]) -> Any:
    def observe(event: Event) -> None:
        told = {**dict.fromkeys(_OPTIONAL), **event.data, "context": event.context}
        if "key" in told:
            told["session_key"] = told["key"]
        told |= {name: told[other] for name, other in _OTHER_NAMES.items() if other in told}
        hooks.observe(payload(**{name: told[name] for name in payload.__struct_fields__}))

    return observe
