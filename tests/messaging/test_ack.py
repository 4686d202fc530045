from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.messaging.outbox.ack import ACK_LIMIT, is_silent, strip_ack

WORDS = st.text(alphabet=st.characters(categories=["Ll"]), min_size=1, max_size=200)


@pytest.mark.parametrize(
    "text",
    [
        "HEARTBEAT_OK",
        " **HEARTBEAT_OK** ",
        "<b>HEARTBEAT_OK</b>",
        "`HEARTBEAT_OK`.",
        "All is well. HEARTBEAT_OK",
        "HEARTBEAT_OK, nothing to do",
        "",
        " \n",
    ],
)
def test_an_answer_that_says_nothing_is_not_told(text: str) -> None:
    assert strip_ack(text) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The boiler is leaking!", "The boiler is leaking!"),
        ("I answered HEARTBEAT_OK yesterday", "I answered HEARTBEAT_OK yesterday"),
        ("HEARTBEAT_OKAY now", "HEARTBEAT_OKAY now"),
        ("x" * 301 + ".\n\n**HEARTBEAT_OK**", "x" * 301 + "."),
        ("HEARTBEAT_OK\n" + "y" * 400, "y" * 400),
    ],
)
def test_what_is_worth_telling_is_told_without_the_token(text: str, told: str) -> None:
    assert strip_ack(text) == told


@given(WORDS, st.sampled_from(["{0} HEARTBEAT_OK", "HEARTBEAT_OK {0}", "**HEARTBEAT_OK**\n{0}", "{0}\n`HEARTBEAT_OK`"]))
def test_the_limit_decides_whatever_stands_around_the_token(words: str, form: str) -> None:
    text = form.format(words)

    assert strip_ack(text, ACK_LIMIT) is None
    assert strip_ack(text, len(words) - 1) == words


@given(st.text())
def test_no_text_breaks_it_and_nothing_is_added(text: str) -> None:
    told = strip_ack(text, 0)

    assert told is None or told in text


def test_silence_is_a_token_and_nothing_else() -> None:
    assert all(is_silent(text) for text in ("NO_REPLY", "_HEARTBEAT_OK_", " "))
    assert not is_silent("NO_REPLY, but the house is on fire")
