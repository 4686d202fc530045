"""The page of tools: all of them by group, each with a sentence and its risk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from hub.core.surfaces import HttpCall
from web.core.formats import title_of
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer
from web.core.texts import TOOL_GROUPS, TOOL_RISKS
from web.core.tool_texts import tool_texts

PATH = "/tools/all"
ICONS = {
    "home": "lightbulb",
    "memory": "brain",
    "schedule": "clock",
    "message": "send",
    "session": "message-circle",
    "web": "globe",
    "browser": "monitor",
    "files": "file",
    "shell": "terminal",
    "skills": "puzzle",
    "nodes": "smartphone",
    "canvas": "palette",
    "mcp": "cable",
}


class ToolsPage:
    """The page.

    Args:
        client: Calls the methods for tools.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /tools/all`: the tools by group."""
        catalog = await self._client.ask(call, "tools.catalog")
        groups: dict[str, list[dict[str, Any]]] = {}
        for tool in catalog["tools"]:
            groups.setdefault(tool["group"], []).append(_shown(tool))
        order = {name: at for at, name in enumerate(TOOL_GROUPS)}
        data = {
            "count": len(catalog["tools"]),
            "groups": [
                {
                    "name": name,
                    "title": TOOL_GROUPS.get(name) or title_of(name),
                    "icon": ICONS.get(name, "wrench"),
                    "tools": groups[name],
                }
                for name in sorted(groups, key=lambda name: (order.get(name, len(order)), name))
            ],
        }
        return await self._renderer.respond(call, RenderedPage("tools", "Tools", data, PATH))


def _shown(tool: Mapping[str, Any]) -> dict[str, Any]:
    risk = risk_of(tool["annotations"])
    return {
        "name": tool["name"],
        **tool_texts(tool),
        "risk": risk,
        "risk_text": TOOL_RISKS[risk],
        "available": tool["available"],
    }


def risk_of(annotations: Mapping[str, Any]) -> str:
    """Return the worst effect of a tool: `read`, `change`, `outside` or `destroy`."""
    if annotations["read_only"]:
        return "outside" if annotations["open_world"] else "read"
    return "destroy" if annotations["destructive"] else "change"
