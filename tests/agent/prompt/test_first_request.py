"""The first request of a fresh agent with all its tools: small, and its head the same from turn to turn."""

from __future__ import annotations

from pathlib import Path

import orjson

import integrations.memory.notes
import integrations.tools.files
import integrations.tools.home
import integrations.tools.sessions
from hub.agent.recall.remembering import AgentMemory, MemoryDependencies
from hub.agent.tools.find_tools import tools_to_find
from hub.config.store import ConfigStore
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.memory.registry import MemoryRegistry
from hub.messaging.commands.registry import Commands
from hub.sections import all_sections
from tests.agent.house import AgentHouse, standing
from tests.hosting import host_on
from tests.servers.openai_server import OpenAIServer

SIZE_LIMIT_BYTES = 12 * 1024
PARTS = (integrations.tools.files, integrations.tools.home, integrations.tools.sessions, integrations.memory.notes)


class Furnished(AgentHouse):
    """A house with the tools that every hub has."""

    def __init__(self, folder: Path, base_url: str) -> None:
        super().__init__(folder, base_url)
        self.memory = MemoryRegistry()
        self.commands = Commands(lambda: "en")
        self.states = StateMachine(self.bus, self.clock.time)
        self.services = ServiceRegistry(self.bus)
        self.repairs = Repairs(self.bus)
        (self.home.path / "configuration.yaml").write_text("memory: {embeddings: {provider: none}}\n")
        sections = all_sections(IntegrationSchemas(find(self.home)))
        self.config = ConfigStore(self.home, sections, self.bus, self.repairs)
        self.config.load()
        section = self.config.current.or_default
        self.remembering = AgentMemory(
            MemoryDependencies(
                self.home, self.db, self.runner, self.lanes, self.services, self.memory, lambda: self.people, section
            )
        )
        self._host, self._registrations = host_on(self, "tools")

    async def furnish(self) -> None:
        for each in PARTS:
            await each.setup(self._host, {})
        for tool in tools_to_find(self.tools, self.agents):
            self.tools.register(tool)
        await self.remembering.open()

    async def close(self) -> None:
        await self.remembering.close()
        await self._registrations.undo_all()
        await super().close()


async def test_hello_costs_less_than_twelve_kilobytes(tmp_path: Path, openai_server: OpenAIServer) -> None:
    house = Furnished(tmp_path / "home", openai_server.base_url)
    async with standing(house):
        await house.furnish()
        await house.runner.run(house.request("hello", channel="webchat"))
        await house.runner.run(house.request("and again", channel="webchat"))

    first, second = openai_server.requests()
    assert len(first["body"]["tools"]) >= 10
    assert first["size_bytes"] < SIZE_LIMIT_BYTES
    assert orjson.dumps(first["body"]["tools"]) == orjson.dumps(second["body"]["tools"])
    assert second["body"]["messages"][: len(first["body"]["messages"])] == first["body"]["messages"]


async def test_what_is_remembered_is_recalled_in_the_owners_next_session(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    fact = "The boiler was serviced on 12 May"
    house = Furnished(tmp_path / "home", openai_server.base_url)
    openai_server.queue([{"tool_call": {"name": "remember", "arguments": {"text": fact}, "id": "a"}}], "Noted.", "ok")
    async with standing(house):
        await house.furnish()
        await house.runner.run(house.request("remember that the boiler was serviced on 12 May"))
        await house.sessions.reset("agent:main:main")
        await house.runner.run(house.request("when was it?"))

    requests = [each["body"]["messages"] for each in openai_server.requests()]
    [later] = [messages for messages in requests if "when was it?" in str(messages[-1]["content"])]
    assert fact not in requests[0][0]["content"]
    assert fact in later[0]["content"]
