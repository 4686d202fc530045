"""The timetable: one task that waits for the wall clock, for every schedule of the hub."""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from hub.automation.schedule.contract import CatchUp, Due, Schedule
from hub.automation.schedule.missed import TOLERANCE_S, plan_look
from hub.core.clock import RECHECK_S, Clock
from hub.core.tasks import TaskOwner

REANCHOR_S = 24 * 3600.0
"""A clock that was further ahead than this was wrong: what fired then is forgotten."""
BREATH_S = 0.02
"""After firing for so long in one go, the other tasks of the event loop get their turn."""
MIN_TIDIED = 256
"""A heap with fewer dead places than this is not worth tidying."""

OnDue = Callable[[Due], None]
T = TypeVar("T")

_log = logging.getLogger(__name__)


class ScheduledEntry:
    """One schedule in the timetable; calling it removes the schedule, and calling it again does nothing.

    `due` is when it comes due next, in seconds since the epoch; None when never again. `looked` is up to where its
    occurrences were gone through; `fired` is the last one that fired, or that had fired before it was added: no
    occurrence up to there fires again. Up to `down_until` nobody looked.
    """

    __slots__ = (
        "_forget",
        "callback",
        "catch_up",
        "down_until",
        "due",
        "fired",
        "is_armed",
        "looked",
        "missed",
        "on_skipped",
        "schedule",
        "within_s",
    )

    def __init__(
        self,
        forget: Callable[[ScheduledEntry], None],
        schedule: Schedule,
        looked: float,
        callback: OnDue,
        on_skipped: OnDue | None,
        *,
        catch_up: CatchUp,
        within_s: float | None,
    ) -> None:
        self._forget = forget
        self.due = schedule.next_after(looked)
        self.is_armed = True
        self.schedule = schedule
        self.looked = looked
        self.fired = -math.inf
        self.down_until = -math.inf
        self.missed = 0
        self.callback = callback
        self.on_skipped = on_skipped
        self.catch_up = catch_up
        self.within_s = within_s

    def __call__(self) -> None:
        if self.is_armed:
            self.is_armed = False
            self.due = None
            self._forget(self)


class Timetable:
    """Fires callbacks when the wall clock shows their time; one heap and one task for all of them.

    The clock is looked at again at least every `RECHECK_S`: a machine that slept, or a clock that somebody set, is
    noticed. When it went back, what fired does not fire again, and what was dropped as missed is waited for again; what
    fired more than `REANCHOR_S` ahead of the new time is forgotten.

    Args:
        clock: Gives the time.
        tasks: Owns the task that waits. It runs while there are entries; cancelled, nothing fires any more.
    """

    def __init__(self, clock: Clock, tasks: TaskOwner) -> None:
        self._clock = clock
        self._tasks = tasks
        self._heap: list[tuple[float, int, ScheduledEntry]] = []
        self._order = count()
        self._entries: set[ScheduledEntry] = set()
        self._dead = 0
        self._latest = -math.inf
        self._waiting: asyncio.Task[None] | None = None
        self._sleeping: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def due(self) -> float | None:
        """When the first of all entries comes due, seconds since the epoch; None when none does."""
        return min((each.due for each in self._entries if each.due is not None), default=None)

    def add(
        self,
        schedule: Schedule,
        callback: OnDue,
        *,
        after: float | None = None,
        catch_up: CatchUp = CatchUp.NONE,
        within_s: float | None = None,
        on_skipped: OnDue | None = None,
    ) -> ScheduledEntry:
        """Call `callback` whenever `schedule` comes due, from the timetable's task, never from inside this call.

        Args:
            schedule: Tells when it is due.
            callback: Called when due. It must not wait; one that raises is logged, and comes due again.
            after: The last occurrence that was handled, or when the schedule was armed: what came due in (`after`,
                now] was missed. None: now.
            catch_up: How missed occurrences are handled.
            within_s: How old, in seconds, a missed occurrence may be to be caught up; None for any age.
            on_skipped: Called with the latest missed occurrence when missed ones are dropped and nothing fires
                instead. Without it the next firing says how many.

        Returns:
            The entry; calling it removes it.

        Raises:
            InvalidRequest: The schedule cannot be read.
            RuntimeError: The owner of the tasks has stopped.
        """
        now = self._clock.time()
        looked = now if after is None or after > now + REANCHOR_S else after
        entry = ScheduledEntry(
            self._forget, schedule, looked, callback, on_skipped, catch_up=catch_up, within_s=within_s
        )
        if after is not None:
            entry.fired = looked
            entry.down_until = math.nextafter(now, -math.inf)
        self._arm(entry)
        return entry

    def next_due(self, entry: ScheduledEntry) -> float | None:
        """Return when `entry` comes due next, in seconds since the epoch; None when never again."""
        return entry.due

    def _arm(self, entry: ScheduledEntry) -> None:
        if self._waiting is None or self._waiting.done():
            self._waiting = self._tasks.spawn(self._wait(), name="timetable")
        self._entries.add(entry)
        is_first = entry.due is not None and (not self._heap or entry.due < self._heap[0][0])
        self._push(entry)
        if is_first and self._sleeping is not None:
            self._sleeping.cancel()

    def _push(self, entry: ScheduledEntry) -> None:
        if entry.due is not None:
            heapq.heappush(self._heap, (entry.due, next(self._order), entry))

    def _forget(self, entry: ScheduledEntry) -> None:
        self._entries.discard(entry)
        self._dead += 1
        if self._dead >= MIN_TIDIED and self._dead * 2 > len(self._heap):
            self._rebuild()

    def _rebuild(self) -> None:
        """Rebuild the heap from the armed schedules; equal times stay in the order of addition."""
        places = {entry: (due, order, entry) for due, order, entry in self._heap if due == entry.due}
        self._heap = [
            places.get(entry) or (entry.due, next(self._order), entry)
            for entry in self._entries
            if entry.due is not None
        ]
        heapq.heapify(self._heap)
        self._dead = 0

    async def _wait(self) -> None:
        """Fire due entries and sleep until the next, as long as anything is armed."""
        while self._entries:
            await self._look(self._clock.time())
            if self._entries:
                await self._sleep()

    async def _sleep(self) -> None:
        left = self._heap[0][0] - self._clock.time() if self._heap else RECHECK_S
        if left <= 0:
            await asyncio.sleep(0)
            return
        sleeping = self._tasks.spawn(self._clock.sleep(min(left, RECHECK_S)), name="timetable: sleep")
        self._sleeping = sleeping
        try:
            await asyncio.wait([sleeping])
        finally:
            self._sleeping = None
            sleeping.cancel()

    async def _look(self, now: float) -> None:
        if now < self._latest - TOLERANCE_S:
            self._step_back(now)
        self._latest = max(self._latest, now)
        began = self._clock.monotonic()
        for entry in self._due(now):
            if not entry.is_armed:
                continue
            self._come_due(entry, now)
            if self._clock.monotonic() - began > BREATH_S:
                await asyncio.sleep(0)
                began = self._clock.monotonic()

    def _due(self, now: float) -> list[ScheduledEntry]:
        """Take from the heap what is due at `now`, in order."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            at, _, entry = heapq.heappop(self._heap)
            if entry.due == at:
                due.append(entry)
            else:
                self._dead -= 1
        return due

    def _come_due(self, entry: ScheduledEntry, now: float) -> None:
        look = self._guarded(
            entry,
            lambda: plan_look(
                entry.schedule, entry.looked, now, entry.catch_up, entry.within_s, down_until=entry.down_until
            ),
        )
        entry.looked = now
        self._ask(entry)
        self._push(entry)
        if look is None:
            return
        entry.missed += look.dropped
        if look.latest_dropped is not None and entry.on_skipped is not None:
            due = Due(look.latest_dropped, now, entry.missed - 1)
            entry.missed = 0
            self._call(entry.on_skipped, due)
        for planned in look.caught_up:
            self._fire(entry, planned, now, caught_up=True)
        for planned in look.on_time:
            self._fire(entry, planned, now, caught_up=False)

    def _ask(self, entry: ScheduledEntry) -> None:
        entry.due = self._guarded(entry, lambda: entry.schedule.next_after(entry.looked))

    def _guarded(self, entry: ScheduledEntry, ask: Callable[[], T | None]) -> T | None:
        try:
            return ask()
        except Exception:  # a schedule that fails must stop no other
            _log.exception("timetable: the schedule %r failed", entry.schedule)
            return None

    def _fire(self, entry: ScheduledEntry, planned: float, now: float, *, caught_up: bool) -> None:
        if not entry.is_armed:
            return
        due = Due(planned, now, entry.missed, caught_up)
        entry.fired = planned
        entry.missed = 0
        self._call(entry.callback, due)

    def _call(self, callback: OnDue, due: Due) -> None:
        try:
            callback(due)
        except Exception:  # a callback is another part's code; what it raises must stop no other
            name = getattr(callback, "__qualname__", None) or repr(callback)
            _log.exception("timetable: %s raised", name)

    def _step_back(self, now: float) -> None:
        """Handle a clock that was set back: wait again for what has not fired, and forget firings now in the future."""
        _log.warning("The clock went back by %.0f s", self._latest - now)
        for entry in self._entries:
            if entry.fired > now + REANCHOR_S:
                entry.fired = now
            entry.looked = max(entry.fired, now)
            self._ask(entry)
        self._latest = now
        self._rebuild()
