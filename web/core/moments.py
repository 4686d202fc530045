"""Times as people say them: "in 25 min", "tomorrow 7:00", "15:02", "12 May, 9:00": phrases. Pure."""

from __future__ import annotations

import datetime as dt

from hub.core.phrases import phrase
from web.core.texts import MONTHS, WEEKDAYS

MINUTE_S, HOUR_S = 60, 3_600


def spoken(seconds: float, now: float, zone: dt.tzinfo, *, twelve: bool = False) -> str:
    """Return a time as it is said now: what is near by how far away it is.

    Args:
        seconds: The time; seconds since the epoch.
        now: The same, of now.
        zone: The reader's time zone.
        twelve: Whether hours are counted to twelve.
    """
    ago = now - seconds
    if 0 <= ago < MINUTE_S:
        return phrase("just now")
    if 0 < ago < HOUR_S:
        return phrase("{count} min ago", count=int(ago // MINUTE_S))
    if -HOUR_S < ago < 0:
        return phrase("in {count} min", count=max(1, round(-ago / MINUTE_S)))
    return clock(seconds, now, zone, twelve=twelve)


def time_of_day(at: dt.datetime, *, exact: bool = False, twelve: bool = False, wide: bool = False) -> str:
    """Return the time of a day: 15:02, or 3:02 pm.

    Args:
        exact: Whether seconds are shown.
        twelve: Whether hours are counted to twelve.
        wide: Whether it has the same width at every hour.
    """
    hour = at.hour % 12 or 12 if twelve else at.hour
    written = f"{hour:\u2007>2}" if wide else str(hour)  # a space as wide as a digit: times stand below each other
    time = f"{written}:{at:%M:%S}" if exact else f"{written}:{at:%M}"
    if not twelve:
        return time
    return phrase("{time} am", time=time) if at.hour < 12 else phrase("{time} pm", time=time)


def clock(seconds: float, now: float, zone: dt.tzinfo, *, exact: bool = False, twelve: bool = False) -> str:
    """Return a time that stays right while it is shown: the clock, with the day when it is another.

    Args:
        exact, twelve: As for `time_of_day`.
    """
    at, today = (dt.datetime.fromtimestamp(each, zone) for each in (seconds, now))
    time = time_of_day(at, exact=exact, twelve=twelve)
    days = (at.date() - today.date()).days
    if days == 0:
        return time
    if days == 1:
        return phrase("tomorrow {time}", time=time)
    if days == -1:
        return phrase("yesterday {time}", time=time)
    if -7 < days < 7:
        return phrase("{day} {time}", day=phrase(WEEKDAYS[at.weekday()]), time=time)
    date = day(at.date(), today.date())
    return phrase("{date}, {time}", date=date, time=time) if exact or at.year == today.year else date


def day(date: dt.date, today: dt.date) -> str:
    """Return a date; with its year when that is another."""
    said = phrase("{day} {month}", day=date.day, month=phrase(MONTHS[date.month - 1]))
    return said if date.year == today.year else phrase("{date} {year}", date=said, year=date.year)


def weekday(date: dt.date, today: dt.date) -> str:
    """Return a date with the name of its day."""
    return phrase("{weekday} {date}", weekday=phrase(WEEKDAYS[date.weekday()]), date=day(date, today))


def title(date: dt.date, today: dt.date) -> str:
    """Return a date as the title of what was on it: Today, Yesterday, Tuesday 24 November."""
    near = {0: phrase("Today"), 1: phrase("Yesterday")}
    return near.get((today - date).days) or weekday(date, today)


def time_left(seconds: float) -> str:
    """Return the remainder of a short time: minutes and seconds, with hours when it is long."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
