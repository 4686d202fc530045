"""Routes of the configuration pages."""

from __future__ import annotations

from hub.core.surfaces import ADMIN, Route
from web.core.page_routes import TEXT_LIMIT_BYTES, form, page
from web.settings.configuration_page import ConfigurationPage


def routes(configuration: ConfigurationPage) -> list[Route]:
    """Return the routes."""
    return [
        page("/settings/files", configuration.show, ADMIN),
        page("/settings/files/history", configuration.history, ADMIN),
        form("/config/check", configuration.check, ADMIN, TEXT_LIMIT_BYTES),
        form("/config/complete", configuration.complete, ADMIN, TEXT_LIMIT_BYTES),
        form("/config/save", configuration.save, ADMIN, TEXT_LIMIT_BYTES),
        form("/config/restore", configuration.restore, ADMIN),
        form("/config/reload", configuration.reload, ADMIN),
    ]
