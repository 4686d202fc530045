"""Routes of the pages of entities and areas, and the live topic that keeps open ones up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.states import EVENT_STATE_CHANGED
from hub.core.surfaces import ADMIN, READ, WRITE, Route
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.page_routes import OWNER, form, page
from web.core.pulse import PagePulse

if TYPE_CHECKING:
    from web.entities.page_set import EntityPages

CHANGES = tuple(f"{kind}_registry_updated" for kind in ("entity", "device", "area", "floor", "label"))


def routes(pages: LazyPages[EntityPages]) -> list[Route]:
    """Return the routes."""
    table = pages.handler(lambda each: each.entities.table)
    return [
        page("/devices/rooms", pages.handler(lambda each: each.rooms.show)),
        page("/devices/all", pages.handler(lambda each: each.entities.show)),
        Route("GET", "/devices/all.csv", table, OWNER, scope=READ, cookie=True),
        form("/entities/do", pages.handler(lambda each: each.entities.do), WRITE),
        form("/entities/save", pages.handler(lambda each: each.entities.save), ADMIN),
        form("/entities/accept", pages.handler(lambda each: each.entities.accept), ADMIN),
        form("/areas/add", pages.handler(lambda each: each.rooms.add), ADMIN),
        form("/areas/save", pages.handler(lambda each: each.rooms.save), ADMIN),
        form("/areas/room", pages.handler(lambda each: each.rooms.save_room), ADMIN),
        form("/areas/remove", pages.handler(lambda each: each.rooms.remove), ADMIN),
    ]


def serve_topic(bus: EventBus, live: LiveUpdates, pulse: PagePulse) -> list[Unsubscribe]:
    """Serve the live topic and keep it up to date.

    Returns:
        Functions that stop listening.
    """
    live.add_topic(pulse.topic, pulse.state)

    def changed(event: Event) -> None:
        if live.is_watched(pulse.topic):
            pulse.beat()

    return [bus.listen(name, changed) for name in (EVENT_STATE_CHANGED, *CHANGES)]
