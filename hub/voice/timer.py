"""One timer or alarm, the times at which an alarm repeats, and what both are called aloud. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from hub.automation.schedule.daily import WEEKDAYS, Daily, parse_time_of_day, parse_weekdays
from hub.core.errors import InvalidRequest
from hub.messaging.texts import say
from hub.voice.contract import TimerView

_WEEKDAYS, _WEEKEND = WEEKDAYS[:5], WEEKDAYS[5:]
_NAMED_DAYS = {(): "every_day", _WEEKDAYS: "weekdays", _WEEKEND: "weekend"}


class Repetition(Struct, frozen=True):
    """A time of day, on all or some days of the week.

    Attributes:
        time: As a clock on the wall shows it, such as 07:00.
        weekdays: `mon` to `sun`, in this order; empty for every day.
    """

    time: str
    weekdays: tuple[str, ...] = ()

    @property
    def days(self) -> tuple[str, ...]:
        """The days by name, all of them for every day."""
        return self.weekdays or WEEKDAYS

    def next_after(self, after: float, zone: tzinfo) -> float:
        """Return the first time strictly after an instant, in seconds since the epoch.

        Raises:
            InvalidRequest: It is no time of day, or no weekday.
        """
        daily = Daily(parse_time_of_day(self.time), zone, parse_weekdays(self.days))
        due = daily.next_after(after)
        if due is None:
            raise InvalidRequest(f"there is no {self.time} any more")
        return due

    def told(self, language: str) -> str:
        """Return it as people say it: "every weekday at 07:00"."""
        if (named := _NAMED_DAYS.get(self.weekdays)) is not None:
            return say(f"alarm.{named}", language, time=self.time)
        days = say("alarm.and", language).join(say(f"alarm.{each}", language) for each in self.weekdays)
        return say("alarm.on_days", language, days=days, time=self.time)


def weekdays_of(said: Sequence[str]) -> tuple[str, ...]:
    """Return the weekdays that `daily`, `weekdays`, `weekends` and names of days mean; none for every day."""
    groups = {"daily": WEEKDAYS, "weekdays": _WEEKDAYS, "weekends": _WEEKEND}
    meant = {day for each in said for day in groups.get(each, (each,))}
    return () if len(meant) == len(WEEKDAYS) else tuple(each for each in WEEKDAYS if each in meant)


class SatelliteTimer(Struct, frozen=True):
    """A timer, or an alarm.

    Attributes:
        satellite: Where it was set: a satellite's id, or the entity of another hub's; empty where nothing can ring.
        name: What it is called; empty for none.
        total_s: How long it was to run, seconds.
        begun_at: Seconds since the epoch.
        ends_at: Seconds since the epoch; None while it is paused.
        left_s: What was left when it was paused, seconds.
        is_alarm: Whether it was set for a time of day.
        area: Name of the room where it was set.
        person: Whose it is, if that is known.
        language: What was spoken.
        repeats: When an alarm rings again and again.
        after: The last time of an alarm that repeats which has rung or is left out, seconds since the epoch.
        is_snoozed: Whether it has rung, and was put off.
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
    repeats: Repetition | None = None
    after: float = 0.0
    is_snoozed: bool = False

    @property
    def is_bridged(self) -> bool:
        """Whether it was set at the satellite of another hub."""
        return "." in self.satellite

    def left(self, now: float) -> float:
        """Return how long it still runs, seconds."""
        return self.left_s if self.ends_at is None else max(0.0, self.ends_at - now)

    def view(self, now: float) -> TimerView:
        """Return it as devices show it."""
        return TimerView(self.id, self.name, round(self.total_s), round(self.left(now)), self.ends_at is not None)


def name_of(timer: SatelliteTimer) -> str:
    """Return what a timer is called where people hear it: "pizza timer", "5-minute timer", "alarm"."""
    if timer.is_alarm:
        return say("alarm.called_by_name" if timer.name else "alarm.called", timer.language, name=timer.name)
    return say("timer.called", timer.language, name=timer.name or amount(timer.total_s, timer.language, "-"))


def end_text(timer: SatelliteTimer, ended: float, zone: tzinfo, *, is_late: bool, is_here: bool) -> str:
    """Return what is said when a timer has ended.

    Args:
        timer: The timer.
        ended: When, seconds since the epoch.
        zone: The home's time zone.
        is_late: Whether that was a while ago.
        is_here: Whether it is said where it was set.
    """
    time = f"{datetime.fromtimestamp(ended, zone):%H:%M}"
    called = name_of(timer)
    if is_late:
        return say("timer.late", timer.language, timer=called, time=time)
    if timer.is_alarm:
        return say("alarm.named" if timer.name else "alarm.due", timer.language, name=timer.name, time=time)
    if is_here or timer.area is None:
        return say("timer.done", timer.language, timer=called)
    return say("timer.done_in", timer.language, timer=called, area=timer.area)


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
