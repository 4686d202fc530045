"""Frames carry any JSON whole; what is no frame is refused, and a cut one is the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from integrations.memory.notes.worker import frames

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=8,
)
MESSAGES = st.lists(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=4), max_size=4)


def read_all(data: bytes) -> list[dict[str, Any]]:
    async def all_of_it() -> list[dict[str, Any]]:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        found = []
        while (message := await frames.read(reader)) is not None:
            found.append(message)
        return found

    return asyncio.run(all_of_it())


@given(MESSAGES)
def test_what_was_sent_is_read(messages: list[dict[str, Any]]) -> None:
    assert read_all(b"".join(frames.encode(each) for each in messages)) == messages


@given(MESSAGES, st.integers(1, 30))
def test_a_frame_that_was_cut_off_is_the_end(messages: list[dict[str, Any]], missing: int) -> None:
    data = b"".join(frames.encode(each) for each in [*messages, {"last": "x" * 40}])

    assert read_all(data[:-missing]) == messages


@pytest.mark.parametrize(
    "data", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x01{", b"\x00\x00\x00\x00", b"GET / HTTP/1.1"]
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(frames.FrameError):
        read_all(data)


def test_a_message_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(frames.FrameError, match="at most"):
        frames.encode({"x": "y" * frames.FRAME_LIMIT_BYTES})
    with pytest.raises(frames.FrameError, match="cannot be sent"):
        frames.encode({"x": object()})
