"""Batches are as large as a search can wait for, and no smaller than they are worth."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from integrations.memory.notes.index.filling import BATCH_FEWEST, BATCH_MOST, BATCH_S, AdaptiveBatch, BulkBatch


def taught(each_s: float, more_s: float) -> int:
    """How large batches become with an engine that takes so long for each, and for each passage in it."""
    batch = AdaptiveBatch()
    for number in range(30):
        size = max(1, batch.passages - number % 7)
        batch.learn(size, each_s + more_s * size)
    return batch.passages


def test_an_engine_that_takes_its_time_by_the_passage_gets_what_fits() -> None:
    assert taught(0.002, 0.0005) == pytest.approx((BATCH_S - 0.002) / 0.0005, rel=0.1)


def test_an_engine_that_takes_long_for_each_batch_gets_larger_ones() -> None:
    assert taught(0.1, 0.002) == pytest.approx(2 * 0.1 / 0.002, rel=0.1)


def test_nobody_waits_in_a_hurry() -> None:
    batch = BulkBatch()
    batch.learn(10, 5.0)

    assert batch.passages == BATCH_MOST


@given(st.lists(st.tuples(st.integers(0, 600), st.floats(0, 10)), max_size=40))
def test_a_batch_is_never_too_small_nor_too_large(seen: list[tuple[int, float]]) -> None:
    batch = AdaptiveBatch()
    for passages, seconds in seen:
        batch.learn(passages, seconds)
        assert BATCH_FEWEST <= batch.passages <= BATCH_MOST
