from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from hub.messaging.chunking import SMALLEST_LIMIT, chunk
from hub.messaging.contract import TextUnit

texts = st.text(alphabet=st.sampled_from("abc .\n。!~`中"), max_size=2_000)


@given(text=texts, limit=st.integers(SMALLEST_LIMIT, 400))
def test_no_piece_is_longer_than_the_limit_and_none_is_empty(text: str, limit: int) -> None:
    pieces = chunk(text, limit)

    assert all(0 < len(piece) <= limit for piece in pieces)


@given(
    text=st.text(alphabet=st.sampled_from("ab .\n~`中🙂é"), max_size=1_000),
    limit=st.integers(SMALLEST_LIMIT, 400),
    unit=st.sampled_from(TextUnit),
)
def test_a_limit_is_kept_in_the_unit_the_platform_counts_in(text: str, limit: int, unit: TextUnit) -> None:
    encoding = {TextUnit.CHARACTERS: "utf-32-le", TextUnit.UTF16: "utf-16-le", TextUnit.BYTES: "utf-8"}[unit]
    size = {TextUnit.CHARACTERS: 4, TextUnit.UTF16: 2, TextUnit.BYTES: 1}[unit]

    pieces = chunk(text, limit, unit)

    assert all(0 < len(piece.encode(encoding)) // size <= limit for piece in pieces)
    assert [each for each in "".join(pieces) if each in "ab中🙂é"] == [each for each in text if each in "ab中🙂é"]


@given(text=st.text(alphabet=st.sampled_from("abc .\n。!中"), max_size=2_000), limit=st.integers(SMALLEST_LIMIT, 400))
def test_nothing_but_white_space_is_lost(text: str, limit: int) -> None:
    pieces = chunk(text, limit)

    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", text)


def test_a_short_text_is_left_alone() -> None:
    assert chunk("hello\n\nthere", 100) == ["hello\n\nthere"]


def test_it_cuts_at_a_paragraph_before_a_line_before_a_word() -> None:
    text = f"{'a ' * 30}\n{'b ' * 10}\n\n{'c ' * 30}"

    pieces = chunk(text, 120)

    assert pieces[0].endswith("b")
    assert pieces[1].startswith("c")


def test_a_code_block_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line {number}" for number in range(60))

    pieces = chunk(f"Look:\n```python\n{code}\n```\nDone.", 200)

    assert len(pieces) > 2
    for piece in pieces:
        assert piece.count("```") % 2 == 0
    assert pieces[1].startswith("```python\n")
    assert "line 59" in pieces[-1]


def test_a_limit_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(ValueError, match="64"):
        chunk("x", 10)
