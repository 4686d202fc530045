"""Routes of the pages of agents and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.surfaces import ADMIN, Route
from web.core.lazy_pages import LazyPages
from web.core.page_routes import TEXT_LIMIT_BYTES, form, page

if TYPE_CHECKING:
    from web.agents.agents_page import AgentsPage
    from web.agents.models_page import ModelsPage

PICTURE_LIMIT_BYTES = 1_200_000
"""Bytes of a form that holds the largest picture of an agent."""


def routes(agents: LazyPages[AgentsPage], models: LazyPages[ModelsPage]) -> list[Route]:
    """Return the routes."""
    return [
        page("/agents", agents.handler(lambda each: each.show)),
        page("/agents/agent", agents.handler(lambda each: each.agent), ADMIN),
        form("/agents/agent", agents.handler(lambda each: each.save), ADMIN, TEXT_LIMIT_BYTES),
        page("/agents/new", agents.handler(lambda each: each.new), ADMIN),
        form("/agents/new", agents.handler(lambda each: each.create), ADMIN),
        form("/agents/picture", agents.handler(lambda each: each.picture), ADMIN, PICTURE_LIMIT_BYTES),
        form("/agents/preview", agents.handler(lambda each: each.preview), ADMIN, TEXT_LIMIT_BYTES),
        form("/agents/default", agents.handler(lambda each: each.make_default), ADMIN),
        form("/agents/remove", agents.handler(lambda each: each.remove), ADMIN),
        page("/agents/models", models.handler(lambda each: each.show)),
        page("/agents/models/add", models.handler(lambda each: each.choose), ADMIN),
        form("/agents/models/add", models.handler(lambda each: each.add), ADMIN),
        form("/agents/models/test", models.handler(lambda each: each.test), ADMIN),
        form("/agents/models/remove", models.handler(lambda each: each.remove), ADMIN),
        form("/agents/models/default", models.handler(lambda each: each.default), ADMIN),
        form("/agents/models/fallback", models.handler(lambda each: each.fallback), ADMIN),
    ]
