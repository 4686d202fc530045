"""Which texts go together in one request."""

from __future__ import annotations

from hypothesis import given, strategies as st

from hub.memory.chunking import tokens_in
from integrations.memory.notes.index.embeddings.packing import pack
from integrations.memory.notes.index.embeddings.provider import Limits

TEXTS = st.lists(st.integers(1, 4_000).map(lambda count: "a" * count), max_size=60)


@given(TEXTS, st.integers(1, 20), st.integers(10, 2_000), st.integers(1, 8))
def test_each_text_is_sent_once_in_order_and_no_request_is_over_its_limits(
    texts: list[str], most: int, tokens: int, lanes: int
) -> None:
    limits = Limits(texts=most, tokens=tokens)

    groups = list(pack(texts, limits, lanes))

    assert [place for group in groups for place in group] == list(range(len(texts)))
    for group in groups:
        assert 1 <= len(group) <= most
        assert len(group) == 1 or sum(tokens_in(texts[place]) for place in group) <= tokens


def test_a_large_job_is_shared_out_among_the_lanes() -> None:
    texts = ["a" * 1_600] * 512

    groups = list(pack(texts, Limits(texts=512, tokens=240_000), 4))

    assert [len(group) for group in groups] == [128] * 4


def test_a_small_job_is_one_request() -> None:
    assert [len(group) for group in pack(["a" * 1_600] * 100, Limits(texts=512, tokens=240_000), 4)] == [100]
