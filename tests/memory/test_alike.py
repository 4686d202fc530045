"""How two entries stand to each other by their words: what is the same, what does not agree, in two languages."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from hub.memory.alike import ALIKE, Relation, fact_key, gist_of, relation_of


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
        ("Anna eats meat", "Anna does not eat meat"),
        ("Anna eats meat", "Anna doesn't eat meat"),
        ("The plumber is called Kessler", "The plumber is called Meyer"),
        ("水管工周二来修锅炉", "水管工周四来修锅炉"),
        ("安娜喜欢喝茶", "安娜不喜欢喝茶"),
        ("锅炉压力是1.4巴", "锅炉压力是1.6巴"),
        ("我们家有三台空调", "我们家有两台空调"),
    ],
)
def test_what_is_about_one_thing_and_does_not_agree_contradicts(one: str, other: str) -> None:
    assert relation(one, other) is Relation.CONTRADICTS
    assert relation(one, other, 0.97) is Relation.CONTRADICTS


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna is allergic to nuts", "Ben is allergic to nuts"),
        ("Anna likes tea", "Anna likes coffee"),
        ("The boiler is in the cellar", "The bicycle is red"),
        ("Went running today", "Went running today"),
        ("今天去跑步", "今天去跑步"),
        ("安娜喜欢喝茶", "我们家在不来梅"),
    ],
)
def test_what_is_about_something_else_is_different(one: str, other: str) -> None:
    assert relation(one, other) is Relation.DIFFERENT


def test_one_that_says_all_of_the_other_and_little_more_is_very_likely_the_same() -> None:
    assert relation("Anna is allergic to nuts", "Anna is allergic to all kinds of nuts") is Relation.ALIKE


def test_likeness_by_meaning_counts_unless_something_sets_the_two_apart() -> None:
    assert relation("The bins go out on Monday", "Rubbish is collected Mondays", ALIKE) is Relation.ALIKE
    assert relation("The bins go out on Monday", "Rubbish is collected Mondays", 0.85) is Relation.UNSURE
    assert relation("The bins go out on Monday", "Rubbish is collected on Friday", ALIKE) is Relation.CONTRADICTS
    assert relation("The rent is due", "The rent of 900 is due", 0.95) is Relation.UNSURE


@pytest.mark.parametrize("place", ["kitchen", "bedroom"])
def test_where_one_word_stands_for_another_rules_do_not_tell(place: str) -> None:
    told = "The spare key for the garden shed hangs behind the {} door"

    expected = Relation.SAME if place == "kitchen" else Relation.UNSURE
    assert relation(told.format("kitchen"), told.format(place)) is expected


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
