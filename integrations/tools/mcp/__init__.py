"""The Model Context Protocol: the tools of other programs for the agents, and the hub's own for other programs.

Spoken with the protocol's own SDK, https://github.com/modelcontextprotocol/python-sdk, which is imported when the hub
has started and a server is configured. Not here: what servers may be asked; that is for policies and approvals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Connect to the servers, and be one when the configuration says so."""
    from integrations.tools.mcp.methods import methods
    from integrations.tools.mcp.page import PATH, accept_route, add_route, servers_page
    from integrations.tools.mcp.servers import McpServers
    from integrations.tools.mcp.serving import McpDoor

    servers = McpServers(host, config["servers"])
    for method in methods(servers):
        host.methods.add(method)
    host.pages.add(servers_page(servers, config["server"]))
    host.routes.add(accept_route(servers))
    host.routes.add(add_route(host))
    host.routes.add(servers.sign_ins.route(PATH))
    if config["server"]["enabled"]:
        host.routes.add(McpDoor(host, config["server"]).route())
    if config["servers"]:
        host.spawn(servers.run(), name="connect to MCP servers")
