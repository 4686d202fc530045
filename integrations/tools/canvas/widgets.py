"""The tool that shows a small page in the chat: a file of the canvas, sandboxed on the canvas's origin."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web

from hub.core.ids import new_id
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import READ, HttpCall, Route
from hub.security.root import Root
from hub.tools.contract import Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.canvas.canvases import FOLDER, Canvases
from integrations.tools.canvas.origin import CanvasOrigin
from integrations.tools.canvas.tool import GROUP, SHOWS, approval

if TYPE_CHECKING:
    from hub.host import IntegrationHost

HTML_LIMIT = 100_000
KEPT = 100
"""Widgets of an agent; the oldest goes first."""
PATH = "/canvas/widget/{agent}/{id}"
_PLACE = "widgets"
_SCHEMA = Schema(
    {
        Required("title", description="What it is."): All(string, Length(min=1, max=100)),
        Required("html", description="The page, with all that belongs to it; it reaches nothing else."): All(
            string, Length(min=1, max=HTML_LIMIT)
        ),
    }
)


class Widgets:
    """Makes the tool, and leads the frames of the chat to its pages.

    Args:
        host: Has the workspaces.
        canvases: Know the address of an agent's files.
        origin: Serves them.
    """

    def __init__(self, host: IntegrationHost, canvases: Canvases, origin: CanvasOrigin) -> None:
        self._host, self._canvases, self._origin = host, canvases, origin

    def tool(self) -> Tool:
        """Return the tool."""
        return Tool(
            "show_widget",
            "Show the owner a small page (HTML with scripts and styles, or SVG) in the chat of the dashboard: a chart, "
            "a calculator. It is sandboxed, and reaches no network.",
            from_schema(_SCHEMA),
            self._run,
            GROUP,
            SHOWS,
            approval=approval,
        )

    def route(self, owner: str) -> Route:
        """Return the route that a frame of the chat asks: where the page is now."""
        return Route("GET", PATH, self._lead, owner, scope=READ, cookie=True)

    async def _run(self, call: ToolCall) -> ToolResult:
        await self._origin.start()
        id, page = new_id(), call.arguments["html"].encode()
        await asyncio.to_thread(self._write, call, f"{FOLDER}/{_PLACE}/{id}.html", page)
        return ToolResult(f"The widget {call.agent_id}/{id} is shown in the chat of the dashboard.")

    async def _lead(self, call: HttpCall) -> web.StreamResponse:
        canvas = self._canvases.of(call.params["agent"])
        await self._origin.start()
        origin = self._origin.address(call.request.host)
        where = f"{origin}/{canvas.token}/{_PLACE}/{call.params['id']}.html"
        return web.Response(status=302, headers={"Location": where})

    def _write(self, call: ToolCall, path: str, page: bytes) -> None:
        outside, folder = self._host.workspaces.outside, f"{FOLDER}/{_PLACE}"
        if outside.writes_from_outside(call.context.authority):
            outside.mark(call.agent_id, path, page)
        workspace = Root(self._host.agents.get(call.agent_id).workspace)
        workspace.write_bytes(path, page, parents=True)
        for oldest in sorted(workspace.listdir(folder))[:-KEPT]:
            workspace.unlink(f"{folder}/{oldest}")
