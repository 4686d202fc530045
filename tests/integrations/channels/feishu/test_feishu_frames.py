"""Frames of the long connection: whatever comes, it is a frame or a ValueError, and never more memory than allowed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as some

from integrations.channels.feishu.frames import (
    DATA,
    EVENTS_LIMIT,
    PARTS_LIMIT,
    PARTS_LIMIT_BYTES,
    Frame,
    Parts,
    decode,
    encode,
)

GOLDEN = bytes.fromhex(
    "0801108580808080808080800118fdffffffffffffffff0120012a0d0a047479706512056576656e742a120a0a6d6573736167655f6964"
    "12046d2dc3a43204677a69703a046a736f6e42077b2261223a317d4a014c"
)
"""Written by Google's library from the vendor's description."""
HEADERS = (("type", "event"), ("message_id", "m-ä"))
WHOLE = Frame(1, 2**63 + 5, -3, DATA, HEADERS, "gzip", "json", b'{"a":1}', "L")

TEXT = some.text(max_size=20)
FRAMES = some.builds(
    Frame,
    seq=some.integers(0, 2**64 - 1),
    log=some.integers(0, 2**64 - 1),
    service=some.integers(-(2**31), 2**31 - 1),
    method=some.integers(-(2**31), 2**31 - 1),
    headers=some.lists(some.tuples(TEXT, TEXT), max_size=5).map(tuple),
    payload_encoding=TEXT,
    payload_type=TEXT,
    payload=some.binary(max_size=300),
    log_new=TEXT,
)


def part(number: int, total: int, payload: bytes = b"x", id: str = "m") -> Frame:
    headers = (("message_id", id), ("sum", str(total)), ("seq", str(number)))
    return Frame(method=DATA, headers=headers, payload=payload)


def test_a_frame_is_as_the_vendors_description_has_it() -> None:
    assert decode(GOLDEN) == WHOLE
    assert encode(WHOLE) == GOLDEN


@given(FRAMES)
def test_a_frame_that_was_encoded_is_decoded_to_the_same(frame: Frame) -> None:
    assert decode(encode(frame)) == frame


@given(FRAMES, some.data())
def test_a_frame_that_was_cut_off_is_no_more_than_the_whole_and_no_other_error(
    frame: Frame, data: some.DataObject
) -> None:
    whole = encode(frame)
    cut = whole[: data.draw(some.integers(0, len(whole)))]

    try:
        found = decode(cut)
    except ValueError:
        return

    assert len(found.payload) <= len(frame.payload)
    assert len(found.headers) <= len(frame.headers)


@given(some.binary(max_size=400))
def test_bytes_are_a_frame_or_a_value_error(data: bytes) -> None:
    try:
        found = decode(data)
    except ValueError:
        return

    assert len(found.payload) <= len(data)


@pytest.mark.parametrize(
    "hostile",
    [
        b"\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # 2**64 - 1 bytes of payload
        b"\x42\x80\x80\x80\x80\x10{",  # 4 GB
        b"\x08" + b"\xff" * 11,  # a number without an end
        b"\x43",  # a group, which nobody uses
        b"\x2a\x04\x0a\x0a\x61\x62",  # a header longer than its field
        b"\x32\x02\xff\xfe",  # no UTF-8
    ],
)
def test_hostile_lengths_are_refused(hostile: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  of any text
        decode(hostile)


def test_fields_that_are_not_known_are_left_out() -> None:
    assert decode(GOLDEN + b"\x50\x01\x5d\x00\x00\x00\x00\x61" + bytes(8)) == WHOLE


def test_parts_are_joined_in_their_order() -> None:
    parts = Parts()

    assert parts.join(part(2, 3, b"c")) is None
    assert parts.join(part(0, 3, b"a")) is None
    assert parts.join(part(0, 3, b"a")) is None
    assert parts.join(part(1, 3, b"b")) == b"abc"


@pytest.mark.parametrize(("number", "total"), [(2, 2), (-1, 2), (0, PARTS_LIMIT + 1)])
def test_parts_that_are_counted_wrongly_are_refused(number: int, total: int) -> None:
    with pytest.raises(ValueError, match="part"):
        Parts().join(part(number, total))


def test_parts_without_an_end_take_no_more_memory_than_allowed() -> None:
    parts, large = Parts(), bytes(PARTS_LIMIT_BYTES // 3)

    for number in range(2 * EVENTS_LIMIT):
        assert parts.join(part(0, 2, id=f"small-{number}")) is None
    for number in range(5):
        assert parts.join(part(0, 2, large, id=f"large-{number}")) is None

    assert parts.join(part(1, 2, id="small-0")) is None  # given up
    assert parts.join(part(1, 2, b"", id="large-4")) == large
    with pytest.raises(ValueError, match="too large"):
        [parts.join(part(number, 5, large, id="huge")) for number in range(4)]
