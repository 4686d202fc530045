"""`mcp.list`, `mcp.tools`, `mcp.accept`, `mcp.sign_in`: the servers, their tools, and decisions about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import Method, MethodCall
from hub.tools.registry import describe_tool
from integrations.tools.mcp.connection import McpConnection
from integrations.tools.mcp.servers import DOMAIN, McpServers

_NAMED = Schema({Required("server"): All(string, Length(min=1, max=64))})


def methods(servers: McpServers) -> list[Method]:
    """Return the methods."""

    async def list_(call: MethodCall) -> Mapping[str, Any]:
        return {"servers": servers_data(servers)}

    async def tools(call: MethodCall) -> Mapping[str, Any]:
        name = servers.get(call.params["server"]).name
        return {
            "tools": [
                {**describe_tool(each.tool), "said": each.said, "own_name": each.own, "changed": each.changed}
                for _, each in sorted(servers.tools[name].items())
            ]
        }

    async def accept(call: MethodCall) -> Mapping[str, Any]:
        return {"accepted": await servers.accept(call.params["server"])}

    async def sign_in(call: MethodCall) -> Mapping[str, Any]:
        servers.sign_ins.complete(call.params["url"])
        return {}

    return [
        Method("mcp.list", list_, DOMAIN, Schema({})),
        Method("mcp.tools", tools, DOMAIN, _NAMED),
        Method("mcp.accept", accept, DOMAIN, _NAMED, acts=True),
        Method("mcp.sign_in", sign_in, DOMAIN, Schema({Required("url"): All(string, Length(max=8_192))}), acts=True),
    ]


def servers_data(servers: McpServers) -> list[dict[str, Any]]:
    """Return the servers as plain data, without their secrets."""
    return [
        {
            "name": name,
            "where": _where(connection),
            "state": connection.state.value,
            "reason": connection.reason,
            "sign_in": connection.sign_in,
            "trusted": connection.settings["trusted"],
            "tools": len(servers.tools[name]),
            "changed": [each.own for each in servers.changed_tools(name)],
        }
        for name, connection in servers.connections.items()
    ]


def _where(connection: McpConnection) -> str:
    """Return its address, or its program; anything after them may hold keys."""
    settings = connection.settings
    return str(settings["url"]).partition("?")[0] if "url" in settings else str(settings["command"])
