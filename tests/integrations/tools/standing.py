"""The hub as far as tools need it: made, and not started; a test opens what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from hub.core.clock import ManualClock
from hub.core.context import Authority, Context
from hub.entities.component import EntitiesComponent
from hub.gateway.connection.server import GatewayState
from hub.host import IntegrationHost
from hub.integration.registrations import Registrations
from hub.messaging.commands.registry import CommandCall, CommandReply
from hub.messaging.contract import Address, InboundMessage
from hub.tools.contract import ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from tests.hub_fixture import HubFixture

NOON = 1_778_587_200.0  # 2026-05-12 12:00 UTC
MAIN = "agent:main:main"
ANNAS = "agent:main:telegram:direct:2"
GROUP = "agent:main:telegram:group:-100"
PEOPLE = [
    {"id": "me", "name": "Me", "owner": True, "identities": ["telegram:user:1"]},
    {"id": "anna", "name": "Anna", "identities": ["telegram:user:2"]},
]


class Standing(HubFixture):
    """What integrations are given; `call` invokes a tool as an agent would. What needs the owner's word is refused."""

    clock: ManualClock

    def __init__(self, folder: Path) -> None:
        hub = {"time_zone": "Europe/Berlin"}
        super().__init__(
            folder,
            "http://127.0.0.1:9",
            sections={"hub": hub, "people": PEOPLE, "storage": {}},
            without=("approvals",),
            clock=ManualClock(NOON),
        )
        address: Any = SimpleNamespace(url="http://127.0.0.1:18789", state=GatewayState.RUNNING)
        self.gateway = address
        self.registrations = Registrations("test")
        self.registry = self.component(EntitiesComponent).registry
        self.owner = self.people.owner_authority()
        self.anna = self.people.authority_for("telegram:user:2")
        self.stranger = self.people.authority_for("telegram:user:9")

    @property
    def workspace(self) -> Path:
        self.workspaces.ensure("main")
        return self.agents.get("main").workspace

    async def set_up(self, integration: ModuleType, config: Mapping[str, Any] | None = None, yaml: str = "") -> None:
        with self.home.configuration.open("a", encoding="utf-8") as file:
            file.write(yaml)
        self.config.load()
        hub: HubFixture = self
        await integration.setup(IntegrationHost("test", self.registrations, hub), config or {})

    async def end(self) -> None:
        """End what was set up; a process that still begins would hold up the end of the loop."""
        await self.registrations.undo_all()
        await self.tasks.cancel_all()

    async def call(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        authority: Authority | None = None,
        session: str = MAIN,
        run: str = "r",
        area: str | None = None,
    ) -> ToolResult:
        context = Context(authority or self.owner)
        request = ToolCallRequest("c", name, arguments or {}, context, "main", session, run, area=area)
        return await invoke_tool(self.tools, request)

    async def command(self, text: str, *, authority: Authority | None = None, session: str = MAIN) -> CommandReply:
        name, _, arguments = text.removeprefix("/").partition(" ")
        who = authority or self.owner
        message = InboundMessage(Address("test", "7"), "1", "test:user:7", text)
        return await self.commands.run(CommandCall(name, arguments, message, "main", session, Context(who), who.owner))
