"""The bad days of a provider that is reached through litellm, in the form of OpenAI and in that of Anthropic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.models.vendors import LITELLM_API
from integrations.models.litellm.library import LitellmLibrary
from integrations.models.litellm.model import LitellmProvider
from tests.agent.bad_days import DAYS, Kind, ScriptedServer, house_for, live_through
from tests.agent.house import AgentHouse, standing
from tests.lengths import some
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.openai_server import OpenAIServer

OPENAI = Kind("openai", LITELLM_API, "gpt-4o-mini")
ANTHROPIC = Kind("anthropic", LITELLM_API, "claude-opus-4-6")


@pytest.fixture
async def library() -> AsyncIterator[LitellmLibrary]:
    library = LitellmLibrary(on_loaded=lambda: None)
    library.acquire()
    yield library
    await library.release()


async def lived_through(
    folder: Path, library: LitellmLibrary, kind: Kind, server: ScriptedServer, name: str
) -> AgentHouse:
    async with standing(house_for(folder, kind, server.base_url)) as house:
        house.models.register_api(LITELLM_API, lambda name, config: LitellmProvider(name, config, library, Clock()))
        await live_through(house, kind, server, DAYS[name])
    return house


@pytest.mark.parametrize("name", some(tuple(DAYS)))
async def test_what_a_vendor_of_openais_form_answers_has_its_outcome(
    tmp_path: Path, library: LitellmLibrary, openai_server: OpenAIServer, name: str
) -> None:
    await lived_through(tmp_path, library, OPENAI, openai_server, name)

    sent = openai_server.requests(None)[-1]["body"]["messages"]
    asked = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    assert asked == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


@pytest.mark.parametrize("name", DAYS)
async def test_what_anthropic_answers_has_its_outcome(tmp_path: Path, library: LitellmLibrary, name: str) -> None:
    async with AnthropicServer() as server:
        await lived_through(tmp_path, library, ANTHROPIC, server, name)

    blocks: list[dict[str, Any]] = [
        block
        for message in server.requests(None)[-1]["body"]["messages"]
        for block in message["content"]
        if isinstance(block, dict)
    ]
    asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert asked == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
