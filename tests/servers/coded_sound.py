"""Sound of the telephone in which texts are coded, so that no test needs a model that understands speech."""

from __future__ import annotations

import re

from integrations.channels.voice_call.mulaw import FRAME_BYTES

_NIBBLES = bytes(range(0x80, 0x90))
"""Sixteen loud codes."""
_MARK = bytes([0x00, 0x01]) * 8


def as_sound(text: str) -> bytes:
    """Return loud sound in which a text is coded."""
    data = text.encode()
    coded = b"".join(bytes([_NIBBLES[each >> 4], _NIBBLES[each & 15]]) for each in data)
    sound = _MARK + coded + _MARK
    return sound + b"\x00" * (max(10 * FRAME_BYTES - len(sound), -len(sound) % FRAME_BYTES))


def text_of(sound: bytes) -> str:
    """Return the texts that are coded in sound; of anything else there is none."""
    found = []
    for coded in re.findall(re.escape(_MARK) + rb"([\x80-\x8f]*?)" + re.escape(_MARK), sound, re.DOTALL):
        pairs = zip(coded[::2], coded[1::2], strict=True)
        found.append(bytes((high & 15) << 4 | low & 15 for high, low in pairs).decode())
    return " ".join(found)
