"""Custom events of people and automations: fired like any other, and recorded for backtests."""

from __future__ import annotations

from typing import Any

from hub.core.context import Context
from hub.core.events import EventBus
from hub.storage.recorder import EVENT_CUSTOM


def fire_custom(bus: EventBus, event_type: str, data: dict[str, Any], context: Context) -> None:
    """Fire a custom event.

    Args:
        data: Plain data; not to be changed afterwards.
        context: Who fires it.
    """
    bus.fire(event_type, data, context)
    bus.fire(EVENT_CUSTOM, {"event_type": event_type, "event_data": data}, context)
