"""Canvas: pages that an agent shows on the dashboard.

Its own files, sandboxed on their own origin, and surfaces of A2UI, whose buttons a person presses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Register the tool, the page and its routes; the origin listens once it is first needed."""
    from integrations.tools.canvas.canvases import Canvases
    from integrations.tools.canvas.node_pages import NodePages
    from integrations.tools.canvas.origin import CanvasOrigin
    from integrations.tools.canvas.page import CanvasPage
    from integrations.tools.canvas.reloading import Reloading
    from integrations.tools.canvas.tabs import CanvasTabs
    from integrations.tools.canvas.tool import CanvasTool
    from integrations.tools.canvas.widgets import Widgets

    canvases = Canvases(host.agents)
    origin = CanvasOrigin(
        canvases,
        lambda agent: host.agents.get(agent).workspace,
        host.http,
        lambda: host.dashboard_url,
        host.workspaces.outside.holds,
        port=config.get("port"),
        url=config.get("url"),
    )
    node_pages = NodePages(host.nodes.registry, host.clock, origin)
    origin.of_node = node_pages.agent
    reloading = Reloading(host, canvases)
    tabs = CanvasTabs(lambda: reloading.watch(tabs.agents))
    canvases.changed = lambda canvas: tabs.send(canvas.agent, canvas.as_dict())
    page = CanvasPage(host, canvases, tabs, origin, node_pages)
    host.on_unload(origin.stop)
    host.on_unload(tabs.close)
    widgets = Widgets(host, canvases, origin)
    host.tools.add(*CanvasTool(host, canvases, tabs, origin, node_pages).all(), widgets.tool())
    host.methods.add(node_pages.method())
    host.methods.add(page.method())
    host.routes.add(widgets.route(host.domain))
    host.pages.add(page.page())
    host.pages.frame(lambda request: origin.address(request.host))
    for route in page.routes():
        host.routes.add(route)
