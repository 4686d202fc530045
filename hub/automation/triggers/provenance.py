"""Which events carry words from outside, so that a run they set off treats them as data."""

from __future__ import annotations

from hub.core.context import Context
from hub.core.events import Event

OUTSIDE = frozenset({"device_event", "mqtt_message", "webhook_received", "node_event", "feed_item"})
"""Event types whose data anybody may have written."""
FROM_PEOPLE = frozenset({"command_received", "message_received", "message_rejected"})
"""Event types whose data is the owner's own words when `from_owner` says so, and else somebody's."""


def is_somebody_elses(cause: Context | None) -> bool:
    """Whether its originator has fewer rights than an owner, or it contains text from outside.

    An automation runs with its own rights, so what others bring into it is data, whatever kind of trigger it came by.
    """
    return cause is not None and (cause.authority.tainted or not cause.authority.owner)


def is_tainted(event: Event) -> bool:
    """Whether a run that this event sets off is to be treated as one that has read words from outside."""
    if event.context.authority.tainted or event.type in OUTSIDE:
        return True
    return event.type in FROM_PEOPLE and event.data.get("from_owner") is not True
