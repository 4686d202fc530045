"""Of satellites that heard the same voice, the one that heard it best answers.

That the same word woke them within half a second says that it may be one voice; the sound itself, or that the same was
understood, that it is. So each of them listens to the end, and the one that hears best goes on at once: it waits for
nobody. The others let it go first, and give up if it was one voice; else somebody spoke to them too.
"""

from __future__ import annotations

import math
import re
import struct
from collections import deque
from contextlib import suppress
from difflib import SequenceMatcher
from operator import mul

from hub.core.clock import Clock
from hub.core.errors import TimedOut
from hub.voice.contract import BYTES_PER_S
from hub.voice.engines import within
from hub.voice.turn import Turn
from hub.voice.wake import plain_word

WINDOW_S = 0.5
"""Satellites that wake with the same word within this time may have heard the same voice."""
YIELDS_S = 5.0
"""For so long one that hears better is let go first; what hears may hang."""
OPEN_S = 2.0
"""For so long it is waited for the end of what one that hears better still listens to."""
SAME_SOUND = 0.22
"""How alike two sounds of one voice are at least. Measured: through a wall, with much echo, 0.2 to 0.4, in one room 0.5
to 0.9; of 300 pairs of different sentences three were above 0.21, and two of these had the same words."""
SAME_WORDS = 0.6
"""So much of two texts is the same if one voice said both; what is far away is understood less well."""
TURNS_KEPT = 16
COMPARED_S = 3
_EVERY = 8
"""Samples of which one is made where sounds are compared: what is below 1,000 Hz tells voices apart."""
_SLOT_BYTES = 8
_HALF = 1 << (8 * _SLOT_BYTES - 1)
_NOT_LETTERS = re.compile(r"[\W_]+")


class NearestRule:
    """Knows the last turns of all satellites."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns: deque[Turn] = deque(maxlen=TURNS_KEPT)

    def begin(self, turn: Turn) -> None:
        """Note a turn that begins."""
        self._turns.append(turn)

    async def has_heard(self, turn: Turn, said: bytes | str) -> bool:
        """Whether another satellite has heard the same voice better, and understood it.

        For nearly all turns this is known at once; else when it is known what those that hear better understand.
        """
        ended = self._clock.monotonic()
        while True:
            waited_s = self._clock.monotonic() - ended
            left_s = {each: _yields_s(each) - waited_s for each in self._near(turn) if _goes_before(each, turn)}
            if (first := max((each for each in left_s if left_s[each] > 0), key=_rank, default=None)) is None:
                break
            with suppress(TimedOut):
                await within(self._clock, first.understood.wait(), left_s[first], "")
        others = [each.said.result() for each in self._near(turn) if each.text and each.said.done()]
        return any(_is_one_voice(said, each) for each in others)

    def has_understood(self, turn: Turn, text: str) -> bool:
        """Whether another satellite has understood what is understood in a turn now."""
        return any(is_alike(text, each.text) for each in self._near(turn) if each.text)

    def _near(self, turn: Turn) -> list[Turn]:
        word = turn.wake_word and plain_word(turn.wake_word)
        return [
            each
            for each in self._turns
            if each.satellite != turn.satellite
            and word
            and each.wake_word
            and plain_word(each.wake_word) == word
            and abs(each.began - turn.began) <= WINDOW_S
        ]


def likeness(sound: bytes, other: bytes) -> float:
    """Return how alike two sounds are, whenever each begins: from 0 to 1, where they are the same.

    It is the greatest of their cross-correlation. The samples stand in two long numbers, a slot for each, of which the
    product has the correlation with each shift: a long multiplication takes some 20 ms, where sums take a second.
    """
    one, two = _coarse(sound), _coarse(other)[::-1]
    power = sum(map(mul, one, one)) * sum(map(mul, two, two))
    if not power:
        return 0.0
    count = len(one) + len(two)
    shifted = _number(one) * _number(two) + _digits([_HALF] * count)
    found: tuple[int, ...] = struct.unpack(
        f"<{count}Q", shifted.to_bytes((count + 1) * _SLOT_BYTES, "little")[: count * _SLOT_BYTES]
    )
    return max(abs(each - _HALF) for each in found) / math.sqrt(power)


def is_alike(text: str, other: str) -> bool:
    """Whether two texts may be what two satellites understood of one voice."""
    letters, others = (_NOT_LETTERS.sub("", each.casefold()) for each in (text, other))
    return SequenceMatcher(None, letters, others, autojunk=False).ratio() >= SAME_WORDS


def _is_one_voice(said: bytes | str, other: bytes | str | None) -> bool:
    return isinstance(said, bytes) and isinstance(other, bytes) and likeness(said, other) >= SAME_SOUND


def _coarse(sound: bytes) -> list[int]:
    """Return the last of a sound with fewer samples."""
    last = sound[-COMPARED_S * BYTES_PER_S :]
    samples = struct.unpack(f"<{len(last) // 2}h", last[: len(last) // 2 * 2])
    return [sum(samples[at : at + _EVERY]) for at in range(0, len(samples) - _EVERY + 1, _EVERY)]


def _number(samples: list[int]) -> int:
    """Return a number with a digit for each sample; a digit has `_SLOT_BYTES`."""
    return _digits([max(0, each) for each in samples]) - _digits([max(0, -each) for each in samples])


def _digits(digits: list[int]) -> int:
    return int.from_bytes(struct.pack(f"<{len(digits)}Q", *digits), "little")


def _goes_before(other: Turn, turn: Turn) -> bool:
    return other.is_speech and not other.understood.is_set() and _rank(other) > _rank(turn)


def _rank(turn: Turn) -> tuple[float, str]:
    return turn.clearness, turn.id


def _yields_s(turn: Turn) -> float:
    return OPEN_S if turn.is_listening else YIELDS_S
