"""The integrations offer their APIs when they are set up, and what they offered works end to end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import integrations.models.litellm as litellm_integration
import integrations.models.openai_compatible as openai_integration
from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.integration.catalog import find, model_apis
from hub.integration.manifest import read_manifest
from hub.models.contract import AuthError, ModelRequest, TextDelta, UsageEvent, user_message
from hub.models.failover import stream_with_failover
from hub.models.registry import ModelRegistry
from hub.models.resolved import Resolved
from tests.hosting import host_on
from tests.servers.openai_server import OpenAIServer

ROOT = Path(openai_integration.__file__).parents[1]


class Home:
    """As much of a hub as a model integration sees: clock, registry and host."""

    def __init__(self, bus: EventBus, config: dict[str, Any]) -> None:
        self.clock = Clock()
        self.repairs = Repairs(bus)
        self.models = ModelRegistry(
            config, bus, self.clock, self.repairs, environment={}, speakers=model_apis(find(None))
        )
        self.host, self.registrations = host_on(self, "models")


@pytest.fixture
async def home(openai_server: OpenAIServer) -> AsyncIterator[Any]:
    tasks = TaskOwner("test")
    server = {"base_url": openai_server.base_url, "api_key": "right-key"}
    models = [{"id": "m", "cost": {"input": 1, "output": 1}}]
    config = {
        "default": "direct/m",
        "fallbacks": ["vendor/gpt-4o-mini"],
        "providers": {"direct": {**server, "models": models}, "vendor": {**server, "api": "openai_like"}},
        "retry": {"attempts": 1},
    }
    home = Home(EventBus(tasks), config)
    yield home
    await home.models.close()
    await tasks.cancel_all()


def asking(resolved: Resolved) -> ModelRequest:
    return ModelRequest(resolved.info.id, "", (user_message("hi"),), timeout_s=60)


async def test_a_call_goes_through_registry_failover_and_client(home: Any, openai_server: OpenAIServer) -> None:
    await openai_integration.setup(home.host, {})
    openai_server.queue([{"text": "hello"}, {"usage": {"prompt_tokens": 500_000, "completion_tokens": 500_000}}])

    candidates = await home.models.candidates()
    events = [event async for event in stream_with_failover(candidates, asking, policy=home.models.retry_policy)]

    assert TextDelta("hello") in events
    assert [event.usage.cost_usd for event in events if isinstance(event, UsageEvent)] == [1.0]


async def test_without_its_integration_a_provider_says_what_is_missing(home: Any) -> None:
    with pytest.raises(Unavailable, match="openai_compatible"):
        await home.models.candidates("direct/m")


async def test_unloading_takes_the_api_away(home: Any) -> None:
    await openai_integration.setup(home.host, {})
    await home.models.resolve("direct/m")

    await home.registrations.undo_all()

    with pytest.raises(Unavailable):
        await home.models.resolve("direct/m")


async def test_a_refused_key_falls_over_and_is_a_repair_until_it_works(home: Any, openai_server: OpenAIServer) -> None:
    await openai_integration.setup(home.host, {})
    openai_server.key = "another-key"
    candidates = await home.models.candidates("direct/m")

    with pytest.raises(AuthError) as caught:
        assert not [event async for event in stream_with_failover(candidates[:1], asking)]

    assert "right-key" not in str(caught.value.as_dict())
    assert [repair.id for repair in home.repairs.all()] == ["direct-auth"]
    openai_server.key = "right-key"
    assert [event async for event in stream_with_failover(candidates[:1], asking)]
    assert home.repairs.all() == []


async def test_setting_litellm_up_loads_nothing(home: Any) -> None:
    await litellm_integration.setup(home.host, {})

    provider = (await home.models.resolve("vendor/gpt-4o-mini")).provider

    assert provider.inner._library.module is None


@pytest.mark.parametrize(("domain", "default"), [("openai_compatible", True), ("litellm", False)])
def test_the_manifest_is_valid(domain: str, default: bool) -> None:
    manifest = read_manifest(ROOT / domain)

    assert (manifest.domain, manifest.kind, manifest.default) == (domain, "model", default)
