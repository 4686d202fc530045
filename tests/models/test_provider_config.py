"""Providers as the configuration and the environment tell them."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.schema import SchemaError
from hub.models.provider_config import KeyOrigin, ollama_url, read_providers
from hub.models.schema import MODELS_SCHEMA, SECTIONS


def read(environment: dict[str, str] | None = None, **providers: Any) -> dict[str, Any]:
    section = MODELS_SCHEMA({"providers": providers})
    return dict(read_providers(section, environment or {}))


def test_the_order_is_configuration_environment_ollama_offline() -> None:
    found = read({"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}, zed={"base_url": "http://h/v1"}, groq={})

    assert list(found) == ["zed", "groq", "openai", "anthropic", "ollama", "offline"]
    assert [found[name].origin for name in found] == [
        KeyOrigin.CONFIGURATION,
        KeyOrigin.CONFIGURATION,
        KeyOrigin.ENVIRONMENT,
        KeyOrigin.ENVIRONMENT,
        KeyOrigin.LOCAL,
        KeyOrigin.BUILT_IN,
    ]


@pytest.mark.parametrize(
    ("name", "given", "api"),
    [
        ("openai", {}, "openai"),
        ("openai", {"api": "litellm"}, "litellm"),
        ("anthropic", {}, "litellm"),
        ("work", {"api": "anthropic"}, "anthropic"),
        ("mine", {"base_url": "http://h/v1"}, "openai"),
        ("bedrock", {}, "litellm"),
        ("openrouter", {}, "openai"),
    ],
)
def test_the_api_is_what_is_written_or_what_the_name_tells(name: str, given: dict[str, Any], api: str) -> None:
    assert read(**{name: given})[name].api == api


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:9999", "http://127.0.0.1:9999/v1"),
        (":9999", "http://127.0.0.1:9999/v1"),
        ("localhost:1", "http://localhost:1/v1"),
        ("http://127.0.0.1:2/", "http://127.0.0.1:2/v1"),
        ("[::1]:3", "http://[::1]:3/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("evil.example:80", "http://127.0.0.1:11434/v1"),
        ("user@127.0.0.1:80", "http://127.0.0.1:11434/v1"),
    ],
)
def test_only_a_loopback_address_is_looked_at_for_an_ollama(host: str, expected: str) -> None:
    assert ollama_url({"OLLAMA_HOST": host}) == expected


def test_another_address_of_the_environment_has_no_default_model() -> None:
    config = read({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://proxy.example/v1/"})["openai"]

    assert (config.base_url, config.vendor) == ("http://proxy.example/v1", None)


@pytest.mark.parametrize(
    "section",
    [
        {"providers": {"a b": {}}},
        {"providers": {"a": {"base_url": "ftp://h"}}},
        {"providers": {"a": {"base_url": "http://user:pass@h/v1"}}},
        {"providers": {"a": {"unknown": 1}}},
        {"providers": {"a": {"models": [{}]}}},
        {"providers": {"a": {"models": [{"id": "m", "context_window": 10}]}}},
        {"providers": {"a": {"models": [{"id": "m", "cost": {"input": -1, "output": 1}}]}}},
        {"providers": {"a": {"models": [{"id": "has space"}]}}},
        {"providers": {"a": {"headers": {"bad name": "x"}}}},
        {"providers": {"a": {"headers": {"X-A": "two\nlines"}}}},
        {"providers": {"a": {"timeout_s": 0}}},
        {"default": 7},
        {"fallbacks": "openai/x"},
        {"retry": {"attempts": 0}},
    ],
)
def test_what_cannot_be_meant_is_refused(section: Any) -> None:
    with pytest.raises(SchemaError):
        MODELS_SCHEMA(section)


def test_a_valid_section_stays_valid_when_it_is_checked_again() -> None:
    given = {"providers": {"a": {"base_url": "http://h/v1", "headers": {"X-A": "y"}, "models": ["m"]}, "b": None}}

    once = SECTIONS[0].validate(given)

    assert SECTIONS[0].validate(once) == once


@pytest.mark.parametrize(
    ("name", "given", "expected_s"),
    [
        ("anthropic", {"api_key": "sk-ant-api03-abcdefgh"}, 3_600),
        ("anthropic", {"api_key": "sk-ant-oat01-abcdefgh"}, 300),
        ("anthropic", {}, 300),
        ("anthropic", {"api_key": "sk-ant-api03-abcdefgh", "base_url": "https://proxy.example"}, 300),
        ("anthropic", {"api_key": "sk-ant-api03-abcdefgh", "cache_ttl": "5m"}, 300),
        ("work", {"api": "anthropic", "api_key": "sk-ant-api03-abcdefgh"}, 3_600),
        ("bedrock", {"api_key": "abcdefgh12"}, 300),
        ("bedrock", {"api_key": "abcdefgh12", "cache_ttl": "1h"}, 3_600),
    ],
)
def test_claude_keeps_a_conversation_for_an_hour_with_a_key_of_anthropic_s_own(
    name: str, given: dict[str, Any], expected_s: float
) -> None:
    assert read(**{name: given})[name].cache_ttl_s == expected_s


def test_another_time_in_the_cache_is_refused() -> None:
    with pytest.raises(SchemaError, match="1h"):
        MODELS_SCHEMA({"providers": {"anthropic": {"cache_ttl": "2h"}}})
