"""The diagnostics bundle: secrets and private words are put everywhere, and none is in it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import aiohttp
from hypothesis import given, strategies as st

from hub.gateway.diagnostics import PRIVATE, Masker, mask, vocabulary
from tests.hub_fixture import HubFixture, scripted_model
from tests.servers.openai_server import OpenAIServer

WORDS = frozenset({"hub", "name", "mode", "ask", "people", "id"})
SECRET = "correct-horse-battery"
API_KEY = "sk-test-0123456789abcdef0123456789abcdef"
PRIVATE_WORDS = ("Villa Kunterbunt", "annika", "Annika S", "telegram:user:123456789", "water the violets", "48.137154")

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(sorted(WORDS)),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(sorted(WORDS)), inner, max_size=4)
    ),
    max_leaves=20,
)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*map(str, value), *(each for inner in value.values() for each in texts(inner))]
    if isinstance(value, list):
        return [each for inner in value for each in texts(inner)]
    return [value] if isinstance(value, str) else []


@given(plain)
def test_no_text_of_a_configuration_is_shown_but_those_of_its_schema(configuration: Any) -> None:
    private: set[str] = set()

    shown = mask(configuration, WORDS, private)

    assert all(each in WORDS or each == PRIVATE or each.startswith("[name ") for each in texts(shown))
    assert private == {each for each in texts(configuration) if each not in WORDS}


@given(st.sets(st.text(min_size=2), min_size=1, max_size=5), st.text(max_size=20))
def test_a_private_word_is_taken_out_of_any_text(private: set[str], around: str) -> None:
    masker = Masker(private)
    for word in private:
        shown = masker.mask_words(f"{around} {word} {around}")
        assert f" {word} " not in shown or not word.strip() or len(word.strip()) < 2 or word.strip() in PRIVATE


def test_addresses_are_taken_out_and_times_stay() -> None:
    line = (
        "2026-11-29 21:04:11,482 INFO hub: from anna@example.org at 192.168.1.20, telegram:user:4711, +49 170 1234567"
    )

    shown = Masker(()).mask_text(line)

    assert shown.startswith("2026-11-29 21:04:11,482 INFO hub: from [private] at [private], ")
    assert "4711" not in shown
    assert "1234567" not in shown


def test_the_words_of_a_schema_are_its_keys_and_choices() -> None:
    schema = {"properties": {"mode": {"enum": ["ask", 3], "description": "words"}, "x": {"anyOf": [{"const": "on"}]}}}

    assert vocabulary(schema) == {"mode", "ask", "x", "on"}


async def test_a_whole_home_full_of_secrets_and_names_shows_none(tmp_path: Path, openai_server: OpenAIServer) -> None:
    models = scripted_model(openai_server.base_url)
    models["providers"]["test"]["api_key"] = API_KEY
    sections = {
        "models": models,
        "hub": {"name": PRIVATE_WORDS[0], "latitude": 48.137154, "longitude": 11.576124},
        "people": [{"id": "annika", "name": "Annika S", "owner": True, "identities": ["telegram:user:123456789"]}],
        "automation": [
            {
                "id": "violets",
                "alias": "water the violets",
                "triggers": [{"trigger": "event", "event_type": "bell"}],
                "actions": [{"event": "rang", "event_data": {"said": "water the violets"}}],
            }
        ],
    }
    async with HubFixture(tmp_path / "home", openai_server.base_url, sections=sections) as hub:
        hub.redactor.register(SECRET)
        logger = logging.getLogger("test.diagnostics")
        logger.addHandler(hub.log)
        logger.warning("%s asked to water the violets with %s and %s", "Annika S", SECRET, API_KEY)
        hub.repairs.raise_("test", "x", f"no {SECRET}", "annika of Villa Kunterbunt, telegram:user:123456789")
        logger.removeHandler(hub.log)
        asked = {"method": "diagnostics.bundle", "params": {}}
        async with (
            aiohttp.ClientSession(headers=hub.bearer) as http,
            http.post(f"{hub.url}/api/rpc", json=asked) as answer,
        ):
            bundle = (await answer.json())["payload"]

    text = json.dumps(bundle, ensure_ascii=False)
    for hidden in (SECRET, API_KEY, *PRIVATE_WORDS, hub.token, "violets"):
        assert hidden.casefold() not in text.casefold(), hidden
    assert bundle["configuration"]["models"]["providers"] == {
        "[name 1]": {"api": PRIVATE, "base_url": PRIVATE, "api_key": PRIVATE}
    }
    assert bundle["configuration"]["automation"][0]["triggers"][0]["trigger"] == "event"
    assert bundle["versions"]["homarus"] == hub.version
    assert any(line.endswith("asked to [private] with [redacted] and [redacted]") for line in bundle["log"])
    assert any(line.startswith("homarus_info") for line in bundle["metrics"])
    assert bundle["status"]["state"] == "running"
