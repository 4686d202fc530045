"""Frames of Feishu's long connection: nine fields of Protocol Buffers, version 2. Pure.

Written by hand, because the vendor's library takes 11 seconds to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

CONTROL, DATA = 0, 1
PARTS_LIMIT = 256
PARTS_LIMIT_BYTES = 16 * 1024 * 1024
EVENTS_LIMIT = 32
"""Events whose parts are held at once; the oldest is given up first, and comes again."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WORD = (1 << 64) - 1


class Frame(Struct, frozen=True):
    """One frame.

    Attributes:
        method: CONTROL or DATA.
        headers: With `type`, `message_id`, and for an event in parts `sum` and `seq`.
    """

    seq: int = 0
    log: int = 0
    service: int = 0
    method: int = CONTROL
    headers: tuple[tuple[str, str], ...] = ()
    payload_encoding: str = ""
    payload_type: str = ""
    payload: bytes = b""
    log_new: str = ""

    def header(self, name: str) -> str:
        """Return a header, or an empty text."""
        return dict(self.headers).get(name, "")


def encode(frame: Frame) -> bytes:
    """Return a frame as bytes."""
    numbers = (frame.seq, frame.log, frame.service, frame.method)
    written = b"".join(_varint(field << 3) + _varint(value) for field, value in enumerate(numbers, 1))
    for key, value in frame.headers:
        written += _field(5, _field(1, key.encode()) + _field(2, value.encode()))
    rest = {
        6: frame.payload_encoding.encode(),
        7: frame.payload_type.encode(),
        8: frame.payload,
        9: frame.log_new.encode(),
    }
    return written + b"".join(_field(field, value) for field, value in rest.items() if value)


def decode(data: bytes) -> Frame:
    """Return the frame of some bytes; fields that are not known are left out.

    Raises:
        ValueError: They are none.
    """
    numbers, texts, headers = dict.fromkeys((1, 2, 3, 4), 0), dict.fromkeys((6, 7, 8, 9), b""), list[tuple[str, str]]()
    for field, value in _fields(data):
        if field in numbers and isinstance(value, int):
            numbers[field] = value if field < 3 else _int32(value)
        elif field in texts and isinstance(value, bytes):
            texts[field] = value
        elif field == 5 and isinstance(value, bytes):
            pair = {key: part.decode() for key, part in _fields(value) if isinstance(part, bytes)}
            headers.append((pair.get(1, ""), pair.get(2, "")))
    return Frame(
        seq=numbers[1],
        log=numbers[2],
        service=numbers[3],
        method=numbers[4],
        headers=tuple(headers),
        payload_encoding=texts[6].decode(),
        payload_type=texts[7].decode(),
        payload=texts[8],
        log_new=texts[9].decode(),
    )


def _varint(value: int) -> bytes:
    value &= _WORD
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _field(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        value: int | bytes
        match key & 7:
            case 0:
                value, position = _read_varint(data, position)
            case 1 | 2 | 5 as wire:
                size = {_FIXED64: 8, _FIXED32: 4}.get(wire, 0)
                if wire == _BYTES:
                    size, position = _read_varint(data, position)
                if size > len(data) - position:
                    raise ValueError("a field is longer than the frame")
                value, position = data[position : position + size], position + size
            case wire:
                raise ValueError(f"a field has the unknown form {wire}")
        yield key >> 3, value


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise ValueError("a frame is cut off")
        byte, position = data[position], position + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _WORD, position
    raise ValueError("a number has more than ten bytes")


def _int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


class Parts:
    """Joins events that come in several frames."""

    def __init__(self) -> None:
        self._held: dict[str, dict[int, bytes]] = {}

    def join(self, frame: Frame) -> bytes | None:
        """Return the whole payload; None until its last part is there.

        Raises:
            ValueError: The parts are counted wrongly, or are too many or too large.
        """
        total, number, id = int(frame.header("sum") or 1), int(frame.header("seq") or 0), frame.header("message_id")
        if total <= 1:
            return frame.payload
        if not 0 <= number < total <= PARTS_LIMIT:
            raise ValueError(f"part {number} of {total}")
        parts = self._held.setdefault(id, {})
        parts[number] = frame.payload
        if len(parts) == total:
            del self._held[id]
            return b"".join(parts[each] for each in range(total))
        if _size(parts) > PARTS_LIMIT_BYTES:
            del self._held[id]
            raise ValueError("the parts of an event are too large")
        while len(self._held) > EVENTS_LIMIT or sum(map(_size, self._held.values())) > PARTS_LIMIT_BYTES:
            del self._held[next(iter(self._held))]
        return None


def _size(parts: Mapping[int, bytes]) -> int:
    return sum(map(len, parts.values()))
