from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from hub.messaging.contract import TextUnit
from hub.messaging.outbox.chunking import (
    SMALLEST_LIMIT,
    BlockBreak,
    ChunkMode,
    block_end,
    chunk,
    close_fence,
    open_fence,
    sentence_end,
)

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


@given(text=texts, lines=st.integers(3, 12), mode=st.sampled_from(ChunkMode))
def test_no_piece_has_more_lines_than_wanted_and_none_is_lost(text: str, lines: int, mode: ChunkMode) -> None:
    pieces = chunk(text, 400, mode=mode, lines=lines)

    assert all(each.count("\n") < lines for each in pieces)
    assert all(pieces)


def test_a_long_list_is_cut_at_a_line() -> None:
    text = "\n".join(f"- {number}" for number in range(20))

    assert [each.count("\n") + 1 for each in chunk(text, 2_000, lines=17)] == [16, 4]


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


PROSE = "First one. Second one.\nA line.\n\nA paragraph. "


@pytest.mark.parametrize("break_at", BlockBreak)
def test_a_block_ends_at_the_strongest_break(break_at: BlockBreak) -> None:
    assert block_end(PROSE, 0, 5, 1_000, break_at) == PROSE.index("A paragraph")


@pytest.mark.parametrize(
    ("break_at", "end"), [(BlockBreak.PARAGRAPH, None), (BlockBreak.NEWLINE, 23), (BlockBreak.SENTENCE, 23)]
)
def test_below_its_full_length_a_block_ends_only_at_a_break_that_is_wanted(
    break_at: BlockBreak, end: int | None
) -> None:
    assert block_end(PROSE[:28], 0, 5, 1_000, break_at) == end


def test_a_block_grows_to_its_least_length_and_ends_at_its_most() -> None:
    assert block_end(PROSE, 0, 500, 1_000, BlockBreak.SENTENCE) is None
    assert block_end("word " * 100, 0, 20, 33, BlockBreak.PARAGRAPH) == 30
    assert block_end("x" * 100, 10, 20, 33, BlockBreak.PARAGRAPH) == 43


def test_a_block_does_not_end_in_code_before_it_is_full() -> None:
    text = "Look here:\n\n```\na = 1. \n\nb = 2\n"

    assert block_end(text, 0, 5, 1_000, BlockBreak.SENTENCE) == text.index("```")
    assert block_end(text, 12, 5, 1_000, BlockBreak.SENTENCE) is None
    assert block_end(f"{text}```\nDone", 12, 5, 1_000, BlockBreak.NEWLINE) == len(f"{text}```\n")


@pytest.mark.parametrize(
    ("text", "end"), [("It is. And the", 7), ("It is.", 6), ("It is", None), ("是的。还", 3), ("Code:\n```\na. b", 6)]
)
def test_whole_sentences_end_where_the_last_one_does(text: str, end: int | None) -> None:
    assert sentence_end(text, 0, 100) == end


@given(text=texts, least=st.integers(1, 60), more=st.integers(0, 100), break_at=st.sampled_from(BlockBreak))
def test_blocks_have_their_length_and_follow_each_other(text: str, least: int, more: int, break_at: BlockBreak) -> None:
    start = 0
    while (end := block_end(text, start, least, least + more, break_at)) is not None:
        assert 0 < end - start <= least + more
        start = end

    assert len(text) - start < least + more


@given(text=texts)
def test_a_closed_text_has_no_open_fence(text: str) -> None:
    assert open_fence(close_fence(text)) is None
