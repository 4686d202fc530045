"""The configuration of Telegram: what is taken, and what is wrong and says so."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.schema import SchemaError
from integrations.channels.telegram.schema import CONFIG_SCHEMA

TOKEN = "123456:ABC-DEF_ghi-jkl"


def entry(**more: Any) -> dict[str, Any]:
    """A valid entry and what it becomes."""
    found: dict[str, Any] = CONFIG_SCHEMA([{"token": TOKEN, **more}])[0]
    return found


def test_one_mapping_is_a_list_of_one() -> None:
    (found,) = CONFIG_SCHEMA({"token": TOKEN})

    assert (found["account"], found["api_root"], str(found["token"])) == (
        "default",
        "https://api.telegram.org",
        "Secret(***)",
    )


@pytest.mark.parametrize("written", [123, "123", "telegram:user:123"])
def test_a_person_is_a_number_however_it_is_written(written: Any) -> None:
    assert entry(allow_from=[written])["allow_from"] == ["telegram:user:123"]


def test_everybody_and_a_chat_are_taken_as_they_are() -> None:
    assert entry(allow_from=["*", "telegram:chat:-100123"])["allow_from"] == ["*", "telegram:chat:-100123"]


@pytest.mark.parametrize(
    "wrong",
    ["@ada", "ada", "telegram:ada", "user:123", "telegram:user:", "telegram:123", "１２３", " 123", "+123", "", "123 "],
)
def test_a_person_who_is_no_number_is_an_error(wrong: str) -> None:
    with pytest.raises(SchemaError, match="expected the number of a Telegram account"):
        entry(allow_from=[wrong])


def test_in_groups_too_only_numbers_are_trusted() -> None:
    person = "telegram:user:123"

    found = entry(group_allow_from=[123], groups={"-100123": {"allow_from": [person]}})

    assert (found["group_allow_from"], found["groups"]["-100123"]["allow_from"]) == ([person], [person])
    for wrong in ({"group_allow_from": ["@ada"]}, {"groups": {"-100123": {"allow_from": ["telegram:user:ada"]}}}):
        with pytest.raises(SchemaError, match="expected the number of a Telegram account"):
            entry(**wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"token": "hello"}, "@BotFather"),
        ({"account": "a b"}, "a name of A-Z"),
        ({"api_root": "api.telegram.org"}, "http"),
        ({"webhook": {"url": "https://hub.example.org/telegram/default"}}, "required"),
        ({"webhook": {"url": "https://hub.example.org", "secret": "with blanks!"}}, "1 to 256"),
        ({"tokens": "x"}, "extra keys"),
    ],
)
def test_what_is_wrong_says_what_was_expected(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        entry(**wrong)
