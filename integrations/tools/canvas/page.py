"""The page Canvas of the dashboard: its data, its scripts, its WebSocket, and the buttons that are pressed on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hub.core.context import Context
from hub.core.errors import InvalidRequest, NotFound
from hub.core.ids import new_id
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import READ, WRITE, HttpCall, Method, MethodCall, Open, Route
from hub.gateway.pages import Page
from hub.messaging.contract import Address, ClientMessage
from integrations.tools.canvas.canvases import Canvas, Canvases
from integrations.tools.canvas.node_pages import NodePages
from integrations.tools.canvas.origin import CanvasOrigin
from integrations.tools.canvas.surfaces import Surfaces, press_message
from integrations.tools.canvas.tabs import CanvasTabs

if TYPE_CHECKING:
    from hub.host import IntegrationHost

OWNER = "canvas"
ROUTES, PATH = "/canvas", "/tools/canvas"
SCRIPTS = ("canvas.js", "a2ui.js", "snapshot.js")
PRESS_LIMIT_BYTES = 32_768
_HERE = Path(__file__).parent
_NAME = All(string, Length(min=1, max=100))
_PRESS = Schema(
    {Required("agent"): _NAME, Required("surface"): _NAME, Required("component"): _NAME, Required("values"): dict}
)
_PRESS_ON_NODE = Schema({Required("surface"): _NAME, Required("component"): _NAME, Required("values"): dict})
_CHINESE = {
    "Canvas": "画布",
    "Nothing is shown. Ask an agent to show something on the canvas.": "这里没有内容。请让智能体在画布上显示一些内容。",
    "The assistant wants to show you this address:": "助手想向您展示此地址：",
    "Sent": "已发送",
    "This could not be sent.": "无法发送。",
    "The canvas is being loaded.": "正在加载画布。",
}


class CanvasPage:
    """The page and its routes.

    Args:
        host: Takes the messages of those who press.
        canvases: The canvases.
        tabs: The viewers.
        origin: Serves the files.
        node_pages: Have the surfaces that nodes show.
    """

    def __init__(
        self, host: IntegrationHost, canvases: Canvases, tabs: CanvasTabs, origin: CanvasOrigin, node_pages: NodePages
    ) -> None:
        self._host = host
        self._canvases = canvases
        self._tabs = tabs
        self._origin = origin
        self._node_pages = node_pages

    def page(self) -> Page:
        """Return the page."""
        template = _HERE / "canvas.html"
        return Page(PATH, "Canvas", template, self._data, under="/tools", position=57, texts={"zh-CN": _CHINESE})

    def method(self) -> Method:
        """Return the method by which a phone hands on a press on a surface that it shows as a node."""
        return Method("canvas.press", self._press_on_node, OWNER, _PRESS_ON_NODE, WRITE)

    def routes(self) -> list[Route]:
        """Return the routes of its scripts, its WebSocket and its buttons."""
        return [
            Route("GET", f"{ROUTES}/a2ui.js", self._a2ui, OWNER, scope=Open.PUBLIC),
            Route("GET", f"{ROUTES}/script/{{name}}", self._script, OWNER, scope=READ, cookie=True),
            Route("GET", f"{ROUTES}/live", self._live, OWNER, scope=READ, cookie=True, websocket=True),
            Route(
                *("POST", f"{ROUTES}/press", self._press, OWNER),
                scope=WRITE,
                body=_PRESS,
                body_limit=PRESS_LIMIT_BYTES,
                cookie=True,
            ),
        ]

    async def _data(self, call: HttpCall) -> Mapping[str, Any]:
        await self._origin.start()
        canvas = self._canvas(call)
        return {"agent": canvas.agent, "origin": self._origin.address(call.request.host), **canvas.as_dict()}

    async def _script(self, call: HttpCall) -> web.StreamResponse:
        name = call.params["name"]
        if name not in SCRIPTS:
            raise NotFound("there is no such script")
        return await self._sent(name)

    async def _a2ui(self, call: HttpCall) -> web.StreamResponse:
        """`GET /canvas/a2ui.js`: draws surfaces on a phone's page, which has no cookie."""
        return await self._sent("a2ui.js")

    async def _sent(self, name: str) -> web.StreamResponse:
        text = await asyncio.to_thread((_HERE / name).read_text)
        return web.Response(text=text, content_type="text/javascript", headers={"Cache-Control": "no-store"})

    async def _live(self, call: HttpCall) -> web.StreamResponse:
        canvas = self._canvas(call)
        return await self._tabs.serve(call, canvas.agent, canvas.as_dict())

    async def _press(self, call: HttpCall) -> web.StreamResponse:
        """Hand a press to the conversation that shows the surface, as a message of the person who pressed."""
        fields = call.body
        if not isinstance(fields, dict):
            raise InvalidRequest("expected a JSON object")
        return web.json_response(
            await self._pressed(self._canvases.of(fields["agent"]).surfaces, fields, call.context())
        )

    async def _press_on_node(self, call: MethodCall) -> Mapping[str, Any]:
        """Hand on a press on what the tool showed on the very device that calls."""
        device = call.caller.credential_id.removeprefix("device:").partition("/")[0]
        return await self._pressed(self._node_pages.surfaces.get(device, {}), call.params, call.context)

    async def _pressed(self, surfaces: Surfaces, fields: Mapping[str, Any], context: Context) -> dict[str, Any]:
        surface = surfaces.get(fields["surface"])
        if surface is None:
            raise NotFound(f"the canvas has no surface {fields['surface']}")
        text = press_message(surface, fields["component"], fields["values"])
        context = context.tainted() if surface.tainted else context
        channel, id = self._host.channels.registry.home, f"canvas-{new_id()}"
        message = ClientMessage(
            address=Address(channel, surface.session),
            message_id=id,
            sender=f"{channel}:user:{context.authority.person or context.authority.principal}",
            text=text,
            session_key=surface.session,
            run_id=id,
        )
        receipt = await self._host.inbox.receive(message, context)
        return {"accepted": receipt.accepted, "run_id": receipt.run_id, "reason": receipt.reason}

    def _canvas(self, call: HttpCall) -> Canvas:
        agent = call.request.query.get("agent")
        return self._canvases.of(agent) if agent else self._canvases.latest()
