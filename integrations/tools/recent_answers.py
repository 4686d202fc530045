"""A cache of fetched answers: bounded by age, by number and by size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from hub.core.clock import Clock

ENTRIES_LIMIT = 200
SIZE_LIMIT = 20_000_000
"""Characters of all entries together."""

T = TypeVar("T")


class RecentAnswers(Generic[T]):
    """Keeps answers for some time; the least recently used one is dropped first.

    Args:
        clock: Measures age.
        keep_s: How long an answer is kept; 0 keeps none.
    """

    def __init__(self, clock: Clock, keep_s: float) -> None:
        self._clock = clock
        self._keep_s = keep_s
        self._entries: OrderedDict[Hashable, tuple[float, int, T]] = OrderedDict()
        self._size = 0

    def get(self, key: Hashable) -> T | None:
        """Return an answer that is not too old."""
        found = self._entries.get(key)
        if found is None:
            return None
        if self._clock.monotonic() - found[0] >= self._keep_s:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return found[2]

    def put(self, key: Hashable, answer: T, size: int) -> None:
        """Keep an answer of this many characters, if it can be kept at all."""
        self._drop(key)
        if self._keep_s <= 0 or size > SIZE_LIMIT:
            return
        self._entries[key] = (self._clock.monotonic(), size, answer)
        self._size += size
        while len(self._entries) > ENTRIES_LIMIT or self._size > SIZE_LIMIT:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        if (gone := self._entries.pop(key, None)) is not None:
            self._size -= gone[1]
