"""Routes of the timeline, and the live topic that keeps open pages up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import EventBus, Unsubscribe
from hub.core.surfaces import ADMIN, Route
from hub.timeline.changes import EVENT_TIMELINE
from web.core.lazy_pages import LazyPages
from web.core.page_routes import form, page
from web.core.pulse import PagePulse

if TYPE_CHECKING:
    from web.timeline.page_set import TimelinePages


def routes(pages: LazyPages[TimelinePages]) -> list[Route]:
    """Return the routes."""
    on = pages.handler
    return [
        page("/timeline", on(lambda each: each.list.show), ADMIN),
        page("/timeline/{id}", on(lambda each: each.one.show), ADMIN),
        page("/timeline/{id}/sent", on(lambda each: each.one.sent), ADMIN),
        page("/timeline/{id}/file", on(lambda each: each.one.file), ADMIN),
        page("/timeline/{id}/picture/{number}", on(lambda each: each.one.picture), ADMIN),
        form("/timeline/again", on(lambda each: each.one.again), ADMIN),
        form("/timeline/ask", on(lambda each: each.one.ask), ADMIN),
        form("/timeline/stop", on(lambda each: each.one.stop), ADMIN),
    ]


def keep_true(bus: EventBus, pulse: PagePulse) -> Unsubscribe:
    """Notify open pages of changes; started by the first visit, so that unused pages cost nothing.

    Returns:
        A function that stops listening.
    """
    return bus.listen(EVENT_TIMELINE, lambda _: pulse.beat())
