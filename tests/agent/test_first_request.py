"""The first request of a fresh agent with all its tools: small, and its head the same from turn to turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

import integrations.memory.notes
import integrations.tools.files
import integrations.tools.home
import integrations.tools.sessions
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.memory.registry import MemoryRegistry
from tests.agent.house import AgentHouse, standing
from tests.servers.openai_server import OpenAIServer

SIZE_LIMIT_BYTES = 12 * 1024


class Furnished(AgentHouse):
    """A house with the tools that every hub has."""

    def __init__(self, folder: Path, base_url: str) -> None:
        super().__init__(folder, base_url)
        self.integrations = self
        self.memory = MemoryRegistry()
        self.states = StateMachine(self.bus, self.clock.time)
        self.services = ServiceRegistry(self.bus)
        self.time_zone = "Europe/Berlin"

    def owns(self, domain: str, release: Callable[[], Any]) -> None:
        """Take note of nothing: a test's house goes as a whole."""

    async def furnish(self) -> None:
        for each in (
            integrations.tools.files,
            integrations.tools.home,
            integrations.tools.sessions,
            integrations.memory.notes,
        ):
            await each.setup(self, {})


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

    requests = openai_server.requests()
    assert fact not in requests[0]["body"]["messages"][0]["content"]
    assert fact in requests[2]["body"]["messages"][0]["content"]
