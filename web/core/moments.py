"""Times as people say them: "in 25 min", "tomorrow 7:00", "15:02", "12 May". Pure."""

from __future__ import annotations

import datetime as dt

from hub.core.phrases import phrase
from web.core.i18n import Catalogue
from web.core.texts import MONTHS, WEEKDAYS

MINUTE_S, HOUR_S = 60, 3_600
RECENT_S = 12 * HOUR_S
"""What is longer ago is told by its day."""
SOON_S = 3 * 3_600
"""Until then a time to come is told by how far away it is."""


def moment(at: dt.datetime, now: dt.datetime, texts: Catalogue) -> str:
    """Return a time as a person says it now; both times are in the home's zone."""
    clock = f"{at.hour}:{at.minute:02}"
    days = (at.date() - now.date()).days
    left_s = (at - now).total_seconds()
    if 0 < left_s < SOON_S:
        minutes = max(1, round(left_s / 60))
        return (
            texts.gettext("in {count} min", count=minutes)
            if minutes < 60
            else texts.gettext("in {count} h", count=round(minutes / 60))
        )
    if days == 0:
        return clock
    if days == 1:
        return texts.gettext("tomorrow {time}", time=clock)
    if days == -1:
        return texts.gettext("yesterday")
    if -7 < days < 0:
        return texts.gettext(WEEKDAYS[at.weekday()])
    if 0 < days < 7:
        return texts.gettext("{day} {time}", day=texts.gettext(WEEKDAYS[at.weekday()]), time=clock)
    return day(at.date(), texts)


def moment_phrase(seconds: float, now: float, zone: dt.tzinfo) -> str:
    """Return a time as a phrase, which is translated where it is shown; what was lately is told by how long ago.

    Args:
        seconds: The time; seconds since the epoch.
        now: The same, of now.
        zone: Where people are.
    """
    ago = now - seconds
    if 0 <= ago < MINUTE_S:
        return phrase("just now")
    if 0 < ago < HOUR_S:
        return phrase("{count} min ago", count=int(ago // MINUTE_S))
    if 0 < ago < RECENT_S:
        return phrase("{count} h ago", count=int(ago // HOUR_S))
    if -HOUR_S < ago < 0:
        return phrase("in {count} min", count=max(1, round(-ago / MINUTE_S)))
    at, today = dt.datetime.fromtimestamp(seconds, zone), dt.datetime.fromtimestamp(now, zone)
    clock = f"{at.hour}:{at.minute:02}"
    days = (at.date() - today.date()).days
    if days == 0:
        return phrase("today {time}", time=clock)
    if days == 1:
        return phrase("tomorrow {time}", time=clock)
    if days == -1:
        return phrase("yesterday {time}", time=clock)
    if -7 < days < 7:
        return phrase("{day} {time}", day=phrase(WEEKDAYS[at.weekday()]), time=clock)
    date = phrase("{day} {month}", day=at.day, month=phrase(MONTHS[at.month - 1]))
    if at.year != today.year:
        return phrase("{date} {year}", date=date, year=at.year)
    return phrase("{date}, {time}", date=date, time=clock)


def day(date: dt.date, texts: Catalogue) -> str:
    """Return a date without its year."""
    return texts.gettext("{day} {month}", day=date.day, month=texts.gettext(MONTHS[date.month - 1]))


def weekday(date: dt.date, texts: Catalogue) -> str:
    """Return a date with the name of its day."""
    return texts.gettext("{weekday} {date}", weekday=texts.gettext(WEEKDAYS[date.weekday()]), date=day(date, texts))


def left(seconds: float) -> str:
    """Return what is left of a short time: minutes and seconds, with hours when it is long."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
