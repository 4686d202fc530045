"""References to unknown models are reported before somebody uses them."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.errors import NotFound
from hub.models.provider_config import KeyOrigin, ProviderConfig
from hub.models.schema import CROSS_CHECKS, MODELS_SCHEMA
from hub.models.selection import Option, choose_auto, doubtful_references


def doubts(section: dict[str, Any]) -> dict[tuple[str | int, ...], str]:
    return {keys[1:]: message for keys, message in doubtful_references(MODELS_SCHEMA(section))}


def test_known_vendors_configured_providers_and_aliases_pass() -> None:
    section = {
        "default": "opus",
        "aliases": {"opus": "anthropic/claude-opus-4-6", "mine": "server/qwen"},
        "fallbacks": ["openai/gpt-5-mini", "mine", "auto"],
        "providers": {"server": {"base_url": "http://h/v1"}},
    }

    assert doubts(section) == {}


def test_an_integration_in_use_may_bring_a_provider_of_its_name() -> None:
    assert list(doubtful_references(MODELS_SCHEMA({"default": "acp/claude"}), ["acp"])) == []


def test_other_sections_are_not_offered_as_providers() -> None:
    ((_, message),) = doubtful_references(MODELS_SCHEMA({"default": "nobody/x"}), ["hub", "acp"])
    assert "anthropic" in message
    assert not {"hub", "acp"} & set(message.replace(",", "").replace(";", "").split())


@pytest.mark.parametrize(
    ("section", "keys", "words"),
    [
        ({"default": "antropic/claude"}, ("default",), "Did you mean anthropic"),
        ({"fallbacks": ["auto", "nobody/x"]}, ("fallbacks", 1), "neither a provider nor an alias"),
        ({"aliases": {"a": "b", "b": "a"}}, ("aliases", "a"), "form a loop"),
    ],
)
def test_others_are_told_with_their_place(section: dict[str, Any], keys: tuple[str | int, ...], words: str) -> None:
    assert words in doubts(section)[keys]


def test_the_second_check_warns_and_never_breaks_the_section() -> None:
    told: list[tuple[Any, str]] = []

    class Report:
        def error(self, keys: Any, message: str, hint: str = "") -> None:
            raise AssertionError(message)

        def warning(self, keys: Any, message: str, hint: str = "") -> None:
            told.append((tuple(keys), message))

    CROSS_CHECKS["models"]({"models": MODELS_SCHEMA({"default": "nobody/x"})}, Report())

    assert [keys for keys, _ in told] == [("models", "default")]


def test_auto_does_not_choose_what_is_chosen_by_name_only() -> None:
    registry_says = Option(ProviderConfig("acp", "acp", origin=KeyOrigin.API), "it is chosen by name only")

    with pytest.raises(NotFound, match="acp \\(it is chosen by name only\\)"):
        choose_auto([registry_says])


def test_auto_tells_why_it_passed_others_over() -> None:
    first = Option(ProviderConfig("a", "openai"), "it has no key")
    last = Option(ProviderConfig("offline", "offline", origin=KeyOrigin.BUILT_IN))

    choice = choose_auto([first, last])

    assert (choice.provider, choice.reason) == ("offline", "auto: offline; skipped: a (it has no key)")
    with pytest.raises(NotFound, match=r"a \(it has no key\)"):
        choose_auto([first])
