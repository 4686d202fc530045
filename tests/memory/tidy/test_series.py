"""Readings and occasions are left in their days; of a series one question is asked."""

from __future__ import annotations

import pytest

from hub.memory.alike import Relation, fact_key
from hub.memory.tidy.pairs import pair_of
from hub.memory.tidy.plan import KnownEntries, TidyPlan, questions
from tests.memory.tidy.areas import PRIVATE, TODAY, curated, entry, noted, standing, tidied


@pytest.mark.parametrize("text", ["Took the bins out", "My aunt called", "Paid 30 euros at the market", "去了菜市场"])
def test_what_people_do_on_many_days_stays_in_them(text: str) -> None:
    assert tidied([noted("2026-05-09", text), noted("2026-05-11", text)])[0] == TidyPlan()


def test_a_reading_that_comes_back_is_not_kept_for_good() -> None:
    files = [noted(f"2026-05-0{day}", f"Max on the scales: {kilos} kg") for day, kilos in ((1, 71), (3, 72), (5, 71))]

    assert tidied(files)[0] == TidyPlan()


def test_of_many_values_the_newest_is_asked_about_once_against_what_is_kept() -> None:
    text = "The garden gate code is {}"
    files = [
        curated(entry(text.format(4711), "2026-05-01")),
        *(noted(f"2026-05-0{day}", text.format(4711 + day)) for day in (3, 5, 7)),
    ]

    assert tidied(files)[0] == TidyPlan()
    assert [each.pair for each in questions(PRIVATE, files, KnownEntries(TODAY))] == [
        pair_of(fact_key(text.format(4711)), fact_key(text.format(4718)))
    ]


@pytest.mark.parametrize(
    ("one", "other"), [("I owe Ben 20 euros", "Ben owes me 20 euros"), ("It is -5 degrees", "It is 5 degrees")]
)
def test_what_only_looks_the_same_is_not_struck(one: str, other: str) -> None:
    made, now = tidied([curated(entry(one, "2026-05-01"), entry(other, "2026-05-03"))])

    assert made.merged == []
    assert standing(now["MEMORY.md"])[:2] == [one, other]


def test_what_is_said_otherwise_is_struck_only_when_a_model_says_that_it_is_the_same() -> None:
    one, other = "The boiler was serviced on 12 May", "On 12 May the boiler was serviced"
    files = [curated(entry(one, "2026-05-01"), entry(other, "2026-05-03"))]
    pair = pair_of(fact_key(one), fact_key(other))

    by_rule, _ = tidied(files)
    made, _ = tidied(files, KnownEntries(TODAY, judged={pair: Relation.SAME}))

    assert by_rule == TidyPlan()
    assert [each.pair for each in questions(PRIVATE, files, KnownEntries(TODAY))] == [pair]
    assert [each.struck.passage.text for each in made.merged] == [one]
