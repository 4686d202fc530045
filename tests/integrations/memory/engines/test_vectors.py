"""What every engine for vectors does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hub.memory.engine_contract import IndexDamaged, VectorIndex
from tests.integrations.memory.engines.kinds import DIMENSIONS, LIMIT, random_vectors, vector, vectors_in
from tests.lengths import examples

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

NORTH, EAST, BETWEEN = vector(1, 0), vector(0, 1), vector(1, 1)


def found(index: VectorIndex, asked: Vector, *areas: str, limit: int = LIMIT) -> list[int]:
    return [id_ for id_, _ in index.search(asked, areas or ["private"], limit)]


def test_an_empty_index_finds_nothing(vectors: VectorIndex) -> None:
    assert vectors.ids() == set()
    assert vectors.search(NORTH, ["private"], 5) == []
    assert vectors.cosines(NORTH, [1]) == {}
    assert vectors.vectors([1]) == {}


def test_the_nearest_comes_first_with_its_cosine(vectors: VectorIndex) -> None:
    vectors.apply((), [(1, "private", EAST), (2, "private", BETWEEN), (3, "private", NORTH)])

    hits = vectors.search(NORTH, ["private"], 5)

    assert [id_ for id_, _ in hits] == [3, 2, 1]
    assert [score for _, score in hits] == pytest.approx([1, 0.5**0.5, 0], abs=1e-5)


def test_cosines_and_vectors_are_those_that_were_put_in(vectors: VectorIndex) -> None:
    rows = random_vectors(300)
    vectors.apply((), [(id_, ("private", "shared")[id_ % 2], row) for id_, row in enumerate(rows)])

    cosines = vectors.cosines(NORTH, [*range(300), 777])
    kept = vectors.vectors([5, 6, 777])

    assert cosines == pytest.approx({id_: float(row @ NORTH) for id_, row in enumerate(rows)}, abs=1e-5)
    assert set(kept) == {5, 6}
    np.testing.assert_allclose(kept[5], rows[5], atol=1e-6)
    assert kept[5].dtype == np.float32


def test_a_vector_that_was_lent_is_a_copy(vectors: VectorIndex) -> None:
    vectors.apply((), [(1, "private", NORTH)])

    vectors.vectors([1])[1][:] = 0

    assert vectors.cosines(NORTH, [1])[1] == pytest.approx(1, abs=1e-5)


def test_a_vector_that_is_put_in_again_replaces_the_first(vectors: VectorIndex) -> None:
    vectors.apply((), [(1, "private", NORTH), (2, "private", EAST)])

    vectors.apply((), [(1, "shared", EAST)])

    assert found(vectors, NORTH) == [2]
    assert dict(vectors.search(EAST, ["shared"], 5)) == pytest.approx({1: 1}, abs=1e-5)
    assert vectors.ids() == {1, 2}


def test_a_change_can_be_repeated(vectors: VectorIndex) -> None:
    for _ in range(3):
        vectors.apply([2, 9], [(1, "private", NORTH), (3, "private", EAST)])

    assert vectors.ids() == {1, 3}
    vectors.apply([1, 3], [])
    assert vectors.ids() == set()
    assert found(vectors, NORTH) == []


def test_of_two_with_one_id_in_one_change_the_last_counts(vectors: VectorIndex) -> None:
    vectors.apply([1], [(1, "shared", NORTH), (1, "private", EAST)])

    assert dict(vectors.search(EAST, ["private", "shared"], 5)) == pytest.approx({1: 1}, abs=1e-5)


def test_the_limit_holds(vectors: VectorIndex) -> None:
    vectors.apply((), [(id_, "private", row) for id_, row in enumerate(random_vectors(40))])

    assert [len(found(vectors, NORTH, limit=limit)) for limit in (0, 1, 7, 40, 1_000)] == [0, 1, 7, 40, 40]


@pytest.mark.parametrize("allowed_count", [0, 1, 40, 300, 900])
def test_only_what_is_allowed_is_found_and_the_best_of_it(vectors: VectorIndex, allowed_count: int) -> None:
    rows = random_vectors(1_000)
    vectors.apply((), [(id_, "private", row) for id_, row in enumerate(rows)])
    allowed = set(range(0, 2 * allowed_count, 2)) if allowed_count < 500 else set(range(100, 1_000))

    hits = [id_ for id_, _ in vectors.search(NORTH, ["private"], 10, allowed)]

    best = sorted(allowed, key=lambda id_: -float(rows[id_] @ NORTH))[:10]
    assert len(set(hits) & set(best)) >= 0.9 * len(best)
    assert set(hits) <= allowed
    assert len(hits) == min(10, len(allowed))


def test_no_area_and_an_area_without_vectors_give_nothing(vectors: VectorIndex) -> None:
    vectors.apply((), [(1, "private", NORTH)])

    assert vectors.search(NORTH, [], 5) == []
    assert found(vectors, NORTH, "shared") == []
    assert found(vectors, NORTH, "shared", "private", "private") == [1]


@pytest.mark.parametrize("area", ["person-zoë", "group-telegram--100123", "person-" + "x" * 300, "a b/c", "花园"])
def test_an_area_may_be_called_anything(vectors: VectorIndex, area: str) -> None:
    vectors.apply((), [(1, area, NORTH), (2, "private", NORTH)])

    assert found(vectors, NORTH, area) == [1]


@pytest.mark.parametrize("wrong", [np.ones(DIMENSIONS + 1), np.full(DIMENSIONS, np.nan), np.full(DIMENSIONS, np.inf)])
def test_a_vector_that_is_none_is_refused_and_nothing_changes(vectors: VectorIndex, wrong: Vector) -> None:
    vectors.apply((), [(1, "private", NORTH)])

    with pytest.raises(ValueError, match="vector"):
        vectors.apply([1], [(2, "private", NORTH), (3, "private", wrong)])
    with pytest.raises(ValueError, match="vector"):
        vectors.search(wrong, ["private"], 5)

    assert vectors.ids() == {1}


def test_everything_is_there_again_after_it_was_closed(vector_kind: tuple[str, str | None], tmp_path: Path) -> None:
    kind, server = vector_kind
    index = vectors_in(kind, tmp_path, server)
    index.apply((), [(1, "private", NORTH), (2, "shared", EAST), (3, "shared", NORTH)])
    index.apply([3], [])
    index.close()
    index.close()

    again = vectors_in(kind, tmp_path, server)

    assert again.ids() == {1, 2}
    assert found(again, NORTH, "private", "shared") == [1, 2]
    again.close()


def test_vectors_of_another_length_are_another_index(vector_kind: tuple[str, str | None], tmp_path: Path) -> None:
    kind, server = vector_kind
    before = vectors_in(kind, tmp_path, server)
    before.apply((), [(1, "private", vector(1))])
    before.close()

    with pytest.raises(IndexDamaged):
        vectors_in(kind, tmp_path, server, dimensions=DIMENSIONS * 2)


def test_many_vectors_are_found_as_by_looking_at_each(vector_kind: tuple[str, str | None], tmp_path: Path) -> None:
    kind, server = vector_kind
    index = vectors_in(kind, tmp_path, server, dimensions=32)
    rows = random_vectors(3_000, 32)
    index.apply((), [(id_, "private", row) for id_, row in enumerate(rows)])
    index.apply(range(0, 3_000, 3), [])
    asked = random_vectors(20, 32, seed=2)

    shares = []
    for each in asked:
        best = sorted((id_ for id_ in range(3_000) if id_ % 3), key=lambda id_: -float(rows[id_] @ each))[:10]
        shares.append(len(set(found(index, each, limit=10)) & set(best)) / 10)

    assert sum(shares) / len(shares) >= (1.0 if kind == "exact" else 0.9)
    index.close()


AREAS = ("private", "person-ada", "person-ben", "shared")


@given(
    changes=st.lists(
        st.tuples(
            st.lists(st.integers(1, 12), max_size=3),
            st.lists(st.tuples(st.integers(1, 12), st.sampled_from(AREAS), st.integers(1, 30)), max_size=4),
        ),
        max_size=6,
    ),
    seen=st.lists(st.sampled_from(AREAS), max_size=3),
    allowed=st.none() | st.sets(st.integers(1, 12)),
)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_search_sees_exactly_the_vectors_of_its_areas(
    vector_kind: tuple[str, str | None],
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[list[int], list[tuple[int, str, int]]]],
    seen: list[str],
    allowed: set[int] | None,
) -> None:
    index = vectors_in(vector_kind[0], tmp_path_factory.mktemp("vectors"), vector_kind[1])
    there: dict[int, tuple[str, Vector]] = {}

    for removed, added in changes:
        rows = [(id_, area, random_vectors(1, seed=seed)[0]) for id_, area, seed in added]
        index.apply(removed, rows)
        there = {id_: each for id_, each in there.items() if id_ not in removed}
        there |= {id_: (area, row) for id_, area, row in rows}
    hits = dict(index.search(NORTH, seen, LIMIT, allowed))

    assert index.ids() == set(there)
    assert hits == pytest.approx(
        {
            id_: float(row @ NORTH)
            for id_, (area, row) in there.items()
            if area in seen and (allowed is None or id_ in allowed)
        },
        abs=1e-5,
    )
    index.close()
