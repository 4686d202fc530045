"""Routes of the page of usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.surfaces import READ, Route
from web.core.lazy_pages import LazyPages
from web.core.page_routes import OWNER, page

if TYPE_CHECKING:
    from web.usage.usage_page import UsagePage


def routes(pages: LazyPages[UsagePage]) -> list[Route]:
    """Return the routes."""
    return [
        page("/agents/usage", pages.handler(lambda each: each.show)),
        Route("GET", "/agents/usage.csv", pages.handler(lambda each: each.table), OWNER, scope=READ, cookie=True),
    ]
