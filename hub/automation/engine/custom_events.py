"""Events that people and automations make up: fired like any other, and told to history for a backtest."""

from __future__ import annotations

from typing import Any

from hub.core.context import Context
from hub.core.events import EventBus
from hub.storage.recorder import EVENT_CUSTOM


def fire_custom(bus: EventBus, event_type: str, data: dict[str, Any], context: Context) -> None:
    """Fire an event that no part of the hub fires of its own accord.

    Args:
        data: Plain data; not to be changed afterwards.
        context: Who made it up.
    """
    bus.fire(event_type, data, context)
    bus.fire(EVENT_CUSTOM, {"event_type": event_type, "event_data": data}, context)
