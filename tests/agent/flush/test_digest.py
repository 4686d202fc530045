"""Digests of conversations: a model's words when they can be read, else the last that was said; never its orders."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.agent.flush.digest import (
    LAST_LINES,
    POINT_LIMIT,
    POINTS_LIMIT,
    SLUG_LIMIT,
    TITLE_LIMIT,
    plain_digest,
    read_reply,
    slug_of,
)
from hub.agent.flush.said import SaidLine

LINES = (SaidLine("Me", "hello"), SaidLine(None, "hi"), SaidLine("Me", "The boiler was serviced today by Kessler"))


def reply(**fields: Any) -> str:
    return json.dumps({"slug": "Boiler service", "title": "The boiler", "points": ["- Serviced today"], **fields})


@pytest.mark.parametrize("text", [reply(), f"```json\n{reply()}\n```", f"```\n{reply()}```", f"  {reply()}\n"])
def test_a_reply_in_the_form_that_was_asked_for_is_taken(text: str) -> None:
    digest = read_reply(text, LINES, "test/model")

    assert (digest.slug, digest.title, digest.points) == ("boiler-service", "The boiler", ("Serviced today",))
    assert digest.model == "test/model"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "[]",
        "{}",
        "null",
        '{"points": "a"}',
        reply(points=[1]),
        reply(points=None),
        reply() + "!",
        "[" * 9_000,
    ],
)
def test_any_other_reply_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"the reply is not|a point is not"):
        read_reply(text, LINES, "test/model")


@pytest.mark.parametrize("slug", ["", "../../etc", "锅炉", None, 7, "x" * 500, "a/b\\c:d"])
def test_a_slug_is_always_a_plain_part_of_a_file_name(slug: Any) -> None:
    digest = read_reply(reply(slug=slug), LINES, "test/model")

    assert digest.slug
    assert digest.slug == slug_of(digest.slug)


def test_points_are_bounded_on_one_line_and_each_there_once() -> None:
    points = [*(f"point {number}" for number in range(50)), "point 1"]

    digest = read_reply(reply(points=["a\n# b\r\x00c", "y" * 5_000, " ", *points]), LINES, "test/model")

    assert digest.points[0] == "a # b c"
    assert len(digest.points[1]) == POINT_LIMIT
    assert len(digest.points) == POINTS_LIMIT


def test_without_a_model_the_last_that_was_said_is_kept_under_the_first_words_that_name_something() -> None:
    digest = plain_digest([*LINES, *(SaidLine(None, f"answer {number} " + "z" * 900) for number in range(40))])

    assert digest.slug == "the-boiler-was-serviced"
    assert digest.title == "The boiler was serviced today by Kessler"
    assert len(digest.points) == LAST_LINES
    assert digest.points[-1].startswith("Assistant: answer 39 z")
    assert digest.model is None


def test_a_chinese_conversation_has_a_slug_too() -> None:
    assert plain_digest([SaidLine("Me", "锅炉今天修好了")]).slug == "conversation"


@given(st.text(), st.text(), st.lists(st.text()))
def test_whatever_is_said_or_replied_stays_within_bounds(said: str, slug: str, points: list[str]) -> None:
    digest = read_reply(reply(slug=slug, title=said, points=points), [SaidLine("Me", said)], "m")

    assert len(digest.slug) <= SLUG_LIMIT
    assert len(digest.title) <= TITLE_LIMIT
    assert "\n" not in "".join((*digest.points, digest.title, digest.slug))
    assert all(line.startswith("- ") for line in digest.text.splitlines())
