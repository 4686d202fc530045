"""Time in templates: now, reading and writing moments, and how long ago something was."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from jinja2 import UndefinedError

from hub.core.clock import Clock
from hub.template.formatting import Formats
from hub.template.numbers import NO_DEFAULT, or_default
from hub.template.work import BoundReached, Work

PARSED_CHARS = 128
"""Length of a text that is read as a moment, and of the format that says how."""
_UNITS = (
    ("year", 365 * 86_400),
    ("month", 30 * 86_400),
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
    ("second", 1),
)
_CLOCK_DURATION = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<days>\d{1,9})(?: days?)?,? ?(?=\d))?(?:(?P<hours>\d{1,9}):)?"
    r"(?P<minutes>\d{1,9}):(?P<seconds>\d{1,9}(?:\.\d{1,9})?)"
)
_DAYS = re.compile(r"(?P<sign>[-+]?)(?P<days>\d{1,9}) days?")
_SECONDS = re.compile(r"(?P<sign>[-+]?)(?P<seconds>\d{1,12}(?:\.\d{1,9})?)")
_ISO_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?=[\dT])(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9}(?:\.\d{1,9})?)D)?"
    r"(?:T(?:(?P<hours>\d{1,9}(?:\.\d{1,9})?)H)?(?:(?P<minutes>\d{1,9}(?:\.\d{1,9})?)M)?"
    r"(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?"
)
_NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{0,15})?")


class Times:
    """The time functions.

    Args:
        clock: Gives the time.
        zone: The home's time zone now.
        work: The work of the rendering under way.
        formats: Makes texts within bounds.
    """

    def __init__(self, clock: Clock, zone: Callable[[], tzinfo], work: Callable[[], Work], formats: Formats) -> None:
        self._clock = clock
        self._zone = zone
        self._work = work
        self._formats = formats

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions that are not filters."""
        return {"now": self.now, "utcnow": self.utcnow, "timedelta": timedelta}

    def both(self) -> dict[str, Callable[..., Any]]:
        """The functions that are also filters."""
        return {
            "as_timestamp": self.as_timestamp,
            "as_datetime": self.as_datetime,
            "as_local": self.as_local,
            "as_timedelta": as_timedelta,
            "strptime": self.strptime,
            "today_at": self.today_at,
            "timestamp_custom": self.timestamp_custom,
            "timestamp_local": self.timestamp_local,
            "timestamp_utc": self.timestamp_utc,
            "relative_time": self.relative_time,
            "time_since": self.time_since,
            "time_until": self.time_until,
        }

    def now(self) -> datetime:
        """The time in the home's zone."""
        return self.utcnow().astimezone(self._zone())

    def utcnow(self) -> datetime:
        """The time in UTC."""
        self._work().uses_time = True
        return self._clock.now()

    def today_at(self, text: str = "") -> datetime:
        """Today at a time of day such as `18:30`; at midnight without one."""
        at = time() if not text else _time_of_day(str(text))
        return datetime.combine(self.now().date(), at, self._zone())

    def as_timestamp(self, value: Any, default: Any = NO_DEFAULT) -> Any:
        """Seconds since the epoch."""
        moment = self.as_datetime(value, None) if isinstance(value, str | date) else value
        try:
            return self._aware(moment).timestamp() if isinstance(moment, datetime) else float(moment)
        except (ValueError, TypeError, OverflowError, UndefinedError):
            return or_default("as_timestamp", value, default)

    def as_datetime(self, value: Any, default: Any = NO_DEFAULT) -> Any:
        """A moment from seconds, a date, or a text; none when it cannot be read."""
        if isinstance(value, datetime):
            return value
        if isinstance(value, date):
            return datetime.combine(value, time())
        try:
            if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value.strip())):
                return datetime.fromtimestamp(float(value), UTC)
            return datetime.fromisoformat(_short(value).strip())
        except (ValueError, OverflowError, OSError):
            return None if default is NO_DEFAULT else default
        except (TypeError, UndefinedError):
            return or_default("as_datetime", value, default)

    def as_local(self, value: datetime) -> datetime:
        """A moment in the home's zone."""
        return self._aware(value).astimezone(self._zone())

    def strptime(self, value: Any, form: str, default: Any = NO_DEFAULT) -> Any:
        """A moment from a text, by a format."""
        try:
            return datetime.strptime(_short(value), _short(form))  # noqa: DTZ007 - as the format says
        except (ValueError, TypeError, UndefinedError):
            return or_default("strptime", value, default)

    def timestamp_custom(
        self,
        value: Any,
        form: str = "%Y-%m-%d %H:%M:%S",
        local: bool = True,
        default: Any = NO_DEFAULT,
    ) -> Any:
        """Seconds since the epoch written by a format."""
        try:
            moment = datetime.fromtimestamp(float(value), UTC)
        except (ValueError, TypeError, OverflowError, OSError, UndefinedError):
            return or_default("timestamp_custom", value, default)
        return self._formats.moment(moment.astimezone(self._zone()) if local else moment, form)

    def timestamp_local(self, value: Any, default: Any = NO_DEFAULT) -> Any:
        """Seconds since the epoch as ISO 8601 in the home's zone."""
        try:
            return datetime.fromtimestamp(float(value), UTC).astimezone(self._zone()).isoformat()
        except (ValueError, TypeError, OverflowError, OSError, UndefinedError):
            return or_default("timestamp_local", value, default)

    def timestamp_utc(self, value: Any, default: Any = NO_DEFAULT) -> Any:
        """Seconds since the epoch as ISO 8601 in UTC."""
        try:
            return datetime.fromtimestamp(float(value), UTC).isoformat()
        except (ValueError, TypeError, OverflowError, OSError, UndefinedError):
            return or_default("timestamp_utc", value, default)

    def relative_time(self, value: Any) -> Any:
        """The age in its largest unit; future times stay unchanged."""
        return self.time_since(value, 1)

    def time_since(self, value: Any, precision: int = 1) -> Any:
        """The age in a number of units; future times stay unchanged."""
        age = self._age(value)
        return value if age is None or age < 0 else spoken(age, precision)

    def time_until(self, value: Any, precision: int = 1) -> Any:
        """The remaining time in a number of units; past times stay unchanged."""
        age = self._age(value)
        return value if age is None or age > 0 else spoken(-age, precision)

    def _age(self, value: Any) -> float | None:
        """Seconds since a time; None if it is not a time."""
        if not isinstance(value, datetime):
            return None
        return (self.utcnow() - self._aware(value)).total_seconds()

    def _aware(self, value: datetime) -> datetime:
        return value if value.tzinfo else value.replace(tzinfo=self._zone())


def as_timedelta(value: Any, default: Any = NO_DEFAULT) -> Any:
    """A duration from `5 days 03:00:00`, `03:00`, `90` or ISO 8601; none when it cannot be read."""
    text = _short(value).strip()
    for pattern in (_CLOCK_DURATION, _DAYS, _SECONDS, _ISO_DURATION):
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            sign = -1 if parts.pop("sign") == "-" else 1
            return sign * timedelta(**{unit: float(amount) for unit, amount in parts.items() if amount})
    return None if default is NO_DEFAULT else default


def spoken(seconds: float, precision: int) -> str:
    """A length of time in words: `1 hour 5 minutes`; all units when the precision is 0."""
    words: list[str] = []
    for unit, length in _UNITS:
        if seconds < length:
            continue
        is_last = len(words) + 1 == precision
        amount = round(seconds / length) if is_last else int(seconds // length)
        words.append(f"{amount} {unit}" if amount == 1 else f"{amount} {unit}s")
        if is_last:
            break
        seconds -= amount * length
    return " ".join(words) or "0 seconds"


def _time_of_day(text: str) -> time:
    try:
        hour, minute, second = (*map(int, text.split(":", 2)), 0)[:3]
        return time(hour, minute, second)
    except ValueError:
        raise ValueError(f"{text[:30]!r} is not a time of day such as 18:30") from None


def _short(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is needed, not a value of type {type(value).__name__}")
    if len(value) > PARSED_CHARS:
        raise BoundReached(f"a moment has more than {PARSED_CHARS} characters")
    return value
