"""Which model a reference means, why, and what a change of the configuration does to those in use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.secret import Secret
from hub.models.answering import answering_model
from hub.models.choosing import choose_model
from hub.models.contract import (
    AuthError,
    ModelInfo,
    ModelRequest,
    Overloaded,
    StopEvent,
    StopReason,
    TextDelta,
    Usage,
    UsageEvent,
    user_message,
)
from hub.models.ollama import PROBE_AGAIN_S
from hub.models.registry import EVENT_MODELS_CHANGED, ModelRegistry
from hub.models.resolved import Resolved
from tests.models.conftest import World
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S, LOOK_S, until

MINE = {"api": "openai", "base_url": "http://127.0.0.1:9/v1", "models": [{"id": "qwen3", "context_window": 32_768}]}


def request(model: str = "m") -> ModelRequest:
    return ModelRequest(model, "", (user_message("hi"),))


@pytest.mark.parametrize(
    ("providers", "environment", "expected", "reason"),
    [
        ({}, {}, "offline/homarus", "offline"),
        ({"anthropic": {"api_key": "k" * 20}}, {"OPENAI_API_KEY": "x"}, "anthropic/claude-sonnet-5-5", "configured"),
        ({"anthropic": {}}, {"OPENAI_API_KEY": "x"}, "openai/gpt-6.1-sol", "OPENAI_API_KEY is set"),
        ({"anthropic": {}}, {"ANTHROPIC_API_KEY": "x"}, "anthropic/claude-sonnet-5-5", "configured"),
        ({}, {"GEMINI_API_KEY": "x", "OPENROUTER_API_KEY": "y"}, "gemini/gemini-3.8-flash", "GEMINI_API_KEY is set"),
        ({}, {"GOOGLE_API_KEY": "x"}, "gemini/gemini-3.8-flash", "GOOGLE_API_KEY is set"),
        ({}, {"OPENAI_API_KEY": "  "}, "offline/homarus", "offline"),
        ({"mine": MINE}, {"OPENAI_API_KEY": "x"}, "mine/qwen3", "mine is configured"),
        ({"bedrock": {"models": ["claude"]}}, {}, "bedrock/claude", "bedrock is configured"),
    ],
)
async def test_auto_prefers_configured_keys_then_the_environment_then_offline(
    world: World, providers: Any, environment: dict[str, str], expected: str, reason: str
) -> None:
    registry = world.registry({"providers": providers}, environment)

    resolved = await registry.resolve()

    assert resolved.ref == expected
    assert reason in resolved.reason
    shown = registry.status()["resolved"]
    assert (shown["ref"], shown["reason"]) == (resolved.ref, resolved.reason)


async def resolved_as(world: World, registry: ModelRegistry, ref: str) -> Resolved:
    """Let time pass until a model is meant: a probe waits 0.3 s only, which a busy machine may take to answer."""
    async with asyncio.timeout(LIMIT_S):
        while (resolved := await registry.resolve()).ref != ref:
            await world.clock.advance(PROBE_AGAIN_S)
            await asyncio.sleep(LOOK_S)
    return resolved


async def test_auto_takes_a_local_ollama_before_offline(world: World, openai_server: OpenAIServer) -> None:
    openai_server.models = [{"id": "nomic-embed-text"}, {"id": "qwen3:8b"}]
    registry = world.registry({}, {"OLLAMA_HOST": f"127.0.0.1:{openai_server.port}"})

    await registry.start()
    resolved = await resolved_as(world, registry, "ollama/qwen3:8b")

    assert "Ollama answers" in resolved.reason


async def test_an_ollama_that_comes_later_is_found_and_one_that_goes_is_missed(
    world: World, openai_server: OpenAIServer
) -> None:
    openai_server.models = []
    registry = world.registry({}, {"OLLAMA_HOST": f"http://localhost:{openai_server.port}/"})
    await registry.start()
    assert (await registry.resolve()).ref == "offline/homarus"

    openai_server.models = [{"id": "llama"}]
    changed = asyncio.create_task(world.bus.wait_for(EVENT_MODELS_CHANGED, {"reason": "ollama"}, timeout_s=30))
    await resolved_as(world, registry, "ollama/llama")
    await changed


async def test_an_environment_key_whose_integration_is_missing_is_passed_over_and_said_so(world: World) -> None:
    registry = world.registry({}, {"ANTHROPIC_API_KEY": "x"}, apis=("openai", "offline"))

    resolved = await registry.resolve()

    assert resolved.ref == "offline/homarus"
    assert "anthropic (the integration litellm is not set up)" in resolved.reason


async def test_a_configured_provider_whose_integration_is_missing_names_the_command(world: World) -> None:
    registry = world.registry({"providers": {"anthropic": {"api_key": "k"}}}, apis=("openai", "offline"))

    with pytest.raises(Unavailable, match="`homarus status` says why"):
        await registry.resolve()


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("mine/qwen3", "mine/qwen3"),
        ("mine/meta-llama/Llama-3:8b", "mine/meta-llama/Llama-3:8b"),
        ("mine", "mine/qwen3"),
        ("qwen3", "mine/qwen3"),
        ("fast", "mine/qwen3"),
        ("faster", "mine/qwen3"),
        ("default", "mine/qwen3"),
        ("auto", "mine/qwen3"),
        (None, "mine/qwen3"),
        ("offline/homarus", "offline/homarus"),
    ],
)
async def test_a_reference_is_an_alias_a_provider_or_both_parts(world: World, ref: str | None, expected: str) -> None:
    config = {"default": "fast", "providers": {"mine": MINE}, "aliases": {"fast": "mine/qwen3", "faster": "fast"}}
    registry = world.registry(config)

    assert (await registry.resolve(ref)).ref == expected


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("mien/qwen3", "Did you mean mine"),
        ("nobody/knows", "neither a provider nor an alias"),
        ("round", "loop"),
        ("openai/gpt-5", "openai has no key. Set OPENAI_API_KEY, or run: homarus models auth add openai"),
    ],
)
async def test_a_reference_that_means_nothing_says_so(world: World, ref: str, expected: str) -> None:
    registry = world.registry({"providers": {"mine": MINE}, "aliases": {"round": "about", "about": "round"}})

    with pytest.raises(HubError, match=expected) as caught:
        await registry.resolve(ref)

    assert isinstance(caught.value, (NotFound, InvalidRequest))


async def test_a_vendor_without_its_key_says_where_to_put_one(world: World) -> None:
    registry = world.registry({"providers": {"openai": {}}})

    with pytest.raises(AuthError, match="OPENAI_API_KEY"):
        await registry.resolve("openai/gpt-5")


async def test_a_key_of_the_environment_never_goes_to_another_address(world: World) -> None:
    providers = {"openai": {"base_url": "http://127.0.0.1:9/v1", "models": ["m"]}}
    registry = world.registry({"providers": providers}, {"OPENAI_API_KEY": "sk-real"})

    await registry.resolve("openai/m")

    config = world.made["openai"].config
    assert config is not None
    assert config.api_key is None


async def test_facts_come_from_the_configuration_then_the_server_then_the_catalog(world: World) -> None:
    model = {"id": "gpt-5-mini", "context_window": 9_999, "cost": {"input": 1, "output": 2}}
    registry = world.registry({"providers": {"openai": {"api_key": "k", "models": [model, "gpt-5-nano"]}}})

    configured = (await registry.resolve("openai/gpt-5-mini")).info
    known = (await registry.resolve("openai/gpt-5-nano")).info
    unknown = (await registry.resolve("openai/gpt-99")).info

    assert (configured.context_window, configured.input_usd, configured.images) == (9_999, 1, True)
    assert (known.context_window, known.output_usd) == (272_000, 0.4)
    assert (unknown.context_window, unknown.input_usd) == (200_000, None)


async def test_a_server_without_configured_models_is_asked_for_its_first(world: World) -> None:
    registry = world.registry({"providers": {"mine": {"base_url": "http://127.0.0.1:9/v1"}}})
    registry.register_api("openai", lambda name, config: listing(world, name, config))

    resolved = await registry.resolve("mine")

    assert (resolved.ref, resolved.info.context_window) == ("mine/first", 5_000)
    assert [info.ref for info in await registry.list() if info.provider == "mine"] == ["mine/first", "mine/second"]


def listing(world: World, name: str, config: Any) -> Any:
    player = world.make(name, config)
    player.listed = [ModelInfo("first", name, context_window=5_000), ModelInfo("second", name)]
    return player


async def test_a_chosen_model_is_looked_for_in_a_list_only_where_it_is_not_known(world: World) -> None:
    registry = world.registry({"providers": {"mine": MINE, "other": MINE, "openai": {"api_key": "k"}}})
    for name in ("mine/qwen3", "openai/gpt-5-mini"):
        assert (await choose_model(registry, name)).ref == name
    assert [player.asked_for_list for player in world.made.values()] == [0, 0]
    world.made["mine"].listed = [ModelInfo("first", "mine")]

    with pytest.raises(NotFound, match=r"Did you mean mine/first\?") as refused:
        await choose_model(registry, "mine/frist")

    assert refused.value.details == {"listed": True}
    assert (await choose_model(registry, "mine/first")).ref == "mine/first"
    assert "other" not in world.made
    assert [player.asked_for_list for player in world.made.values()] == [1, 0]


async def test_a_server_that_lists_nothing_asks_for_a_name(world: World) -> None:
    registry = world.registry({"providers": {"mine": {"base_url": "http://127.0.0.1:9/v1"}}})

    with pytest.raises(Unavailable, match=r"models\.providers\.mine\.models"):
        await registry.resolve("mine")


async def test_params_and_timeout_of_provider_and_model_come_along(world: World) -> None:
    provider = {**MINE, "timeout_s": 7, "params": {"a": 1, "b": 1}, "models": [{"id": "m", "params": {"b": 2}}]}
    registry = world.registry({"providers": {"mine": provider}})

    resolved = await registry.resolve("mine/m")

    assert (resolved.timeout_s, resolved.params) == (7.0, {"a": 1, "b": 2})


async def test_candidates_are_the_chosen_one_then_the_fallbacks_that_can_be_used(world: World) -> None:
    config = {
        "default": "mine/qwen3",
        "providers": {"mine": MINE, "other": MINE, "openai": {}},
        "fallbacks": ["openai/gpt-5", "other/qwen3", "mine/qwen3"],
    }
    registry = world.registry(config)

    assert [each.ref for each in await registry.candidates()] == ["mine/qwen3", "other/qwen3"]


async def test_the_fallback_is_shown_for_a_default_that_does_not_exist(world: World) -> None:
    registry = world.registry({"default": "gone/x", "providers": {"mine": MINE}, "fallbacks": ["mine/qwen3"]})

    shown = registry.describe()

    assert (shown["ref"], (await registry.candidates())[0].ref) == ("mine/qwen3", "mine/qwen3")
    assert "no model gone/x" in shown["reason"]
    assert registry.describe("gone/x")["ref"] is None


async def test_a_refused_key_raises_a_repair_sets_aside_and_is_cleared_by_success(world: World) -> None:
    registry = world.registry({"default": "mine", "providers": {"mine": MINE, "other": MINE}, "fallbacks": ["other"]})
    first = (await registry.candidates())[0]
    world.made["mine"].plays.append([AuthError("mine refuses its key (401)")])

    with pytest.raises(AuthError):
        assert not [event async for event in first.provider.stream(request())]

    (repair,) = world.repairs.all()
    assert (repair.source, repair.id) == ("models", "mine-auth")
    assert "models.providers.mine.api_key" in repair.text
    assert [each.ref for each in await registry.candidates()] == ["other/qwen3", "mine/qwen3"]

    assert [event async for event in first.provider.stream(request())]

    assert world.repairs.all() == []
    assert [each.ref for each in await registry.candidates()] == ["mine/qwen3", "other/qwen3"]


async def test_a_provider_that_fails_three_times_is_set_aside_for_a_while_and_raises_a_repair(world: World) -> None:
    registry = world.registry({"default": "mine", "providers": {"mine": MINE, "other": MINE}, "fallbacks": ["other"]})
    first = (await registry.candidates())[0]
    world.made["mine"].plays.extend([[Overloaded("down")]] * 3)

    for _ in range(3):
        with pytest.raises(Overloaded):
            assert not [event async for event in first.provider.stream(request())]

    assert [each.ref for each in await registry.candidates()] == ["other/qwen3", "mine/qwen3"]
    assert [repair.title for repair in world.repairs.all()] == ["mine does not answer"]
    assert (await answering_model(registry, None))["ref"] == "other/qwen3"
    assert [repair.text for repair in world.repairs.all()] == ["down. Other models answer meanwhile."]
    await world.clock.advance(31)
    assert [each.ref for each in await registry.candidates()] == ["mine/qwen3", "other/qwen3"]
    assert (await answering_model(registry, None))["ref"] == "mine/qwen3"


async def test_a_call_is_priced_by_what_is_known_of_the_model(world: World) -> None:
    registry = world.registry({"providers": {"openai": {"api_key": "k"}}})
    resolved = await registry.resolve("openai/gpt-5-mini")
    world.made["openai"].plays.append([UsageEvent(Usage(1_000_000, 1_000_000, 1_000_000)), StopEvent(StopReason.END)])

    events = [event async for event in resolved.provider.stream(request("gpt-5-mini"))]

    assert isinstance(events[0], UsageEvent)
    assert events[0].usage.cost_usd == pytest.approx(0.25 + 2.0 + 0.025)


async def test_changing_a_provider_replaces_it_and_lets_its_calls_end(world: World) -> None:
    registry = world.registry({"providers": {"mine": MINE, "other": MINE}})
    before = await registry.resolve("mine")
    untouched = await registry.resolve("other")
    old = world.made["mine"]
    old.plays.append([TextDelta("slow"), StopEvent(StopReason.END)])
    events = before.provider.stream(request())
    await anext(events)

    registry.configure({"providers": {"mine": {**MINE, "timeout_s": 5}, "other": MINE}})
    after = await registry.resolve("mine")

    assert not old.closed
    assert after.provider is not before.provider
    assert (await registry.resolve("other")).provider is untouched.provider
    assert [event async for event in events] == [StopEvent(StopReason.END)]
    await until(lambda: old.closed)


async def test_removing_an_api_closes_its_providers(world: World) -> None:
    registry = world.registry({"providers": {"mine": MINE}})
    await registry.resolve("mine")

    registry.unregister_api("openai")

    await until(lambda: world.made["mine"].closed)
    with pytest.raises(Unavailable, match="openai_compatible"):
        await registry.resolve("mine")


async def test_keys_are_told_to_whoever_redacts_and_shown_to_nobody(world: World) -> None:
    registry = world.registry(
        {"providers": {"mine": {**MINE, "api_key": "topsecret", "headers": {"X-A": "alsosecret"}}}},
        {"OPENAI_API_KEY": "third"},
    )

    assert {secret.reveal() for secret in registry.secrets()} == {"topsecret", "alsosecret", "third"}
    shown = str(registry.status())
    assert not any(word in shown for word in ("topsecret", "alsosecret", "third"))
    assert all(isinstance(secret, Secret) for secret in registry.secrets())


async def test_an_integrations_mistake_becomes_a_model_error(world: World) -> None:
    registry = world.registry({"providers": {"mine": MINE}})
    resolved = await registry.resolve("mine")
    world.made["mine"].plays.append([KeyError("oops")])

    with pytest.raises(HubError, match="mine failed in an unexpected way"):
        assert not [event async for event in resolved.provider.stream(request())]


async def test_starting_loads_the_default_models_provider_and_no_other(world: World) -> None:
    registry = world.registry({"default": "mine", "providers": {"mine": MINE, "other": MINE}})

    await registry.start()
    await registry.resolve()
    async with asyncio.timeout(30):
        await world.made["mine"].warmed.wait()

    assert "other" not in world.made


@pytest.mark.parametrize(
    ("given", "ttl_s", "written_usd"),
    [
        ({}, 3_600, 4),
        ({"cache_ttl": "5m"}, 300, 2.5),
        ({"models": [{"id": "claude-sonnet-5-5", "cost": {"input": 2, "output": 10, "cache_write": 3}}]}, 3_600, 3),
    ],
)
async def test_what_is_written_to_the_cache_for_an_hour_costs_twice_the_input(
    world: World, given: dict[str, Any], ttl_s: float, written_usd: float
) -> None:
    registry = world.registry({"providers": {"anthropic": {"api_key": "k" * 20, **given}}})

    info = (await registry.resolve("anthropic/claude-sonnet-5-5")).info

    assert (info.cache_ttl_s, info.cache_write_usd) == (ttl_s, written_usd)
    assert info.cost_usd(Usage(cache_write_tokens=1_000_000)) == written_usd
