"""Words that most passages hold: in a large index they order what rarer ones find, and are sought when alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from integrations.memory.notes.index.common_terms import LEAST_SHARE, ROWS, CommonTerms
from integrations.memory.notes.index.fts5 import LARGE
from tests.integrations.memory.engines.kinds import OwnFts5, document

COUNT = 2 * LARGE


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnFts5]:
    """All hold `garden`, every second one `day`, every thousandth `boiler`; the last hundred are another's."""
    index = OwnFts5(tmp_path_factory.mktemp("large"))
    index.apply(
        (),
        [
            document(
                id_,
                f"garden {'tea day' if id_ % 2 else 'tea'} {'boiler' if id_ % 1_000 == 0 else ''} plain words",
                area="private" if id_ < COUNT - 100 else "person-ada",
            )
            for id_ in range(COUNT)
        ],
    )
    yield index
    index.close()


def found(index: OwnFts5, query: str, area: str = "private", limit: int = 5) -> list[int]:
    return [id_ for id_, _ in index.search(query, [area], limit)]


def test_the_rare_word_finds_and_the_common_do_not_hide_it(large: OwnFts5) -> None:
    assert {id_ % 1_000 for id_ in found(large, "boiler garden day tea")} == {0}


def test_common_words_alone_are_sought(large: OwnFts5) -> None:
    assert len(found(large, "garden day")) == 5
    assert all(id_ % 2 for id_ in found(large, "garden day"))


def test_who_has_no_passage_with_the_rare_word_is_found_by_the_common_one(large: OwnFts5) -> None:
    hits = found(large, "boiler garden", "person-ada")

    assert len(hits) == 5
    assert min(hits) >= COUNT - 100


def test_only_what_is_allowed_is_found_by_either_way(large: OwnFts5) -> None:
    allowed = {3, 5, 8, 1_000}

    assert {id_ for id_, _ in large.search("boiler garden", ["private"], 10, allowed)} == allowed
    assert large.search("boiler garden", ["private"], 1, allowed)[0][0] == 1_000


def test_what_is_put_in_later_is_found(tmp_path: Path) -> None:
    index = OwnFts5(tmp_path)
    index.apply((), [document(id_, "garden tea") for id_ in range(LARGE)])
    before = found(index, "garden boiler")

    index.apply((), [document(LARGE + 1, "garden boiler")])

    assert found(index, "garden boiler")[0] == LARGE + 1
    assert LARGE + 1 not in before
    index.close()


@given(
    shares=st.dictionaries(st.sampled_from("abcdefgh"), st.floats(LEAST_SHARE, 1.0)),
    terms=st.lists(st.sampled_from("abcdefghij"), min_size=1, unique=True),
    count=st.integers(0, 1_000_000),
)
def test_words_are_split_into_rare_and_common_without_losing_one(
    shares: dict[str, float], terms: list[str], count: int
) -> None:
    sought, common = CommonTerms(shares, count).split(terms)

    assert sorted(sought + common) == sorted(terms)
    assert sought
    assert max(shares.get(term, 0) for term in sought) <= min((shares.get(term, 0) for term in common), default=1.0)
    assert len(sought) == 1 or sum(shares.get(term, 0) * count for term in sought) <= ROWS + 1


def test_a_small_index_learns_nothing_and_seeks_all() -> None:
    learnt = CommonTerms.learnt([], 10)

    assert learnt.split(["a", "b"]) == (["a", "b"], [])


def test_a_word_that_nearly_all_hold_is_worth_nothing_and_a_rarer_one_more() -> None:
    learnt = CommonTerms({"all": 0.99, "half": 0.4, "some": 0.05}, 50_000)

    assert learnt.weight("all", 3) == 0
    assert 0 < learnt.weight("half", 1) < learnt.weight("some", 1) < learnt.weight("some", 2)
