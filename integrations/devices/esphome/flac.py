"""Writes FLAC, without making it smaller: devices such as Voice PE play nothing else.

Source: RFC 9639
"""

from __future__ import annotations

import sys
from array import array
from functools import cache

BLOCK = 4_096
"""Samples in a frame."""


def flac(samples: bytes, rate: int) -> bytes:
    """Return 16-bit samples of one channel as a FLAC file.

    Args:
        rate: Samples a second.
    """
    words = array("H", samples[: len(samples) // 2 * 2])
    if sys.byteorder == "big":
        words.byteswap()
    sizes = BLOCK.to_bytes(2) * 2 + bytes(6)  # the sizes of frames are not said
    told = rate << 44 | 15 << 36 | len(words)  # one channel, 16 bits
    header = b"fLaC" + b"\x80\x00\x00\x22" + sizes + told.to_bytes(8) + bytes(16)
    return header + b"".join(
        _frame(number, words[at : at + BLOCK]) for number, at in enumerate(range(0, len(words), BLOCK))
    )


def _frame(number: int, words: array[int]) -> bytes:
    """Return a frame of samples as they are; its size is said at its end, for the last one is shorter."""
    head = b"\xff\xf8\x70\x08" + _coded(number) + (len(words) - 1).to_bytes(2)
    check = 0
    for byte in head:
        check = _TABLE_8[check ^ byte]
    head += bytes([check, 0x02])
    table, check = _table_16(), 0
    for byte in head:
        check = (check << 8) & 0xFFFF ^ _TABLE_16[check >> 8 ^ byte]
    for word in words:
        check = table[check ^ word]
    if sys.byteorder == "little":
        words.byteswap()
    return head + words.tobytes() + check.to_bytes(2)


def _coded(number: int) -> bytes:
    """Return the number of a frame as UTF-8 codes it, which goes further than characters do."""
    if number < 0x80:
        return bytes([number])
    count = 2
    while number >= 1 << (5 * count + 1):
        count += 1
    rest = [0x80 | number >> 6 * at & 0x3F for at in range(count - 2, -1, -1)]
    return bytes([(0xFF << (8 - count)) & 0xFF | number >> 6 * (count - 1), *rest])


def _table(polynomial: int, bits: int) -> list[int]:
    found = []
    for byte in range(256):
        value = byte << (bits - 8)
        for _ in range(8):
            value = value << 1 ^ (polynomial if value >> (bits - 1) & 1 else 0)
        found.append(value & (1 << bits) - 1)
    return found


_TABLE_8, _TABLE_16 = _table(0x07, 8), _table(0x8005, 16)


@cache
def _table_16() -> list[int]:
    """Return the checksum after two bytes."""
    return [low << 8 & 0xFF00 ^ _TABLE_16[low >> 8 ^ byte] for low in _TABLE_16 for byte in range(256)]
