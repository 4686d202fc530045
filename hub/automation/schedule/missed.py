"""Decides which occurrences are due and what happens to missed ones: pure plans.

An occurrence found at most `TOLERANCE_S` after its time is on time. One found later was *missed*: the machine was
suspended, the clock jumped; so was, however late it is, what came due while nobody looked, since the hub was down.
`catch_up` says how it is handled.
"""

from __future__ import annotations

import math

from msgspec import Struct

from hub.automation.schedule.contract import CatchUp, Schedule, due_between

TOLERANCE_S = 60.0
MAX_FIRED = 100
"""`catch_up: all` fires at most so many missed occurrences, the latest ones."""
MAX_COUNTED = 1_000
"""Missed occurrences are counted up to this: "a thousand or more" is as much as anybody needs to know."""
MAX_ON_TIME = 10
"""Of the occurrences of one schedule that are on time in the same look, the latest so many fire: a short interval
and a machine that stalled for half a minute make no storm."""

_FIRST_LOOK_S = 60.0


class Missed(Struct, frozen=True):
    """The decision about missed occurrences.

    Args:
        fire: The ones to fire now, oldest first, in seconds since the epoch.
        skipped: How many others were missed, counted up to `MAX_COUNTED`.
        latest: The latest missed occurrence, fired or not; None when none was missed.
    """

    fire: list[float]
    skipped: int
    latest: float | None = None


class ClockCheck(Struct, frozen=True):
    """The result of one look at the clock.

    Args:
        caught_up: Missed occurrences to fire now, oldest first.
        on_time: Occurrences to fire now that are on time, oldest first; all later than those caught up.
        dropped: How many others came due and do not fire, counted up to `MAX_COUNTED`.
        latest_dropped: The latest missed occurrence when nothing fires instead, else None.
    """

    caught_up: list[float]
    on_time: list[float]
    dropped: int = 0
    latest_dropped: float | None = None


def plan_look(
    schedule: Schedule,
    after: float,
    now: float,
    catch_up: CatchUp,
    within_s: float | None = None,
    *,
    down_until: float = -math.inf,
) -> ClockCheck:
    """Decide which of the occurrences in (`after`, `now`] fire.

    What is on time fires. When something was missed before it, `none` and `last` fire the latest occurrence only: it
    represents the others. Arguments as in `plan_missed`; up to `down_until` nobody looked.
    """
    until = min(now, max(_below(now - TOLERANCE_S), down_until))
    missed = plan_missed(schedule, after, now, catch_up, within_s, until=until)
    on_time = due_between(schedule, max(after, until), now)
    if missed.latest is None:
        return ClockCheck([], on_time[-MAX_ON_TIME:], len(on_time[:-MAX_ON_TIME]))
    if catch_up is CatchUp.ALL:
        kept = on_time[-MAX_ON_TIME:]
        return ClockCheck(missed.fire, kept, missed.skipped + len(on_time) - len(kept))
    if on_time:
        return ClockCheck([], on_time[-1:], _counted(missed.skipped + len(missed.fire) + len(on_time) - 1))
    return ClockCheck(missed.fire, [], missed.skipped, None if missed.fire else missed.latest)


def plan_missed(
    schedule: Schedule,
    after: float,
    now: float,
    catch_up: CatchUp,
    within_s: float | None = None,
    *,
    until: float | None = None,
) -> Missed:
    """Decide which of the occurrences in (`after`, `until`] still fire.

    Args:
        schedule: The rule that was due.
        after: Up to here everything was handled, in seconds since the epoch.
        now: The wall clock.
        catch_up: `none` fires nothing, `last` the latest occurrence, `all` each one, at most `MAX_FIRED`.
        within_s: Only occurrences that are at most so many seconds old still fire; None for any age.
        until: What came due later was not missed, and is left out; None for now.
    """
    until = now if until is None else until
    count = len(due_between(schedule, after, until, MAX_COUNTED))
    if count == 0:
        return Missed([], 0)
    latest = last_between(schedule, after, until)
    wanted = {CatchUp.NONE: 0, CatchUp.LAST: 1, CatchUp.ALL: MAX_FIRED}[catch_up]
    oldest = after if within_s is None else max(after, _below(now - within_s))
    fire: list[float] = []
    at = latest
    while at is not None and at > oldest and len(fire) < wanted:
        fire.append(at)
        at = last_between(schedule, oldest, _below(at))
    fire.reverse()
    return Missed(fire, count - len(fire), latest)


def last_between(schedule: Schedule, after: float, until: float) -> float | None:
    """Return the last due time in (`after`, `until`], or None; found from the end: the span may be years of seconds."""
    look_s = _FIRST_LOOK_S
    start = until
    while start > after:
        start = max(after, until - look_s)
        look_s *= 2
        due = schedule.next_after(start)
        if due is not None and due <= until:
            return _last_from(schedule, due, until)
    return None


def _last_from(schedule: Schedule, due: float, until: float) -> float:
    """Return the last due time up to `until`, given one of them: a binary search that also steps."""
    high = until
    while (following := schedule.next_after(due)) is not None and following <= until:
        middle = (following + high) / 2
        beyond = schedule.next_after(middle)
        if beyond is not None and beyond <= until:
            due = beyond
        else:
            due, high = following, middle
    return due


def _below(instant: float) -> float:
    return math.nextafter(instant, -math.inf)


def _counted(count: int) -> int:
    return min(count, MAX_COUNTED)
