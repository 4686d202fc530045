"""Routes of the pages of skills, tools and integrations, and the live topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.events import EventBus, Unsubscribe
from hub.core.surfaces import ADMIN, Route
from hub.skills.registry import EVENT_SKILLS_CHANGED
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.page_routes import form, page
from web.core.pulse import PagePulse

if TYPE_CHECKING:
    from web.skills.integrations_page import IntegrationsPage
    from web.skills.skills_page import SkillsPage
    from web.skills.tools_page import ToolsPage

UPLOAD_LIMIT_BYTES = 17_825_792
"""Bytes of a form that holds an archive of the largest size."""


def routes(
    pages: LazyPages[SkillsPage], tools: LazyPages[ToolsPage], integrations: LazyPages[IntegrationsPage]
) -> list[Route]:
    """Return the routes."""
    return [
        page("/tools/all", tools.handler(lambda each: each.show)),
        page("/tools/skills", pages.handler(lambda each: each.show)),
        form("/skills/change", pages.handler(lambda each: each.change), ADMIN),
        form("/skills/remove", pages.handler(lambda each: each.remove), ADMIN),
        form("/skills/search", pages.handler(lambda each: each.search), ADMIN),
        form("/skills/install", pages.handler(lambda each: each.install), ADMIN, UPLOAD_LIMIT_BYTES),
        page("/tools/integrations", integrations.handler(lambda each: each.show)),
        form("/integrations/change", integrations.handler(lambda each: each.change), ADMIN),
        form("/integrations/remove", integrations.handler(lambda each: each.remove), ADMIN),
        form("/integrations/install", integrations.handler(lambda each: each.install), ADMIN, UPLOAD_LIMIT_BYTES),
    ]


def serve_topic(bus: EventBus, live: LiveUpdates, pulse: PagePulse) -> list[Unsubscribe]:
    """Serve the live topic and keep it up to date.

    Returns:
        Functions that stop listening.
    """
    live.add_topic(pulse.topic, pulse.state)
    return [bus.listen(EVENT_SKILLS_CHANGED, lambda _: pulse.beat())]
