"""Formats times for the terminal, in its time zone."""

from __future__ import annotations

from datetime import datetime

MINUTE = "%Y-%m-%d %H:%M"
SECOND = "%Y-%m-%d %H:%M:%S"
DAY = "%Y-%m-%d"


def local_time(ms: float | None, form: str = MINUTE) -> str:
    """Return a time in the terminal's own time zone; empty when there is none.

    Args:
        ms: Milliseconds since the epoch.
        form: As for `strftime`.
    """
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime(form) if ms else ""


def duration(seconds: float) -> str:
    """Return a duration in its two largest units: `3 h 20 min`."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{left} s"
