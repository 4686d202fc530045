"""The selection of bus events for history: states, and events that tell a person what happened. Never words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from hub.core.events import Event, EventBus
from hub.core.phrases import beside_phrases, phrase
from hub.core.repairs import Repairs, Severity
from hub.core.services import EVENT_SERVICE_CALLED
from hub.core.stages import Stage
from hub.core.states import EVENT_STATE_CHANGED
from hub.core.tasks import TaskOwner
from hub.storage.history import HistoryStore, NotedChange

_log = logging.getLogger(__name__)

OPENING_WAIT_S = 5.0

KEPT: Mapping[str, tuple[str, ...]] = {
    "message_received": (
        *("inbox_id", "channel", "account", "peer", "chat_type", "sender", "from_owner", "session_key", "text_chars"),
    ),
    "message_rejected": ("inbox_id", "channel", "account", "peer", "reason"),
    "message_sent": ("outbox_id", "channel", "account", "peer", "session_key", "run_id"),
    "message_unknown": ("outbox_id", "channel", "peer", "error"),
    "message_dead": ("outbox_id", "channel", "peer", "error"),
    "run_started": ("run_id", "session_key", "agent_id", "model"),
    "run_finished": ("run_id", "session_key", "agent_id", "status", "stop", "error"),
    "tool_finished": ("run_id", "session_key", "agent_id", "name", "status", "duration_ms"),
    "service_called": ("domain", "service"),
    "webhook_received": ("webhook_id", "method"),
    "automation_triggered": ("automation_id", "run_id", "told"),
    "automation_finished": ("automation_id", "run_id", "outcome", "duration_ms"),
    "automation_judged": ("run_id", "automation_id", "agent_id", "model", "answered"),
    "node_connected": ("node_id", "name", "platform"),
    "node_disconnected": ("node_id", "name", "platform"),
    "heartbeat": ("agent_id", "status", "reason", "cost_today_usd"),
    "budget_reached": ("agent_id", "automation_id", "budget", "spent", "limit"),
    "memory_recalled": (
        *("run_id", "session_key", "agent_id", "count", "hits", "took_ms", "engines", "timed_out", "problem"),
    ),
    "memory_flushed": ("agent_id", "session_key", "path", "trusted"),
    "standing_intent_fired": ("intent_id", "run_id", "session_key", "agent_id"),
    "approval_requested": ("id", "kind", "title", "session_key", "run_id"),
    "approval_resolved": ("id", "state", "decided_by"),
    "pairing_requested": ("id", "channel", "account", "identity"),
    "pairing_decided": ("id", "channel", "account", "identity", "state", "decided_by"),
    "integration_changed": ("domain", "state", "reason"),
    "repairs_changed": ("source", "id", "open"),
    "config_changed": ("changed", "added", "removed", "needs_restart", "files"),
    "config_refused": (),
    "models_changed": ("reason",),
    "logbook_entry": ("name", "message", "entity_id", "domain"),
    "voice_turn": ("satellite", "name", "run_id", "wake_word", "began_ms", "stages", "outcome", "error"),
    "voice_failed": ("satellite", "name", "run_id", "error"),
    "picture_kept": ("file", "agent_id", "entity_id"),
    "hub_started": ("version",),
    "hub_stopping": (),
}
"""Event types that are kept, and the keys of their data that are."""

CAUSED = ("automation_triggered", "picture_kept", "run_started")
"""Of these it is kept too what led to them."""
CHAIN_KEPT = 8
NOTED = frozenset(
    {
        *("automation_triggered", "budget_reached", "config_changed", "config_refused", "hub_started"),
        *("integration_changed", "logbook_entry", "message_dead", "pairing_decided", "voice_failed"),
    }
)
"""Each is a row of the timeline."""
UNTOLD = frozenset({"set_up", "installing", "retrying", "unloaded", "disabled"})
"""States of an integration that are no news."""
NOT_DEVICES = frozenset({"automation", "script", "heartbeat", "sun", "weather", "event", "button", "scene", "camera"})
"""Domains whose states are no news by themselves: something else tells of them, or nobody did anything."""
NO_NEWS = frozenset({"unknown", "unavailable"})

EVENT_CUSTOM = "custom_event_fired"
"""Fired with `{event_type, event_data}` behind an event that a person or an automation made up; that is kept too."""
CUSTOM_BYTES_LIMIT = 4_096
CUT = "too_large"
"""Stands in the place of data that has more bytes than that."""


class Recorder:
    """Copies events from the bus into history, which bounds and retains them.

    Args:
        bus: Listened to between `start` and `stop`.
        history: Written in the background.
    """

    def __init__(self, bus: EventBus, history: HistoryStore) -> None:
        self._bus = bus
        self._history = history
        self._unlisten: list[Callable[[], None]] = []

    def start(self) -> None:
        """Start recording."""
        self._unlisten = [self._bus.listen(type, self._event) for type in KEPT]
        self._unlisten.append(self._bus.listen(EVENT_CUSTOM, self._custom))
        self._unlisten.append(self._bus.listen(EVENT_STATE_CHANGED, self._state))

    def stop(self) -> None:
        """Stop recording."""
        for unlisten in self._unlisten:
            unlisten()
        self._unlisten = []

    def _event(self, event: Event) -> None:
        data = {key: event.data[key] for key in KEPT[event.type] if key in event.data}
        data |= beside_phrases(data)
        context, parent_id = event.context, None
        if event.type in CAUSED:
            parent_id = context.parent_id
            if context.chain:
                data["chain"] = context.chain[-CHAIN_KEPT:]
        elif event.type == EVENT_SERVICE_CALLED:
            data |= {"principal": context.authority.principal, "person": context.authority.person}
        noted = event.type in NOTED and data.get("state") not in UNTOLD
        self._history.record_event(event.type, data, context.id, event.time_fired, parent_id=parent_id, noted=noted)

    def _custom(self, event: Event) -> None:
        type, data = str(event.data["event_type"]), event.data["event_data"]
        if type in KEPT or type == EVENT_STATE_CHANGED:
            return  # those are kept as they always are
        try:
            size = len(orjson.dumps(data, default=repr, option=orjson.OPT_NON_STR_KEYS))
        except (TypeError, ValueError, RecursionError):
            size = CUSTOM_BYTES_LIMIT + 1
        kept = data if size <= CUSTOM_BYTES_LIMIT else {CUT: True}
        self._history.record_event(type, kept, event.context.id, event.time_fired)

    def _state(self, event: Event) -> None:
        old: Any = event.data["old_state"]
        new: Any = event.data["new_state"]
        attributes = dict(new.attributes) if new is not None else {}
        state = new.state if new is not None else None
        entity_id, context, noted = event.data["entity_id"], event.context, None
        if (
            old is not None
            and state not in (None, old.state, *NO_NEWS)
            and old.state not in NO_NEWS
            and "unit_of_measurement" not in attributes
            and entity_id.partition(".")[0] not in NOT_DEVICES
        ):
            who = context.authority
            noted = NotedChange(old.state, context.parent_id, who.principal, who.person)
        self._history.record_state(entity_id, state, attributes, context.id, event.time_fired, noted=noted)


def history_stage(
    history: HistoryStore, bus: EventBus, repairs: Repairs, tasks: TaskOwner, *, wait_s: float = OPENING_WAIT_S
) -> Stage:
    """Return the stage that opens the history and records; failure to record raises a repair.

    Args:
        wait_s: The start waits so long for the database; the migration of a large one goes on behind it.
    """
    recorder = Recorder(bus, history)

    async def open() -> None:
        await history.open()
        if history.off is not None:
            title = phrase("No history is recorded")
            repairs.raise_("storage", "history", title, history.off, severity=Severity.WARNING)

    async def start() -> None:
        opening = tasks.spawn(open(), name="opening of the history")
        await asyncio.wait({opening}, timeout=wait_s)
        if not opening.done():
            _log.info("the history is brought to a new version meanwhile")
        recorder.start()

    async def stop() -> None:
        recorder.stop()
        await history.close()

    return Stage("history", start, stop)
