"""Timers and alarms that are said to a satellite: kept over a restart, due by the timetable, and rung in their room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, tzinfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.automation.schedule.contract import CatchUp, Due
from hub.automation.schedule.fixed import At
from hub.automation.schedule.timetable import ScheduledEntry, Timetable
from hub.core.clock import Clock
from hub.core.context import system_context
from hub.core.errors import HubError, InvalidRequest, LimitExceeded, NotFound
from hub.core.events import Event, EventBus
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.plain_words import is_plain
from hub.core.services import ServiceRegistry
from hub.core.slugs import object_id
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.texts import say
from hub.storage.database import Database
from hub.voice.chimes import Chime, chime
from hub.voice.contract import EVENT_STOPPED, Satellites, SatelliteView, TimerChange, TimerView

EVENT_TIMER = "voice_timer"
"""A timer of a satellite changed: `change` (started, updated, cancelled, finished), `id`, `satellite`, `name`."""
TIMERS_LIMIT = 100
"""Of the home."""
LONGEST_S = 7 * 86_400.0
RING_ROUNDS = 90
"""About two minutes; then it is said once more, and no longer."""
GRACE_S = 20
"""How long a satellite that is away, as all are at a start, is waited for before another place is looked for."""
LATE_S = 30.0
"""From when on it is said that it rings late."""

_log = logging.getLogger(__name__)


class SatelliteTimer(Struct, frozen=True):
    """A timer, or an alarm.

    Attributes:
        satellite: Where it was set.
        name: What it is called; empty for none.
        total_s: How long it was to run, seconds.
        begun_at: Seconds since the epoch.
        ends_at: Seconds since the epoch; None while it is paused.
        left_s: What was left when it was paused, seconds.
        is_alarm: Whether it was set for a time of day.
        area: Name of the room where it was set.
        person: Whose it is, if that is known.
        language: What was spoken.
    """

    id: str
    satellite: str
    name: str
    total_s: float
    begun_at: float
    ends_at: float | None
    left_s: float = 0.0
    is_alarm: bool = False
    area: str | None = None
    person: str | None = None
    language: str = "en"

    def left(self, now: float) -> float:
        """Return how long it still runs, seconds."""
        return self.left_s if self.ends_at is None else max(0.0, self.ends_at - now)

    def view(self, now: float) -> TimerView:
        """Return it as devices show it."""
        return TimerView(self.id, self.name, round(self.total_s), round(self.left(now)), self.ends_at is not None)


class TimerDependencies(Struct, frozen=True):
    """What timers need.

    Attributes:
        services: Tell a person in a chat.
        zone: Returns the home's time zone.
        area: Returns the name of an area.
    """

    satellites: Satellites
    db: Database
    timetable: Timetable
    services: ServiceRegistry
    bus: EventBus
    clock: Clock
    tasks: TaskOwner
    zone: Callable[[], tzinfo]
    area: Callable[[str | None], str | None]


class SatelliteTimers:
    """Knows all timers, and rings those that are due."""

    def __init__(self, needs: TimerDependencies) -> None:
        self._needs = needs
        self._timers: dict[str, SatelliteTimer] = {}
        self._entries: dict[str, ScheduledEntry] = {}
        self._ringing: dict[str, _Ringing] = {}
        self._forget = needs.bus.listen(EVENT_STOPPED, self._on_stopped)

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
            self._timers[timer.id] = timer
            self._arm(timer)

    def close(self) -> None:
        """Stop waiting; the timers stay on disk, and one that rings begins again at the next start."""
        self._forget()
        for entry in self._entries.values():
            entry()
        for each in self._ringing.values():
            each.task.cancel()

    def all(self) -> list[SatelliteTimer]:
        """Return all timers, those that end first before others."""
        now = self._needs.clock.time()
        return sorted(self._timers.values(), key=lambda each: (each.left(now), each.begun_at))

    def is_ringing(self, timer: SatelliteTimer) -> bool:
        """Whether it rings now."""
        return timer.id in self._ringing

    async def start(
        self,
        satellite: str,
        ends_at: float,
        *,
        name: str = "",
        is_alarm: bool = False,
        person: str | None = None,
        language: str = "en",
    ) -> SatelliteTimer:
        """Set a timer; it is on disk when this returns.

        Args:
            satellite: Where it rings.
            ends_at: Seconds since the epoch.
            name: What it is called.
            is_alarm: Whether a time of day was said.
            person: Whose it is.
            language: What was spoken.

        Raises:
            NotFound: There is no such satellite.
            InvalidRequest: It would have ended, or runs longer than a week.
            LimitExceeded: There are too many.
        """
        view = self._needs.satellites.get(satellite)
        if view is None:
            raise NotFound(f"there is no satellite {satellite!r}")
        if len(self._timers) >= TIMERS_LIMIT:
            raise LimitExceeded(f"there are {TIMERS_LIMIT} timers already; cancel some")
        now = self._needs.clock.time()
        timer = SatelliteTimer(
            new_id(),
            satellite,
            name,
            _checked(ends_at - now),
            now,
            ends_at,
            is_alarm=is_alarm,
            area=self._needs.area(view.area_id),
            person=person,
            language=language,
        )
        await self._put(timer, TimerChange.STARTED)
        return timer

    async def change(self, timer: SatelliteTimer, delta_s: float) -> SatelliteTimer:
        """Let a timer run longer, or shorter by a negative number of seconds; one that rings runs again.

        Raises:
            InvalidRequest: Nothing would be left, or more than a week.
        """
        now = self._needs.clock.time()
        left = _checked(timer.left(now) + delta_s)
        await self._silence(timer)
        total = max(left, timer.total_s + delta_s)
        if timer.ends_at is None:
            changed = replace(timer, total_s=total, left_s=left)
        else:
            changed = replace(timer, total_s=total, ends_at=now + left)
        await self._put(changed, TimerChange.UPDATED)
        return changed

    async def pause(self, timer: SatelliteTimer) -> SatelliteTimer:
        """Hold a timer; one that is held stays so.

        Raises:
            InvalidRequest: It rings already.
        """
        if self.is_ringing(timer):
            raise InvalidRequest("it has ended; cancel it to stop its ring")
        if timer.ends_at is None:
            return timer
        held = replace(timer, ends_at=None, left_s=timer.left(self._needs.clock.time()))
        await self._put(held, TimerChange.UPDATED)
        return held

    async def resume(self, timer: SatelliteTimer) -> SatelliteTimer:
        """Let a timer run on."""
        if timer.ends_at is not None:
            return timer
        running = replace(timer, ends_at=self._needs.clock.time() + timer.left_s)
        await self._put(running, TimerChange.UPDATED)
        return running

    async def cancel(self, timer: SatelliteTimer) -> None:
        """Remove a timer; one that rings is silent from now on."""
        await self._silence(timer)
        await self._remove(timer)
        await self._tell(timer, TimerChange.CANCELLED)

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

    # --- ringing ---

    def _on_due(self, timer: SatelliteTimer, due: Due) -> None:
        ringing = _Ringing(timer.satellite)
        ringing.task = self._needs.tasks.spawn(
            self._ring(timer, ringing, is_late=due.now - due.planned > LATE_S), name=f"ring the timer {timer.id}"
        )
        self._ringing[timer.id] = ringing

    async def _ring(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> None:
        self._fire(timer, TimerChange.FINISHED)
        try:
            if not await self._ring_in_room(timer, ringing, is_late=is_late):
                await self._tell_in_chat(timer, is_late=is_late)
        finally:
            self._ringing.pop(timer.id, None)
        if self._timers.get(timer.id) is timer:
            await self._remove(timer)

    async def _ring_in_room(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> bool:
        """Ring until somebody stops it, or for `RING_ROUNDS`; return whether it could be heard anywhere."""
        try:
            return await self._ring_rounds(timer, ringing, is_late=is_late)
        finally:
            self._needs.satellites.ring(ringing.satellite, is_ringing=False)

    async def _ring_rounds(self, timer: SatelliteTimer, ringing: _Ringing, *, is_late: bool) -> bool:
        failed: set[str] = set()
        place: str | None = None
        for _ in range(RING_ROUNDS):
            view = await self._place(timer, failed)
            if view is None:
                break
            if ringing.satellite != view.info.id:
                self._needs.satellites.ring(ringing.satellite, is_ringing=False)
                ringing.satellite = view.info.id
            if view.info.id == timer.satellite and not ringing.is_shown:
                ringing.is_shown = True
                await self._show(timer, TimerChange.FINISHED)
                if view.info.rings:
                    return True
            self._needs.satellites.ring(view.info.id, is_ringing=True)
            try:
                if not await self._needs.satellites.play(view.info.id, chime(Chime.RING)) or ringing.stopped.is_set():
                    return True
            except HubError as error:
                _log.warning("%s could not ring: %s", view.info.id, error)
                failed.add(view.info.id)
                continue
            if place != view.info.id:
                place = view.info.id
                await self._say(place, timer, is_late=is_late)
            if ringing.stopped.is_set():
                return True
        if place is None:
            return False
        if place not in failed:
            await self._say(place, timer, is_late=True)
        return True

    async def _place(self, timer: SatelliteTimer, failed: set[str]) -> SatelliteView | None:
        """Return where it can be heard: the satellite where it was set, else another one in that room."""
        for _ in range(1 if failed else GRACE_S):
            views = [each for each in self._needs.satellites.all() if each.is_connected and each.info.id not in failed]
            own = [each for each in views if each.info.id == timer.satellite]
            near = [each for each in views if timer.area and self._needs.area(each.area_id) == timer.area]
            if own or failed:
                return next(iter(own or near), None)
            await self._needs.clock.sleep(1.0)
        return next(iter(near), None)

    async def _say(self, satellite: str, timer: SatelliteTimer, *, is_late: bool) -> None:
        text = self.text_of(timer, is_late=is_late, is_here=satellite == timer.satellite)
        try:
            await self._needs.satellites.say(satellite, text, language=timer.language)
        except HubError as error:  # it rings all the same
            _log.warning("%s could not say that a timer ended: %s", satellite, error)

    async def _tell_in_chat(self, timer: SatelliteTimer, *, is_late: bool) -> None:
        text = self.text_of(timer, is_late=is_late, is_here=False)
        key, context = f"timer-{timer.id}", system_context()
        if not is_plain(timer.name):  # anybody may have said it, and the message stays in a conversation
            context = context.tainted()
        for name in filter(None, (timer.person and object_id(timer.person), "notify")):  # the owner, where that fails
            try:
                await self._needs.services.call("notify", name, {"message": text}, context=context, idempotency_key=key)
            except HubError as error:
                _log.warning("notify.%s: %s (%s)", name, error, text)
            else:
                return

    def text_of(self, timer: SatelliteTimer, *, is_late: bool, is_here: bool) -> str:
        """Return what is said when a timer has ended.

        Args:
            timer: The timer.
            is_late: Whether it ended a while ago.
            is_here: Whether it is said where it was set.
        """
        ended = timer.ends_at or self._needs.clock.time()
        time = f"{datetime.fromtimestamp(ended, self._needs.zone()):%H:%M}"
        called = name_of(timer)
        if is_late:
            return say("timer.late", timer.language, timer=called, time=time)
        if timer.is_alarm:
            key = "alarm.named" if timer.name else "alarm.due"
            return say(key, timer.language, name=timer.name, time=time)
        if is_here or timer.area is None:
            return say("timer.done", timer.language, timer=called)
        return say("timer.done_in", timer.language, timer=called, area=timer.area)

    def _on_stopped(self, event: Event) -> None:
        for each in self._ringing.values():
            if each.satellite == event.data.get("satellite"):
                each.stopped.set()

    async def _silence(self, timer: SatelliteTimer) -> None:
        """Let a timer ring no more; what else goes on at the satellite goes on."""
        if (ringing := self._ringing.pop(timer.id, None)) is not None:
            ringing.task.cancel()
            await asyncio.wait([ringing.task])


class _Ringing:
    """A timer that rings now."""

    task: asyncio.Task[None]

    def __init__(self, satellite: str) -> None:
        self.satellite = satellite
        self.stopped = asyncio.Event()
        self.is_shown = False


def name_of(timer: SatelliteTimer) -> str:
    """Return what a timer is called where people hear it: "pizza timer", "5-minute timer", "alarm"."""
    if timer.is_alarm:
        return say("alarm.called_by_name" if timer.name else "alarm.called", timer.language, name=timer.name)
    return say("timer.called", timer.language, name=timer.name or amount(timer.total_s, timer.language, "-"))


def amount(seconds: float, language: str, between: str = " ") -> str:
    """Return a time in hours, minutes and seconds: "1 hour 5 minutes", or "5-minute" before a noun.

    Args:
        seconds: How long.
        language: Of the words.
        between: What stands between a number and its unit in English; with "-" the unit has no plural.
    """
    whole = max(0, round(seconds))
    parts = [(whole // 3_600, "hour"), (whole // 60 % 60, "minute"), (whole % 60, "second")]
    told = [(count, unit) for count, unit in parts if count] or [(0, "second")]
    if language.startswith("zh"):
        units = {"hour": "小时", "minute": "分钟", "second": "秒"}
        return "".join(f"{count}{units[unit]}" for count, unit in told)
    return " ".join(f"{count}{between}{unit}{'s' if count != 1 and between == ' ' else ''}" for count, unit in told)


def _checked(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_S:
        raise InvalidRequest(phrase("a timer runs for more than nothing and at most a week; use `schedule` for more"))
    return seconds
