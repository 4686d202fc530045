"""Timers and alarms that are said to a satellite: kept over a restart, due by the timetable, and rung in their room."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from hub.automation.schedule.contract import CatchUp, Due
from hub.automation.schedule.fixed import At
from hub.automation.schedule.timetable import ScheduledEntry, Timetable
from hub.config.store import EVENT_CONFIG_CHANGED
from hub.core.context import system_context
from hub.core.errors import HubError, InvalidRequest, LimitExceeded, NotFound
from hub.core.events import Unsubscribe
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Range, Schema, number, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall
from hub.core.sql import SqlConnection
from hub.messaging.texts import say
from hub.storage.database import Database
from hub.voice.contract import TimerChange
from hub.voice.ring_words import SNOOZE_LIMIT_MIN, RingAnswer, ring_answer
from hub.voice.ringing import Ringer, RingerDependencies
from hub.voice.timer import Repetition, SatelliteTimer, amount

EVENT_TIMER = "voice_timer"
"""A timer of a satellite changed: `change` (started, updated, cancelled, finished), `id`, `satellite`, `name`."""
TIMERS_LIMIT = 100
"""Of the home."""
LONGEST_S = 7 * 86_400.0
LATE_S = 30.0
"""From when on it is said that it rings late."""
JUST_S = 30.0
"""So long after a ring "stop" and "okay" are about it."""
RECENT_S = 300.0
"""So long after a timer has rung it can still be put off, or its ring be meant by "cancel the alarm"."""

SNOOZE = Schema(
    {
        Optional("entity_id", description="The satellite; all that ring without it."): All(
            string, Length(min=1, max=255)
        ),
        Optional("minutes", description="By how much; what is set for the satellite without it."): All(
            number, Range(min=1, max=SNOOZE_LIMIT_MIN)
        ),
    }
)

_log = logging.getLogger(__name__)


class TimerDependencies(RingerDependencies, frozen=True):
    """What timers need, with what their ringing does.

    Attributes:
        snooze_minutes: Returns by how much a ring at a satellite is put off.
    """

    db: Database
    timetable: Timetable
    snooze_minutes: Callable[[str], int]


class SatelliteTimers:
    """Knows all timers, and rings those that are due."""

    def __init__(self, needs: TimerDependencies) -> None:
        self._needs = needs
        self._timers: dict[str, SatelliteTimer] = {}
        self._entries: dict[str, ScheduledEntry] = {}
        self._rang: dict[str, tuple[SatelliteTimer, float]] = {}
        self._ringer = Ringer(needs, self._over)
        self._forget = needs.bus.listen(EVENT_CONFIG_CHANGED, lambda event: self._set_clocks())

    async def open(self) -> None:
        """Load the timers; those that ended meanwhile ring now, and say so."""
        rows = await self._needs.db.read(
            lambda connection: connection.execute("SELECT data FROM satellite_timers").fetchall()
        )
        for (data,) in rows:
            try:
                timer = msgspec.json.decode(data, type=SatelliteTimer)
            except msgspec.DecodeError:
                _log.exception("a timer of a satellite cannot be read and is left out: %.200s", data)
                continue
            self._timers[timer.id] = timer = self._in_this_zone(timer)
            self._arm(timer)

    def close(self) -> None:
        """Stop waiting; the timers stay on disk, and one that rings begins again at the next start."""
        self._forget()
        for entry in self._entries.values():
            entry()
        self._ringer.close()

    def all(self) -> list[SatelliteTimer]:
        """Return all timers, those that end first before others."""
        now = self._needs.clock.time()
        return sorted(self._timers.values(), key=lambda each: (each.left(now), each.begun_at))

    def is_ringing(self, timer: SatelliteTimer) -> bool:
        """Whether it rings now."""
        return self._ringer.is_ringing(timer)

    def rung(self) -> list[SatelliteTimer]:
        """Return what has rung a little while ago and is neither put off nor done with, the last first."""
        since = self._needs.clock.time() - RECENT_S
        self._rang = {id: each for id, each in self._rang.items() if each[1] >= since}
        return [timer for timer, _ in reversed(self._rang.values())]

    def can_snooze(self) -> list[SatelliteTimer]:
        """Return what rings, is put off, or has rung a little while ago."""
        rung = {each.id: each for each in self.rung()}
        here = [each for each in self.all() if self.is_ringing(each) or each.is_snoozed or each.id in rung]
        return here + [each for id, each in rung.items() if id not in self._timers]

    def register(self) -> Unsubscribe:
        """Register the service `voice.snooze`; returns what removes it."""
        return self._needs.services.register(
            "voice",
            "snooze",
            self._snooze_service,
            SNOOZE,
            ResponseMode.NONE,
            AgentRule.ALLOW,
            description="Put off what rings at voice satellites, or has just rung",
        )

    async def _snooze_service(self, call: ServiceCall) -> None:
        entity = call.data.get("entity_id")
        places = (entity, str(entity).removeprefix("assist_satellite."))
        meant = [each for each in self.can_snooze() if entity is None or each.satellite in places]
        if not meant:
            raise NotFound("nothing rings there, and nothing has rung there in the last five minutes")
        for each in meant:
            await self.snooze(each, call.data.get("minutes"))

    async def start(
        self,
        satellite: str,
        ends_at: float | None,
        *,
        name: str = "",
        is_alarm: bool = False,
        area: str | None = None,
        person: str | None = None,
        language: str = "en",
        repeats: Repetition | None = None,
    ) -> SatelliteTimer:
        """Set a timer; it is on disk when this returns.

        Args:
            satellite: Where it rings: a satellite, the entity of another hub's, or nothing, which tells in a chat.
            ends_at: Seconds since the epoch; None with `repeats`.
            name: What it is called.
            is_alarm: Whether a time of day was said.
            area: Name of the room; that of the satellite without it.
            person: Whose it is.
            language: What was spoken.
            repeats: When it rings again and again.

        Raises:
            NotFound: There is no such satellite.
            InvalidRequest: It would have ended, or runs longer than a week.
            LimitExceeded: There are too many.
        """
        view = self._needs.satellites.get(satellite)
        if view is None and satellite and "." not in satellite:
            raise NotFound(f"there is no satellite {satellite!r}")
        if len(self._timers) >= TIMERS_LIMIT:
            raise LimitExceeded(f"there are {TIMERS_LIMIT} timers already; cancel some")
        now = self._needs.clock.time()
        if repeats is not None:
            ends_at = repeats.next_after(now, self._needs.zone())
        elif ends_at is None or not 0 < ends_at - now <= LONGEST_S:
            raise _out_of_range()
        timer = SatelliteTimer(
            new_id(),
            satellite,
            name,
            ends_at - now,
            now,
            ends_at,
            is_alarm=is_alarm,
            area=area or (self._needs.area(view.area_id) if view is not None else None),
            person=person,
            language=language,
            repeats=repeats,
            after=now,
        )
        await self._put(timer, TimerChange.STARTED)
        return timer

    async def change(self, timer: SatelliteTimer, delta_s: float) -> SatelliteTimer:
        """Let a timer run longer, or shorter by a negative number of seconds; one that rings runs again.

        Raises:
            InvalidRequest: Nothing would be left, or more than a week; it is an alarm that repeats.
        """
        now, is_ringing = self._needs.clock.time(), self.is_ringing(timer)
        if timer.repeats is not None and not (is_ringing or timer.is_snoozed):
            raise InvalidRequest("it repeats: give the time of day that it rings at from now on")
        left = timer.left(now) + delta_s
        if not 0 < left <= LONGEST_S:
            raise _out_of_range()
        await self._ringer.silence(timer)
        total = max(left, timer.total_s + delta_s)
        if timer.ends_at is None:
            changed = replace(timer, total_s=total, left_s=left)
        else:
            changed = replace(timer, total_s=total, ends_at=now + left, is_snoozed=timer.is_snoozed or is_ringing)
        await self._put(changed, TimerChange.UPDATED)
        return changed

    async def move(
        self, timer: SatelliteTimer, ends_at: float | None, repeats: Repetition | None = None
    ) -> SatelliteTimer:
        """Let an alarm ring at another time, or at other times again and again; arguments as for `start`.

        Raises:
            InvalidRequest: It is no alarm, or the time has passed or is more than a week off.
        """
        now = self._needs.clock.time()
        if not timer.is_alarm:
            raise InvalidRequest("it is a timer, not an alarm: say how much longer or shorter it runs")
        if repeats is not None:
            moved = self._next(timer, repeats, now)
        elif ends_at is not None and 0 < ends_at - now <= LONGEST_S:
            moved = replace(timer, begun_at=now, total_s=ends_at - now, ends_at=ends_at, repeats=None, is_snoozed=False)
        else:
            raise _out_of_range()
        await self._ringer.silence(timer)
        await self._put(moved, TimerChange.UPDATED)
        return moved

    async def pause(self, timer: SatelliteTimer) -> SatelliteTimer:
        """Hold a timer, or switch an alarm off; one that is held stays so.

        Raises:
            InvalidRequest: It rings already.
        """
        if self.is_ringing(timer):
            raise InvalidRequest("it has ended; cancel it to stop its ring")
        if timer.ends_at is None:
            return timer
        held = replace(timer, ends_at=None, left_s=timer.left(self._needs.clock.time()), is_snoozed=False)
        await self._put(held, TimerChange.UPDATED)
        return held

    async def resume(self, timer: SatelliteTimer) -> SatelliteTimer:
        """Let a timer run on, or an alarm ring again at its time."""
        if timer.ends_at is not None:
            return timer
        now = self._needs.clock.time()
        if timer.repeats is not None:
            running = self._next(timer, timer.repeats, now)
        else:
            running = replace(timer, ends_at=now + timer.left_s)
        await self._put(running, TimerChange.UPDATED)
        return running

    async def snooze(self, timer: SatelliteTimer, minutes: float | None = None) -> SatelliteTimer:
        """Let one that rings, or rang a little while ago, ring again later.

        Args:
            timer: What rings, or one of `rung`.
            minutes: How much later; what is set for its satellite without it.
        """
        await self._ringer.silence(timer)
        self._rang.pop(timer.id, None)
        now, delay_s = self._needs.clock.time(), 60.0 * (minutes or self._needs.snooze_minutes(timer.satellite))
        later = replace(timer, ends_at=now + delay_s, is_snoozed=True)
        await self._put(later, TimerChange.STARTED)
        return later

    async def skip(self, timer: SatelliteTimer) -> SatelliteTimer:
        """Leave out the next time of an alarm that repeats; one that rings, or is put off, is silent until then.

        Raises:
            InvalidRequest: It does not repeat.
        """
        if timer.repeats is None:
            raise InvalidRequest("it rings once only: cancel it")
        was_on = timer.ends_at is not None and not timer.is_snoozed and not self.is_ringing(timer)
        await self._ringer.silence(timer)
        now = self._needs.clock.time()
        later = self._next(timer, timer.repeats, timer.ends_at if was_on and timer.ends_at else now)
        self._rang.pop(timer.id, None)
        await self._put(later, TimerChange.UPDATED)
        return later

    async def cancel(self, timer: SatelliteTimer, *, is_whole: bool = False) -> SatelliteTimer | None:
        """Remove a timer; one that rings is silent from now on.

        Args:
            timer: What is meant.
            is_whole: Remove an alarm that repeats even where only its ring may be meant.

        Returns:
            The alarm that goes on: one that repeats and rings, is put off or has just rung is only silenced.
        """
        was_ringing = self.is_ringing(timer)
        await self._ringer.silence(timer)
        has_rung = self._rang.pop(timer.id, None) is not None or timer.is_snoozed or was_ringing
        if timer.repeats is not None and has_rung and not is_whole:
            return await self._settle(timer)
        await self._remove(timer)
        await self._tell(timer, TimerChange.CANCELLED)
        return None

    async def heard(self, satellite: str, text: str) -> str | None:
        """Take what was said where something has just rung; return what is said to that, None if it is not about it."""
        answer = ring_answer(text)
        there = next((each for each in self.can_snooze() if each.satellite == satellite), None)
        if answer is None or there is None:
            return None
        if not answer.is_snooze:  # which waking it has done already
            rang_at = self._rang.get(there.id, (there, 0.0))[1]
            return "" if self.is_ringing(there) or self._needs.clock.time() - rang_at < JUST_S else None
        return self._snoozed_text(await self.snooze(self._timers.get(there.id, there), answer.minutes))

    def _snoozed_text(self, timer: SatelliteTimer) -> str:
        left = amount(timer.left(self._needs.clock.time()), timer.language)
        return say("alarm.snoozed", timer.language, amount=left)

    # --- keeping ---

    async def _put(self, timer: SatelliteTimer, change: TimerChange) -> None:
        data = msgspec.json.encode(timer).decode()

        def write(connection: SqlConnection) -> None:
            connection.execute(
                "INSERT INTO satellite_timers(id, data) VALUES (?, ?)"
                " ON CONFLICT(id) DO UPDATE SET data = excluded.data",
                (timer.id, data),
            )

        await self._needs.db.write(write)
        self._timers[timer.id] = timer
        self._arm(timer)
        await self._tell(timer, change)

    async def _remove(self, timer: SatelliteTimer) -> None:
        await self._needs.db.write(
            lambda connection: connection.execute("DELETE FROM satellite_timers WHERE id = ?", (timer.id,)).rowcount
        )
        self._timers.pop(timer.id, None)
        if (entry := self._entries.pop(timer.id, None)) is not None:
            entry()

    async def _tell(self, timer: SatelliteTimer, change: TimerChange) -> None:
        self._fire(timer, change)
        await self._show(timer, change)

    def _fire(self, timer: SatelliteTimer, change: TimerChange) -> None:
        told = {"change": str(change), "id": timer.id, "satellite": timer.satellite, "name": timer.name}
        self._needs.bus.fire(EVENT_TIMER, told, system_context())

    async def _show(self, timer: SatelliteTimer, change: TimerChange) -> None:
        await self._needs.satellites.show_timer(timer.satellite, change, timer.view(self._needs.clock.time()))

    def _arm(self, timer: SatelliteTimer) -> None:
        if (entry := self._entries.pop(timer.id, None)) is not None:
            entry()
        if timer.ends_at is not None:
            self._entries[timer.id] = self._needs.timetable.add(
                At(timer.ends_at),
                lambda due: self._on_due(timer, due),
                after=min(timer.begun_at, timer.ends_at - 1),
                catch_up=CatchUp.LAST,
            )

    # --- what repeats ---

    def _next(self, timer: SatelliteTimer, repeats: Repetition, after: float) -> SatelliteTimer:
        """Return an alarm as it waits for its next time after an instant."""
        now = self._needs.clock.time()
        ends = repeats.next_after(max(after, now), self._needs.zone())
        return replace(
            timer, begun_at=now, total_s=ends - now, ends_at=ends, repeats=repeats, after=after, is_snoozed=False
        )

    def _in_this_zone(self, timer: SatelliteTimer) -> SatelliteTimer:
        """Return an alarm that repeats as the clocks of the home show it now: its zone may be another one."""
        now = self._needs.clock.time()
        if timer.repeats is None or timer.is_snoozed or timer.ends_at is None or timer.ends_at <= now:
            return timer
        return replace(timer, ends_at=timer.repeats.next_after(max(timer.after, now), self._needs.zone()))

    def _set_clocks(self) -> None:
        """Let what repeats ring by the clocks of the home's time zone, which may be another one now."""
        for timer in self.all():
            moved = self._in_this_zone(timer)
            if moved.ends_at != timer.ends_at:
                self._timers[moved.id] = moved
                self._arm(moved)
                self._needs.tasks.spawn(self._tell(moved, TimerChange.UPDATED), name=f"move the alarm {moved.id}")

    # --- ringing ---

    def _on_due(self, timer: SatelliteTimer, due: Due) -> None:
        self._fire(timer, TimerChange.FINISHED)
        self._ringer.ring(timer, is_late=due.now - due.planned > LATE_S)

    async def _over(self, timer: SatelliteTimer, answer: RingAnswer | None) -> None:
        """Put off what has rung, or wait for its next time, or forget it."""
        if self._timers.get(timer.id) is not timer:
            return
        if answer is not None and answer.is_snooze:
            text = self._snoozed_text(await self.snooze(timer, answer.minutes))
            with suppress(HubError):  # it has rung there: who put it off hears so
                await self._needs.satellites.say(timer.satellite, text, language=timer.language)
            return
        self._rang[timer.id] = timer, self._needs.clock.time()
        await self._settle(timer)

    async def _settle(self, timer: SatelliteTimer) -> SatelliteTimer:
        if timer.repeats is None:
            await self._remove(timer)
            return timer
        waiting = self._next(timer, timer.repeats, self._needs.clock.time())
        await self._put(waiting, TimerChange.STARTED)
        return waiting


def _out_of_range() -> InvalidRequest:
    return InvalidRequest(phrase("a timer runs for more than nothing and at most a week; use `schedule` for more"))
