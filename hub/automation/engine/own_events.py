"""The hub's own events, which nothing else may fire, since listeners trust them; and events of others.

A test reads the sources and finds every event type of the hub in one of these lists.
"""

from __future__ import annotations

from typing import Any

from hub.core.context import Authority, Context
from hub.core.errors import InvalidRequest
from hub.core.events import EventBus
from hub.storage.recorder import EVENT_CUSTOM

OWN_PREFIXES = (
    "approval_",
    "area_registry_",
    "automation_",
    "backup_",
    "channel_",
    "compaction_",
    "config_",
    "device_pair_",
    "device_registry_",
    "entity_registry_",
    "floor_registry_",
    "hub_",
    "label_registry_",
    "memory_",
    "node_pair_",
    "pairing_",
    "question_",
    "run_",
    "script_",
    "session_",
    "standing_intent",
    "subagent_",
    "timeline_",
    "update_",
    "voice_",
)
OWN_EVENTS = frozenset(
    {
        "calendar_changed",
        "call_service",
        "command_received",
        "custom_event_fired",
        "heartbeat",
        "heartbeat_wake",
        "integration_changed",
        "logbook_entry",
        "message_unknown",
        "models_changed",
        "mqtt_bridge_ready",
        "mqtt_topic_wanted",
        "persistent_notification",
        "person_notified",
        "repairs_changed",
        "scheduled",
        "picture_kept",
        "service_called",
        "service_registered",
        "service_removed",
        "signed_in",
        "signed_out",
        "skills_changed",
        "state_changed",
        "state_reported",
        "system_event",
        "tools_changed",
        "webchat_message",
    }
)
"""Parts of the hub act on these, or clients and history believe them."""

TRIED_EVENTS = frozenset(
    {
        "budget_reached",
        "button_pressed",
        "device_event",
        "feed_item",
        "membership_changed",
        "message_dead",
        "message_deleted",
        "message_edited",
        "message_reaction",
        "message_received",
        "message_rejected",
        "message_sent",
        "mobile_app_notification_action",
        "mobile_app_notification_cleared",
        "mqtt_message",
        "node_connected",
        "node_disconnected",
        "node_event",
        "poll_answered",
        "tag_scanned",
        "tool_finished",
        "timer.cancelled",
        "timer.changed",
        "timer.finished",
        "timer.paused",
        "timer.restarted",
        "timer.started",
        "tool_started",
        "webhook_received",
    }
)
"""Automations alone act on these; an owner may fire one to see what it sets off."""


def is_own(event_type: str) -> bool:
    """Return whether an event type is reserved for the hub."""
    return event_type in OWN_EVENTS or event_type.startswith(OWN_PREFIXES)


def refuse_own(event_type: str, authority: Authority) -> None:
    """Refuse an event whose type is reserved for the hub.

    Args:
        event_type: The type to be fired.
        authority: The rights of the caller.

    Raises:
        InvalidRequest: It is the hub's, or only an owner may try it.
    """
    if is_own(event_type):
        raise InvalidRequest(
            f"{event_type[:80]} is an event of the hub itself and cannot be fired; choose another name",
            details={"event_type": event_type[:80]},
        )
    if event_type in TRIED_EVENTS and (authority.tainted or not authority.owner):
        raise InvalidRequest(
            f"{event_type} is an event of the hub; only an owner may fire it, to try an automation",
            details={"event_type": event_type},
        )


def fire_custom(bus: EventBus, event_type: str, data: dict[str, Any], context: Context) -> None:
    """Fire an event of a person or an automation, and record it for backtests.

    Args:
        data: Plain data; not to be changed afterwards.
        context: The cause.
    """
    bus.fire(event_type, data, context)
    bus.fire(EVENT_CUSTOM, {"event_type": event_type, "event_data": data}, context)
