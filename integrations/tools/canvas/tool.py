"""The tool that shows things on a canvas: files of the workspace, addresses, and surfaces of A2UI."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from hub.core.context import Authority
from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.models.contract import Image
from hub.models.images import image_type
from hub.security.egress import EgressFailed
from hub.security.egress_place import parse_url, place_of
from hub.security.root import Root
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.canvas.canvases import FOLDER, Canvases
from integrations.tools.canvas.node_pages import NodePages
from integrations.tools.canvas.origin import INDEX, CanvasOrigin, check_path
from integrations.tools.canvas.surfaces import TEXT_LIMIT, apply, read_messages
from integrations.tools.canvas.tabs import CanvasTabs

if TYPE_CHECKING:
    from hub.host import IntegrationHost

GROUP = "canvas"
SCRIPT_LIMIT = 20_000
IMAGE_LIMIT_BYTES = 4_000_000
IMAGE_WIDTH = 1_280
SHOWS = Annotations(destructive=False, idempotent=True, open_world=False, egress=True)
WITHIN = frozenset({"hide", "snapshot", "a2ui_reset"})
"""What shows nothing and runs nothing."""
PICTURE = "data:image/png;base64,"

_CANVAS = Schema(
    {
        Required("action"): In(["present", "hide", "navigate", "eval", "snapshot", "a2ui_push", "a2ui_reset"]),
        Optional("target", description=f"Of present and navigate: a file below {FOLDER}/, or an http(s) address."): All(
            string, Length(min=1, max=2_000)
        ),
        Optional("script", description="Of eval: an expression of JavaScript; its value is returned."): All(
            string, Length(min=1, max=SCRIPT_LIMIT)
        ),
        Optional("jsonl", description="Of a2ui_push: messages of A2UI 0.8, one a line."): All(
            string, Length(min=1, max=TEXT_LIMIT)
        ),
        Optional("node", description="The id of a node that shows it instead of the dashboard."): All(
            string, Length(min=1, max=200)
        ),
    }
)
_ON_NODES = {"eval": "canvas.eval", "a2ui_push": "canvas.a2ui.push", "a2ui_reset": "canvas.a2ui.reset"}


class CanvasTool:
    """The tool.

    Args:
        host: Has the workspaces, the nodes and the egress client.
        canvases: The canvases.
        tabs: The viewers.
        origin: Serves the files.
        node_pages: Have the addresses of files for nodes.
    """

    def __init__(
        self, host: IntegrationHost, canvases: Canvases, tabs: CanvasTabs, origin: CanvasOrigin, node_pages: NodePages
    ) -> None:
        self._host = host
        self._node_pages = node_pages
        self._canvases = canvases
        self._tabs = tabs
        self._origin = origin
        self._actions: Mapping[str, Callable[[ToolCall], Awaitable[ToolResult]]] = {
            "present": self._navigate,
            "navigate": self._navigate,
            "hide": self._hide,
            "eval": self._eval,
            "snapshot": self._snapshot,
            "a2ui_push": self._push,
            "a2ui_reset": self._reset,
        }

    def all(self) -> list[Tool]:
        """Return the tool."""
        return [
            Tool(
                "canvas",
                f"Show something to the owner on the page Canvas of the dashboard. Write files below {FOLDER}/ of your "
                "workspace, then present one; they are shown sandboxed, without the network, and again when they "
                "change. Or push surfaces of A2UI 0.8; who presses a button there writes to this conversation.",
                from_schema(_CANVAS),
                self._run,
                GROUP,
                SHOWS,
                approval=approval,
            )
        ]

    async def _run(self, call: ToolCall) -> ToolResult:
        if "node" in call.arguments:
            return await self._on_node(call)
        return await self._actions[call.arguments["action"]](call)

    async def _navigate(self, call: ToolCall) -> ToolResult:
        canvas, target = self._canvases.of(call.agent_id), call.arguments.get("target", INDEX)
        if "://" in target:
            url = await self._checked(target)
            self._canvases.show(canvas, visible=True, path="", url=url)
            return self._shown(call, f"The canvas offers {url} as a link: other sites are not shown inside it.")
        path = await self._file(call, target)
        await self._origin.start()
        self._canvases.show(canvas, visible=True, path=path, url="", loads=canvas.loads + 1)
        return self._shown(call, f"The canvas shows {path}.")

    async def _hide(self, call: ToolCall) -> ToolResult:
        self._canvases.show(self._canvases.of(call.agent_id), visible=False)
        return ToolResult("The canvas is hidden.")

    async def _push(self, call: ToolCall) -> ToolResult:
        canvas = self._canvases.of(call.agent_id)
        tainted = call.context.authority.tainted
        after = apply(canvas.surfaces, read_messages(_need(call, "jsonl")), call.session_key, tainted=tainted)
        self._canvases.show(canvas, visible=True, surfaces=after)
        drawn = [each.id for each in after.values() if each.root is not None]
        waiting = [each.id for each in after.values() if each.root is None]
        rest = f" {', '.join(waiting)}: not drawn before beginRendering." if waiting else ""
        return self._shown(call, f"Surfaces on the canvas: {', '.join(drawn) or 'none'}.{rest}")

    async def _reset(self, call: ToolCall) -> ToolResult:
        self._canvases.show(self._canvases.of(call.agent_id), surfaces={})
        return ToolResult("The canvas has no surfaces.")

    async def _eval(self, call: ToolCall) -> ToolResult:
        answer = await self._tabs.ask(call.agent_id, "eval", _need(call, "script"))
        return ToolResult(answer.value, trusted=False)

    async def _snapshot(self, call: ToolCall) -> ToolResult:
        answer = await self._tabs.ask(call.agent_id, "snapshot")
        media = (_picture(answer.image),) if answer.image else ()
        return ToolResult(answer.value or "The canvas is empty.", media=media, trusted=False)

    async def _on_node(self, call: ToolCall) -> ToolResult:
        """Ask a node to show a file of the workspace, an address or a surface."""
        nodes, action = self._host.nodes.registry, call.arguments["action"]
        found = nodes.records.find(call.arguments["node"])
        id = found.id if found is not None else call.arguments["node"]
        params: dict[str, Any] = {}
        if action in {"present", "navigate"}:
            target = call.arguments.get("target", INDEX)
            outside = "://" in target
            url = (
                self._checked(target)
                if outside
                else self._node_pages.url(call.agent_id, id, await self._file(call, target))
            )
            params = {"url": await url}
        elif action == "hide":
            self._node_pages.end(id)
        elif action == "snapshot":
            params = {"format": "png", "maxWidth": IMAGE_WIDTH}
        elif action == "eval":
            params = {"javaScript": _need(call, "script")}
        elif action == "a2ui_push":
            params = await self._surfaces_for(call, id)
        elif action == "a2ui_reset":
            self._node_pages.surfaces.pop(id, None)
        answer = await nodes.invoke(id, _ON_NODES.get(action, f"canvas.{action}"), params)
        image = answer.get("base64")
        media = (_picture(image),) if isinstance(image, str) else ()
        said = {key: value for key, value in answer.items() if key != "base64"}
        return ToolResult(str(said), media=media, trusted=False)

    async def _surfaces_for(self, call: ToolCall, id: str) -> dict[str, Any]:
        """Return the messages for a node, and for one that keeps no surfaces itself all that it shows after them."""
        jsonl, known = _need(call, "jsonl"), self._node_pages.surfaces
        tainted = call.context.authority.tainted
        known[id] = apply(known.get(id, {}), read_messages(jsonl), call.session_key, tainted=tainted)
        params = {"jsonl": jsonl, "surfaces": [each.as_dict() for each in known[id].values()]}
        if any("Image" in item["component"] for each in known[id].values() for item in each.components.values()):
            params["files"] = f"{await self._node_pages.url(call.agent_id, id, '')}/"
        return params

    async def _file(self, call: ToolCall, target: str) -> str:
        """Return the path of a file of the canvas that is there."""
        path = check_path(target)
        root = Root(self._host.agents.get(call.agent_id).workspace / FOLDER)
        try:
            await asyncio.to_thread(root.stat, path)
        except OSError as error:
            raise NotFound(f"there is no file {FOLDER}/{path} in the workspace; write it first") from error
        return path

    async def _checked(self, url: str) -> str:
        """Return a URL without its fragment, when the hub would fetch it too."""
        target = parse_url(url)
        place = place_of(target)
        named = place in self._host.config.or_default("network")["allow_private"]
        try:
            await self._host.egress.check(place, private=named)
        except (OSError, TimeoutError) as error:
            raise EgressFailed(str(target.host), "it has no address") from error
        return str(target)

    def _shown(self, call: ToolCall, text: str) -> ToolResult:
        watched = call.agent_id in self._tabs.agents
        return ToolResult(
            text if watched else f"{text} Nobody looks at it now: {self._host.dashboard_url}/tools/canvas"
        )


def approval(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why a call needs the owner's approval: words from outside may mislead the person who sees them.

    A script can name a host that a browser connects to before it learns that it may not.
    """
    if not authority.tainted or (arguments.get("action") in WITHIN and "node" not in arguments):
        return None
    if arguments.get("action") == "eval":
        return phrase("it runs JavaScript in a page, and text that others wrote is in this conversation")
    return phrase("text that others wrote is in this conversation, and may be what it shows")


def _need(call: ToolCall, name: str) -> str:
    if name not in call.arguments:
        raise InvalidRequest(f"{name}: needed for the action {call.arguments['action']}")
    return str(call.arguments[name])


def _picture(data_url: str) -> Image:
    """Return a picture that a tab or a node made.

    Raises:
        InvalidRequest: It is none, or too large.
    """
    data = data_url.removeprefix(PICTURE)
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise InvalidRequest("the picture of the canvas cannot be read") from error
    kind = image_type(raw)
    if kind is None or len(raw) > IMAGE_LIMIT_BYTES:
        raise InvalidRequest(f"the picture of the canvas is not an image of at most {IMAGE_LIMIT_BYTES} bytes")
    return Image(kind, data)
