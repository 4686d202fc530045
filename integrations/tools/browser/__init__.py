"""Browser: a Chromium that an agent uses through snapshots and refs, and that reaches only what the hub may reach.

Playwright is loaded with the first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool, the methods and the live view; no browser is started."""
    # Reading the schema or a command of an integration loads this module, and must load no more.
    from integrations.tools.browser.attach_route import attach_route
    from integrations.tools.browser.gateway import browser_methods
    from integrations.tools.browser.live import LiveView
    from integrations.tools.browser.service import BrowserService
    from integrations.tools.browser.tool import browser_tool
    from integrations.tools.known_urls import KnownUrls

    service = BrowserService(
        config or {},
        host.home,
        egress=host.egress,
        clock=host.clock,
        workspaces=host.workspaces,
        sandboxes=host.sandboxes.registry,
        default_agent=host.agents.default().id,
    )
    host.on_unload(service.close)
    host.spawn(service.stop_idle(), name="stop idle browsers")
    host.tools.add(browser_tool(service, KnownUrls(host.sessions)))
    for method in browser_methods(service):
        host.methods.add(method)
    host.routes.add(attach_route(service, host.domain))
    live = LiveView(service, host.clock)
    for route in live.routes:
        host.routes.add(route)
    host.pages.add(live.page)
