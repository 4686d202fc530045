"""Directives: what is taken out of a message, and that nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.messaging.commands.directives import SETTINGS, Directives, parse_directives


def _all(name: str, value: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("text", "left", "options"),
    [
        ("/think high what is 6 times 7?", "what is 6 times 7?", {"thinking": "high"}),
        ("what is 6 times 7? /t:low", "what is 6 times 7?", {"thinking": "low"}),
        ("a /verbose on b", "a b", {"verbose": "on"}),
        ("/think xhigh /reasoning stream go", "go", {"thinking": "high", "reasoning": "stream"}),
        ("/think low /think HIGH go", "go", {"thinking": "high"}),
        ("/model openai/gpt-5-mini hello", "hello", {"model": "openai/gpt-5-mini"}),
        ("/queue steer debounce:2s cap:25 hello", "hello", {"queue": "steer debounce:2s cap:25"}),
        ("first\n/usage full\nsecond", "first\nsecond", {"footer": "full"}),
        ("/verbose@homarus_bot on hello", "hello", {"verbose": "on"}),
    ],
)
def test_a_directive_applies_to_its_message_and_is_taken_out(text: str, left: str, options: dict[str, str]) -> None:
    found = parse_directives(text, _all)

    assert (found.text, found.options) == (left, options)


@pytest.mark.parametrize(
    "text",
    [
        "/think about it",
        "/think",
        "/thinkhigh x",
        "see /think/high and https://example.org/think high",
        "/home/think high",
        "use `/think high` for that",
        "```\n/think high\n/status\n```\nwhat does this do?",
        "~~~\n/think high",
        "> /think high\nwhat did they mean?",
        "1/think high",
        "/send off hello",
        "/think default hello",
        "/status? what is that",
        "no slash at all",
    ],
)
def test_what_only_looks_like_a_directive_is_text(text: str) -> None:
    assert parse_directives(text, _all) == Directives(text)


def test_a_directive_that_the_sender_may_not_use_is_text() -> None:
    found = parse_directives("/model big /think high hello /status", lambda name, value: name == "think")

    assert found == Directives("/model big hello /status", (("think", "high"),), {"thinking": "high"})


def test_a_shortcut_is_named_and_taken_out() -> None:
    found = parse_directives("hey /status how are you /whoami", _all)

    assert (found.text, found.shortcuts) == ("hey how are you", ("status", "whoami"))


_DIRECTIVES = st.sampled_from(
    [
        f"/{name} {value}"
        for setting in SETTINGS.values()
        for name in (setting.name, *setting.aliases)
        for value in (setting.values or {"steer": ""})
        if setting.inline and (setting.values.get(value) is not None or not setting.values)
    ]
    + ["/status", "/help"]
)
_WORDS = st.one_of(
    st.text("abc/:.`>é家\u00a0", min_size=1, max_size=8).filter(lambda word: not word.isspace() and "`" not in word),
    st.sampled_from(["`/think high`", "/etc/hosts", "https://a.b/status", "/think", "1/2", "/new"]),
)


@given(st.lists(st.one_of(_WORDS.map(lambda word: (word, False)), _DIRECTIVES.map(lambda each: (each, True)))))
def test_taking_directives_out_leaves_every_other_word_as_it_is(pieces: list[tuple[str, bool]]) -> None:
    words = [word for word, is_directive in pieces if not is_directive]
    text = " ".join(["w", *(word for word, _ in pieces)])  # at the beginning a `>` would be a quotation

    found = parse_directives(text, _all)

    assert found.text == " ".join(["w", *words])
    assert len(found.commands) == len(pieces) - len(words)


@given(st.lists(_DIRECTIVES, min_size=1))
def test_what_was_found_written_again_is_found_again(directives: list[str]) -> None:
    first = parse_directives(" ".join(directives), _all)
    written = " ".join(f"/{name} {value}".strip() for name, value in first.commands)

    assert first.text == ""
    assert parse_directives(written, _all) == first


@given(st.text())
def test_text_without_a_directive_is_returned_as_it_is(text: str) -> None:
    found = parse_directives(text, _all)

    assert found.commands or found.text == text
