"""What rules say of pairs of notes of a home, beside what a person says: whom to ask, and what never to strike."""

from __future__ import annotations

import pytest

from hub.memory.alike import Relation, gist_of, relation_of
from tests.memory.tidy.labelled import PAIRS, RULES_SAY, UNTOLD, Labelled


def by_rules(pair: Labelled) -> Relation:
    """Return what rules say, which is the same either way."""
    one, other = gist_of(pair.older), gist_of(pair.newer)
    found = relation_of(one, other, apart=pair.apart > 0)
    assert relation_of(other, one, apart=pair.apart > 0) is found
    return found


def test_rules_say_what_a_person_says_or_less() -> None:
    wrong = [
        (pair.says, pair.newer, found)
        for pair in PAIRS
        if (found := by_rules(pair)) not in ({UNTOLD[pair.newer]} if pair.newer in UNTOLD else RULES_SAY[pair.says])
    ]

    assert wrong == []


def test_what_rules_put_before_the_owner_is_worth_asking_and_they_strike_only_what_is_the_same() -> None:
    said = [(pair.says, by_rules(pair)) for pair in PAIRS]

    asked = [says for says, found in said if found is Relation.CONTRADICTS]
    struck = [says for says, found in said if found is Relation.SAME]
    found = [found is Relation.CONTRADICTS for says, found in said if says == "contradicts"]

    assert {"same", "different"}.isdisjoint(asked)
    assert set(struck) == {"same"}
    assert sum(found) >= 0.85 * len(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna weighs 62.4 kg", "Anna weighs 62.1 kg"), ("锅炉压力是1.4巴", "锅炉压力是1.6巴")],
)
def test_two_readings_of_one_day_do_not_agree_and_of_two_days_may(one: str, other: str) -> None:
    gists = gist_of(one), gist_of(other)

    assert relation_of(*gists) is Relation.CONTRADICTS
    assert relation_of(*gists, apart=True) is Relation.SERIES
