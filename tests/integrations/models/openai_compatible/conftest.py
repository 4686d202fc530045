"""A provider pointed at the scripted server, and short ways to ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.secret import Secret
from hub.models.contract import ModelEvent, ModelRequest, user_message
from hub.models.provider_config import ProviderConfig
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.servers.openai_server import OpenAIServer

KEY = "sk-very-secret-key-1234567890"

Ask = Callable[..., Any]


@pytest.fixture
async def provider(openai_server: OpenAIServer) -> AsyncIterator[OpenAIProvider]:
    config = ProviderConfig(
        "mine", "openai", openai_server.base_url, Secret(KEY), headers={"X-Home": Secret("header-secret")}
    )
    provider = OpenAIProvider("mine", config, ManualClock())
    yield provider
    await provider.close()


@pytest.fixture
def ask(provider: OpenAIProvider) -> Ask:
    async def collected(text: str = "hello", **more: Any) -> list[ModelEvent]:
        more.setdefault("timeout_s", 60.0)
        more.setdefault("messages", (user_message(text),))
        request = ModelRequest(model=more.pop("model", "m"), system=more.pop("system", "be brief"), **more)
        return [event async for event in provider.stream(request)]

    return collected
