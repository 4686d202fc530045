"""The interface of schedules, and the argument of their callbacks."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

MAX_LISTED = 10_000
"""At most this many due times are listed at once."""


class Schedule(Protocol):
    """A rule that names due times. It is plain data: asking it changes nothing."""

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`.

        Args:
            after: Seconds since the epoch.

        Returns:
            Seconds since the epoch; None when nothing comes due any more.

        Raises:
            InvalidRequest: The rule was never valid (a cron expression is read when it is first asked).
        """
        ...


class CatchUp(StrEnum):
    """The handling of missed occurrences: the hub was down, the machine suspended, or the clock jumped."""

    NONE = "none"
    LAST = "last"
    ALL = "all"


class Due(Struct, frozen=True):
    """One occurrence, as its callback receives it.

    Args:
        planned: When it was due, in seconds since the epoch.
        now: The wall clock when it fired.
        missed: How many earlier occurrences since the last firing were dropped or merged into this one; counted up
            to `missed.MAX_COUNTED`.
        caught_up: Whether it fires late because of `catch_up`.
    """

    planned: float
    now: float
    missed: int = 0
    caught_up: bool = False


def due_between(schedule: Schedule, after: float, until: float, limit: int = MAX_LISTED) -> list[float]:
    """Return the due times in (`after`, `until`], oldest first, at most `limit` of them."""
    found: list[float] = []
    at = after
    while len(found) < limit:
        due = schedule.next_after(at)
        if due is None or due > until:
            break
        found.append(due)
        at = due
    return found
