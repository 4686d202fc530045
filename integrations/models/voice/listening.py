"""The words so far of somebody who speaks, by transcribing again and again what was said until then.

The text of all that was said comes no later for it: nothing is begun in a pause, which may be the end; what takes as
long as the pause that ends speech hears from then on what is new alone; and a machine that is too slow even for that
is left in peace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.tasks import TaskOwner
from hub.models.transcription import TellWords
from hub.voice.contract import BYTES_PER_S

_log = logging.getLogger(__name__)

LEAST_BYTES = BYTES_PER_S
"""Less is no word yet, and is heard wrongly."""
LONGEST_BYTES = 24 * BYTES_PER_S
"""What Whisper takes at once is half a minute."""
SLOW_S = 0.6
"""Shorter than the silence that ends what is said."""
REST = 2.0
"""After each time, the engine rests so many times as long: a third of it at most goes into words so far."""
REST_S = 0.3


class PartHeard(Struct, frozen=True):
    """What is understood of the samples so far.

    Attributes:
        took_s: How long the engine worked.
    """

    text: str
    took_s: float


Hear = Callable[[bytes], Awaitable[PartHeard | None]]
"""Returns what is understood of samples; None if the engine has something else to do."""


class WordsSoFar:
    """Tells what somebody has said until now.

    Args:
        tasks: Owns what is begun; it is not broken off, since a new process would take longer.
    """

    def __init__(self, hear: Hear, clock: Clock, tasks: TaskOwner, tell: TellWords) -> None:
        self._hear, self._clock, self._tasks, self._tell = hear, clock, tasks, tell
        self._before = ""
        self._start = 0
        self._due = 0.0
        self._working: asyncio.Task[None] | None = None
        self._is_over = False

    def take(self, samples: bytearray) -> None:
        """Hear all that was said, unless that is being done, or was just now."""
        is_working = self._working is not None and not self._working.done()
        if self._is_over or is_working or len(samples) - self._start < LEAST_BYTES:
            return
        if self._clock.monotonic() >= self._due:
            part = bytes(samples[self._start :])
            self._working = self._tasks.spawn(self._tell_of(part), name="hear the words so far")

    def close(self) -> None:
        """Tell nothing more."""
        self._is_over = True

    async def _tell_of(self, part: bytes) -> None:
        try:
            found = await self._hear(part)
        except HubError as error:
            _log.info("the words so far are not told: %s", error.message)
            self._is_over = True
            return
        took_s = found.took_s if found is not None else 0.0
        self._due = self._clock.monotonic() + max(REST_S, REST * took_s)
        if found is None or self._is_over:
            return
        words = _joined(self._before, found.text)
        if words:
            self._tell(words)
        if took_s > SLOW_S and len(part) < 2 * LEAST_BYTES:
            self._is_over = True
        elif took_s > SLOW_S or len(part) > LONGEST_BYTES:
            self._before, self._start = words, self._start + len(part)


def _joined(before: str, text: str) -> str:
    between = " " if before and text and before[-1].isascii() else ""
    return f"{before}{between}{text}"
