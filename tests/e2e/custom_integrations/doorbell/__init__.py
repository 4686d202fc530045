"""A doorbell as somebody's own integration: a channel, a tool, services, a state, a route and a slash command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web
from msgspec.structs import asdict

from hub.core.schema import Optional, Schema, integer
from hub.core.services import AgentRule, ResponseMode, ServiceCall
from hub.core.surfaces import WRITE, HttpCall, Route
from hub.host import IntegrationHost
from hub.integration.errors import NotReady
from hub.messaging.commands.registry import ChatCommand, CommandCall
from hub.messaging.schema import access_policy
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

from .channel import Door

DOMAIN = "doorbell"


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    folder = Path(str(host.home)) / "doorbell"
    folder.mkdir(exist_ok=True)
    if config["setup"] == "fails":
        raise RuntimeError("the wire is cut")
    if config["setup"] == "waits" and not (folder / "ready").exists():
        raise NotReady("the doorbell does not answer", retry_after_s=0.05)
    door = Door(folder)

    async def ring(call: ToolCall) -> ToolResult:
        host.states.set("sensor.doorbell", "ringing", {"times": call.arguments["times"]}, call.context)
        return ToolResult(f"It rang {call.arguments['times']} times at the {config['place']}.")

    async def open_door(call: ServiceCall) -> Mapping[str, Any]:
        return {"opened": config["place"]}

    async def said(call: HttpCall) -> web.StreamResponse:
        receipt = await door.said(await call.request.json() if not call.body else call.body)
        return web.json_response(asdict(receipt))

    async def where(call: CommandCall) -> str:
        return f"I hang at the {config['place']}."

    tool = Tool(
        "ring_doorbell",
        "Ring the doorbell.",
        from_schema(Schema({Optional("times", default=1): integer})),
        ring,
        "home",
        Annotations(destructive=False, open_world=False, owner_only=False),
    )
    host.tools.add(tool)
    host.services.register("open", open_door, None, ResponseMode.OPTIONAL, AgentRule.ALLOW)
    host.services.register("melt", open_door, None, ResponseMode.OPTIONAL, AgentRule.NEVER)
    host.services.register("unlock", open_door, None, ResponseMode.OPTIONAL, AgentRule.ASK)
    host.commands.add(ChatCommand("where", where, help="tell where the doorbell hangs"))
    host.routes.add(Route("POST", "/doorbell", said, DOMAIN, WRITE, body=Schema(dict)))
    host.states.set("sensor.doorbell", "quiet", {"place": config["place"]})
    await host.channels.add(door, access_policy(config))
