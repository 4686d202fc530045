"""How two entries stand to each other by their words: what is the same, what does not agree, in two languages."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from hub.memory.alike import NEAR, Relation, fact_key, gist_of, relation_of


def relation(one: str, other: str, likeness: float = 0.0) -> Relation:
    """Return the relation, which is the same either way."""
    found = relation_of(gist_of(one), gist_of(other), likeness)
    assert relation_of(gist_of(other), gist_of(one), likeness) is found
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna is allergic to nuts", "anna is allergic to nuts."),
        ("The boiler was serviced on 12 May", "On May 12 the boiler was serviced"),
        ("We sleep with the windows open", "We sleep with the window open"),
        ("安娜对坚果过敏", "安娜对坚果过敏。"),
        ("Dinner is at 7 o'clock", "Dinner is at seven o'clock"),
    ],
)
def test_what_says_the_same_is_the_same(one: str, other: str) -> None:
    assert relation(one, other) is Relation.SAME


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The boiler man comes on Tuesday", "The boiler man comes on Thursday"),
        ("Anna's birthday is 12 May", "Anna's birthday is 13 May"),
        ("The garden gate code is 4711", "The garden gate code is 1147"),
        ("Anna eats meat", "Anna doesn't eat meat"),
        ("The plumber is called Kessler", "The plumber is called Meyer"),
        ("Rent: 900", "Rent: 950"),
        ("水管工周二来修锅炉", "水管工周四来修锅炉"),
        ("安娜喜欢喝茶", "安娜不喜欢喝茶"),
        ("锅炉压力是1.4巴", "锅炉压力是1.6巴"),
        ("Anna is allergic to nuts", "Anna is allergic to all kinds of nuts"),
    ],
)
def test_what_is_about_one_thing_and_says_something_else_is_for_a_model_to_tell(one: str, other: str) -> None:
    assert relation(one, other) is Relation.UNSURE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna likes tea", "Anna likes coffee"),
        ("The boiler is in the cellar", "The bicycle is red"),
        ("Went running today", "Went running today"),
        ("今天去跑步", "今天去跑步"),
        ("安娜喜欢喝茶", "我们家在不来梅"),
    ],
)
def test_what_is_about_something_else_is_different(one: str, other: str) -> None:
    assert relation(one, other) is Relation.DIFFERENT


def test_likeness_by_meaning_is_worth_asking_about() -> None:
    assert relation("The bins go out on Monday", "Rubbish is collected Mondays") is Relation.DIFFERENT
    assert relation("The bins go out on Monday", "Rubbish is collected Mondays", NEAR) is Relation.UNSURE


@given(st.text(max_size=80), st.text(max_size=80), st.floats(0, 1))
@example("", "🌀", 0.0)
@example("Buy 🍎", "Buy 🍐", 0.0)
def test_any_two_texts_have_a_relation_and_it_is_the_same_either_way(one: str, other: str, likeness: float) -> None:
    assert relation(one, other, likeness) in Relation


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Anna lives in Bonn", "- anna lives in  Bonn.", True),
        ("> The code is 4711", "The code is 4711", True),
        ("It is -5 degrees", "It is 5 degrees", False),
        ("Buy 🍎", "Buy 🍐", False),
        ("The rate is 5%", "The rate is 5", False),
        ("安娜住在波恩。", "安娜住在波恩", True),
    ],
)
def test_what_says_the_same_word_for_word_has_one_key(one: str, other: str, same: bool) -> None:
    assert (fact_key(one) == fact_key(other)) is same
