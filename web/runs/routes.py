"""Routes of the pages of runs, and the live topic that keeps open ones up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import EventBus, Unsubscribe
from hub.core.surfaces import ADMIN, Route
from hub.messaging.outbox.sending import MESSAGE_ENDS
from hub.tools.approvals import EVENT_APPROVAL_REQUESTED, EVENT_APPROVAL_RESOLVED
from web.core.lazy_pages import LazyPages
from web.core.page_routes import form, page
from web.core.pulse import PagePulse

if TYPE_CHECKING:
    from web.runs.runs_page import RunsPage

CHANGES = (
    *("run_queued", "run_started", "run_message", "run_tool_started", "run_finished"),
    *("subagent_spawned", "subagent_ended"),
    *(EVENT_APPROVAL_REQUESTED, EVENT_APPROVAL_RESOLVED, *MESSAGE_ENDS),
)


def routes(pages: LazyPages[RunsPage]) -> list[Route]:
    """Return the routes."""
    return [
        page("/timeline", pages.handler(lambda each: each.list), ADMIN),
        page("/timeline/run", pages.handler(lambda each: each.show), ADMIN),
        form("/runs/stop", pages.handler(lambda each: each.stop), ADMIN),
        form("/runs/replay", pages.handler(lambda each: each.replay), ADMIN),
    ]


def keep_true(bus: EventBus, pulse: PagePulse) -> list[Unsubscribe]:
    """Notify open pages of changes; started by the first visit, so that unused pages cost nothing.

    Returns:
        Functions that stop listening.
    """
    return [bus.listen(name, lambda _: pulse.beat()) for name in CHANGES]
