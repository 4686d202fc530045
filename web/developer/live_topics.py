"""Live topics of the developer tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.states import EVENT_STATE_CHANGED
from hub.core.surfaces import ADMIN
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates

if TYPE_CHECKING:
    from web.developer.developer_page import DeveloperPage


def serve_topics(bus: EventBus, live: LiveUpdates, pages: LazyPages[DeveloperPage]) -> list[Unsubscribe]:
    """Serve the topics and keep them up to date; the event log sends events by itself.

    Returns:
        Functions that stop listening.
    """
    live.add_topic("states", pages.state(lambda each: each.state_rows), ADMIN)
    live.add_topic("events", pages.state(lambda each: each.event_rows), ADMIN)

    def state_changed(event: Event) -> None:
        live.changed_all("states")

    return [bus.listen(EVENT_STATE_CHANGED, state_changed)]
