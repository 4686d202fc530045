"""From what a provider sends to vectors that can be compared."""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from integrations.memory.notes.index.embeddings.provider import ProviderFailed
from integrations.memory.notes.index.embeddings.vectors import normalise

NUMBERS = st.floats(-1e30, 1e30, allow_nan=False)


@given(st.lists(NUMBERS, min_size=2, max_size=40).filter(lambda row: sum(x * x for x in row) > 1e-20))
def test_a_vector_is_of_length_one_and_keeps_its_direction(row: list[float]) -> None:
    (vector,) = normalise([row])

    assert vector is not None
    assert vector.dtype == np.float32
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5
    assert np.allclose(vector, np.array(row) / np.linalg.norm(np.array(row)), atol=1e-6)


@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=2, max_size=40))
def test_whatever_numbers_come_nothing_but_a_finite_unit_vector_goes_out(row: list[float]) -> None:
    for sent in (row, base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()):
        (vector,) = normalise([sent])

        assert vector is None or (np.isfinite(vector).all() and abs(float(np.linalg.norm(vector)) - 1) < 1e-5)


def test_lists_base64_and_wrapped_lists_give_the_same() -> None:
    row = [3.0, 4.0]

    vectors = normalise([row, base64.b64encode(struct.pack("<2f", *row)).decode(), [row], np.array(row)])

    assert [None if vector is None else vector.tolist() for vector in vectors] == [
        [0.6000000238418579, 0.800000011920929]
    ] * 4


@pytest.mark.parametrize(
    "row",
    [
        None,
        [0.0, 0.0],
        [float("nan"), 1.0],
        [float("inf"), 1.0],
        [10**400, 1],
        ["a", "b"],
        [None, 1.0],
        {"a": 1},
        "not base64!",
        "AAA=",
        True,
        7,
        [[1.0], [2.0, 3.0]],
    ],
)
def test_what_is_no_vector_is_none_and_the_others_stay(row: Any) -> None:
    first, second = normalise([row, [1.0, 0.0]])

    assert first is None
    assert second is not None


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 2.0], [1.0, 2.0, 3.0]],
        [[1.0]],
        [[]],
        [[1.0] * 9_000],
        [[[1.0, 2.0], [3.0, 4.0]]],
    ],
)
def test_what_cannot_be_an_embedding_at_all_is_refused(rows: list[Any]) -> None:
    with pytest.raises(ProviderFailed):
        normalise(rows)
