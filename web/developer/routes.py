"""Routes of the developer tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.surfaces import ADMIN, Route
from web.core.lazy_pages import LazyPages
from web.core.page_routes import form, page

if TYPE_CHECKING:
    from web.developer.components_page import ComponentsPage
    from web.developer.developer_page import DeveloperPage


def routes(pages: LazyPages[DeveloperPage], components: LazyPages[ComponentsPage]) -> list[Route]:
    """Return the routes."""
    on = pages.handler
    return [
        page("/settings/developer", on(lambda each: each.show), ADMIN),
        page("/settings/advanced/ui", components.handler(lambda each: each.show), ADMIN),
        form("/developer/set", on(lambda each: each.set), ADMIN),
        form("/developer/remove", on(lambda each: each.remove), ADMIN),
        page("/settings/developer/events", on(lambda each: each.events), ADMIN),
        form("/developer/fire", on(lambda each: each.fire), ADMIN),
        page("/settings/developer/services", on(lambda each: each.services), ADMIN),
        form("/developer/services", on(lambda each: each.call), ADMIN),
        page("/settings/developer/templates", on(lambda each: each.templates), ADMIN),
        form("/developer/templates", on(lambda each: each.render), ADMIN),
        form("/developer/preview", on(lambda each: each.preview), ADMIN),
    ]
