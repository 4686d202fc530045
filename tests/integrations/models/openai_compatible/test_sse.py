"""Server-sent events come out whole, wherever the bytes were cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from integrations.models.openai_compatible.sse import EVENT_LIMIT_BYTES, EventTooLong, SseParser

DATA = st.lists(
    st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), min_size=1), max_size=5
)


def parsed(raw: bytes, cuts: list[int]) -> list[bytes]:
    parser = SseParser()
    places = sorted({min(cut, len(raw)) for cut in cuts} | {0, len(raw)})
    pieces = [raw[begin:end] for begin, end in itertools.pairwise(places)]
    return [data for piece in pieces for data in parser.feed(piece)] + parser.end()


@given(DATA, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 200)), st.booleans())
def test_cuts_and_line_ends_change_nothing(data: list[str], end: str, cuts: list[int], marked: bool) -> None:
    raw = "".join(f": comment{end}event: x{end}data: {each}{end}{end}" for each in data).encode()

    assert parsed(b"\xef\xbb\xbf" * marked + raw, cuts) == [each.encode() for each in data]


def test_several_data_lines_are_one_event() -> None:
    assert parsed(b"data: a\ndata:b\n\n", []) == [b"a\nb"]


def test_what_the_end_cut_off_is_given_by_end() -> None:
    parser = SseParser()

    assert parser.feed(b"data: [DONE]") == []
    assert parser.end() == [b"[DONE]"]


def test_an_event_without_end_is_refused() -> None:
    parser = SseParser()

    with pytest.raises(EventTooLong):
        parser.feed(b"data: " + b"x" * (EVENT_LIMIT_BYTES + 1))


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(raw: bytes) -> None:
    parser = SseParser()

    assert isinstance(parser.feed(raw) + parser.end(), list)
