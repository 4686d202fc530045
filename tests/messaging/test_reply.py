from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.messaging.outbox.replies import (
    ParsedReply,
    delivered_so_far,
    digest,
    failed_tool,
    parse_reply,
    rest_of,
    was_sent,
    with_prefix,
)
from hub.models.contract import Message, Role, TextBlock

PIECES = (
    "NO_REPLY",
    "[[",
    "]]",
    "silent",
    "reply_to:",
    "media:",
    "<b>",
    "`",
    "```",
    "\n",
    " a ",
)


@pytest.mark.parametrize(
    "answer", ["NO_REPLY", " NO_REPLY\n", "**NO_REPLY**", "NO_REPLY\n\nNothing new.", "HEARTBEAT_OK"]
)
def test_a_silent_answer_is_not_delivered(answer: str) -> None:
    assert parse_reply(answer).text is None


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("NO_REPLYING is a word", "NO_REPLYING is a word"),
        ("What does NO_REPLY mean?", "What does NO_REPLY mean?"),
        ("All done.\n\nNO_REPLY", "All done."),
        ("Write `[[voice]]` or\n```\n[[silent]]\n```", "Write `[[voice]]` or\n```\n[[silent]]\n```"),
        ("a [[unknown]] b", "a [[unknown]] b"),
        ("a [[media]] b", "a [[media]] b"),
        ("one\n[[silent]]\ntwo", "one\ntwo"),
        ("one [[silent]]\ntwo", "one \ntwo"),
    ],
)
def test_only_what_is_for_people_is_left(answer: str, text: str) -> None:
    assert parse_reply(answer).text == text


def test_directives_are_taken_out_of_the_text() -> None:
    answer = "[[reply_to_current]] Here.\n[[ Media: charts/a.png ]]\n[[media:b.ogg]][[voice]][[silent]][[reply_to: 42]]"

    assert parse_reply(answer) == ParsedReply(
        "Here.", reply_to="42", reply_to_current=True, silent=True, media=("charts/a.png", "b.ogg"), voice=True
    )


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_answer_can_be_read_and_reading_it_twice_changes_nothing_that_is_code(answer: str) -> None:
    text = parse_reply(answer).text

    assert text is None or len(text) <= len(answer)


@pytest.mark.parametrize(
    ("text", "sent", "said"),
    [
        ("Hello  there", ["hello\nthere"], True),
        ("It is done", ["Dear all: it is done. Bye"], True),
        ("Hi", ["This is it"], False),
        ("It is done and more", ["It is done"], False),
        ("", ["x"], False),
    ],
)
def test_what_was_sent_already_is_known_by_its_words(text: str, sent: list[str], said: bool) -> None:
    assert was_sent(text, sent) is said


def test_the_last_tool_decides_whether_one_failed() -> None:
    failed = Message(Role.TOOL, (TextBlock("no"),), tool_name="shell", is_error=True)
    worked = Message(Role.TOOL, (TextBlock("yes"),), tool_name="read")

    assert failed_tool([worked, failed]) == "shell"
    assert failed_tool([failed, worked]) is None
    assert failed_tool([]) is None


def test_a_prefix_is_filled_in_and_put_once() -> None:
    facts = {"agent": "main", "model": "gpt", "name": "{model}", "emoji": ""}

    assert with_prefix("Hi", "[{agent} {model}]", facts) == "[main gpt] Hi"
    assert with_prefix("[main] Hi", "[{agent}]", facts) == "[main] Hi"
    assert with_prefix("Hi", "{emoji} {name} {else}:", facts) == "{model} {else}: Hi"
    assert with_prefix("Hi", None, facts) == "Hi"


@given(answer=st.text(alphabet="ab\n `", max_size=200), cuts=st.lists(st.integers(0, 200), max_size=3))
def test_what_was_streamed_is_not_sent_again_and_nothing_is_lost(answer: str, cuts: list[int]) -> None:
    known = [(cut, digest(answer[:cut])) for cut in cuts if cut <= len(answer)]
    longest = max((cut for cut, _ in known), default=0)

    rest = rest_of(answer, [*known, (5, "of another answer")])

    left = answer[longest:].lstrip("\n")
    assert rest.endswith(left) or not left.strip(" \n`")


def test_a_fence_that_was_open_at_the_cut_is_opened_again() -> None:
    answer = "Look:\n```py\na = 1\nb = 2\n```\nDone."
    cut = answer.index("b = 2")

    assert rest_of(answer, [(cut, digest(answer[:cut]))]) == "```py\nb = 2\n```\nDone."


@given(answer=st.text(alphabet=st.sampled_from("ab.\n `[]<>"), max_size=60), cut=st.integers(0, 60))
def test_what_is_shown_of_an_answer_that_is_written_is_its_beginning(answer: str, cut: int) -> None:
    whole = f"Well. {answer} [[silent]] and [[reply_to:{cut}]] the end"

    shown = delivered_so_far(whole[: cut + len(whole) // 2]).text or ""

    assert (parse_reply(whole).text or "").startswith(shown)


@pytest.mark.parametrize("answer", ["", "N", "NO_REP", "**NO_", "NO_REPLY", "HEART", "[[reply_to:1]]NO", "<b>NO_R"])
def test_nothing_is_shown_of_an_answer_that_may_be_silent(answer: str) -> None:
    assert not delivered_so_far(answer).text


@pytest.mark.parametrize(
    ("answer", "shown"),
    [("Not", "Not"), ("Yes [[si", "Yes"), ("Yes [", "Yes"), ("if a < b", "if a < b")],
)
def test_what_may_become_a_directive_is_not_shown_yet(answer: str, shown: str) -> None:
    assert delivered_so_far(answer).text == shown
