"""`cron`: five-field expressions. croniter parses the fields; daylight saving is handled here (see `wall.py`)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any

from msgspec import Struct

from hub.automation.schedule.wall import WallPattern, next_fixed, next_following
from hub.core.errors import InvalidRequest
from hub.core.phrases import in_series, phrase

FIELDS = (phrase("minute"), phrase("hour"), phrase("day of month"), phrase("month"), phrase("weekday"))
ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MAX_LENGTH = 200
"""Characters of an expression: one that lists every value of every field is longer than anybody needs."""
MAX_YEARS_AHEAD = 50
"""29 February on a given weekday comes at most 40 years apart; what does not come in 50 never does."""

_SUNDAY_FIRST = (1, 2, 3, 4, 5, 6, 0)  # cron counts weekdays from Sunday, `date.weekday` from Monday
_DAY = timedelta(days=1)
_FROM_ZERO = {0: 60, 1: 24}


class Cron(Struct, frozen=True):
    """Due when the five fields match the clock of `zone`.

    An expression whose minute or hour field starts with `*` is an interval and follows real time through summer time.
    Any other is a fixed wall time: once in the doubled hour, and at the first valid instant after a missing one.

    Args:
        expression: Five fields or an alias such as `@daily`; read when it is first asked.
        zone: The time zone.
        stagger_s: Width in seconds of the spread: each occurrence comes by a constant offset in [0, stagger_s) later.
        seed: What the offset is derived from, such as the automation's id.

    Raises:
        InvalidRequest: `stagger_s` is negative or not a number.
    """

    expression: str
    zone: tzinfo
    stagger_s: float = 0.0
    seed: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.stagger_s) or self.stagger_s < 0:
            raise InvalidRequest(f"cron: stagger: expected seconds of 0 or more, got {self.stagger_s:g}")

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`, or None.

        Raises:
            InvalidRequest: The expression is wrong; the message names the field.
        """
        compiled = _compile(self.expression)
        offset_s = self.offset_s
        search = next_following if compiled.is_interval else next_fixed
        due = search(self.zone, after - offset_s, compiled.pattern.first_from)
        return None if due is None else due + offset_s

    @property
    def offset_s(self) -> int:
        """The stagger of this seed in whole seconds, the same on every machine and after every restart."""
        if self.stagger_s <= 1:
            return 0
        digest = hashlib.sha256(self.seed.encode()).digest()
        return int.from_bytes(digest[:8]) % math.ceil(self.stagger_s)


def check_cron(expression: str) -> None:
    """Check that `expression` can be parsed and ever comes due.

    Raises:
        InvalidRequest: It is wrong (the message names the field), or names a date that no year has.
    """
    if _compile(expression).pattern.next_day(date(2024, 1, 1)) is None:
        raise InvalidRequest(
            phrase(
                'cron: "{expression}" never occurs: no month it names has such a day of month', expression=expression
            ),
            details={"field": "day of month"},
        )


class _Compiled(Struct, frozen=True):
    pattern: WallPattern
    is_interval: bool


class _Days(Struct, frozen=True):
    """The days of an expression; a set that is None stands for `*`."""

    months: frozenset[int]
    days: frozenset[int] | None
    is_last_day: bool
    weekdays: frozenset[int] | None
    nth: tuple[tuple[int, frozenset[int | str]], ...]

    def next_day(self, day: date) -> date | None:
        """Return the first matching day at or after `day`, or None when there is none within `MAX_YEARS_AHEAD`."""
        last_year = day.year + MAX_YEARS_AHEAD
        while day.year <= last_year:
            if day.month not in self.months:
                day = (day.replace(day=1) + 31 * _DAY).replace(day=1)
                continue
            if self._matches(day):
                return day
            day += _DAY
        return None

    def _matches(self, day: date) -> bool:
        if self.nth:
            return self._day_matches(day) and any(_is_nth(day, weekday, which) for weekday, which in self.nth)
        if self.weekdays is None:
            return self._day_matches(day)
        is_weekday = _SUNDAY_FIRST[day.weekday()] in self.weekdays
        if self.days is None:
            return is_weekday
        return is_weekday or self._day_matches(day)

    def _day_matches(self, day: date) -> bool:
        if self.days is None or day.day in self.days:
            return True
        return self.is_last_day and (day + _DAY).day == 1


def _is_nth(day: date, weekday: int, which: frozenset[int | str]) -> bool:
    if _SUNDAY_FIRST[day.weekday()] != weekday:
        return False
    return (day.day - 1) // 7 + 1 in which or ("l" in which and (day + 7 * _DAY).month != day.month)


@lru_cache(maxsize=4096)
def _compile(expression: str) -> _Compiled:
    minute, hour, day, month, weekday = _fields(expression)
    try:
        minutes, hours, months = _values(0, minute), _values(1, hour), _values(3, month)
        days = _days(day, weekday, frozenset(months))
    except ValueError as error:
        raise _what_is_wrong(expression, (minute, hour, day, month, weekday)) from error
    return _Compiled(WallPattern(hours, minutes, (0,), days.next_day), minute.startswith("*") or hour.startswith("*"))


def _fields(expression: str) -> tuple[str, ...]:
    """Split an expression into its five fields, lower case.

    Raises:
        InvalidRequest: It is too long, an unknown alias, or has another number of fields.
    """
    text = expression.strip().lower()
    if len(text) > MAX_LENGTH:
        told = phrase(
            "cron: the expression has {count} characters; at most {limit} are read",
            count=len(text),
            limit=MAX_LENGTH,
        )
        raise InvalidRequest(told)
    if text.startswith("@") and text not in ALIASES:
        expected = phrase(
            'cron: expected one of {choices}, got "{expression}"', choices=[*ALIASES], expression=expression
        )
        hint = phrase("for the start of the hub there is the trigger `hub`")
        raise InvalidRequest(in_series([expected, hint] if text == "@reboot" else [expected]))
    fields = tuple(ALIASES.get(text, text).split())
    if len(fields) == len(FIELDS):
        return fields
    shape = " ".join(f"<{name}>" for name in FIELDS)
    if len(fields) == 6:
        raise InvalidRequest(
            phrase(
                'cron: "{expression}" has six fields; leave out the field of seconds (or of years): {shape}. '
                "For seconds use the trigger `every` or `time_pattern`.",
                expression=expression,
                shape=shape,
            ),
            details={"field": "second"},
        )
    wrong = phrase(
        'cron: "{expression}" has {count} fields, expected five: {shape}',
        expression=expression,
        count=len(fields),
        shape=shape,
    )
    if len(fields) > len(FIELDS):
        raise InvalidRequest(wrong, details={"field": "second"})
    missing = FIELDS[len(fields)]
    both = in_series([wrong, phrase("the field {name} is missing", name=missing)])
    raise InvalidRequest(both, details={"field": str(missing)})


def _what_is_wrong(expression: str, fields: Sequence[str]) -> InvalidRequest:
    """Find the field that cannot be parsed by itself."""
    for index, field in enumerate(fields):
        try:
            _expand(*("*" if other != index else field for other in range(len(FIELDS))))
        except ValueError:
            return InvalidRequest(
                phrase(
                    'cron: the {name} field "{field}" of "{expression}" is wrong; expected {expected}',
                    name=FIELDS[index],
                    field=field,
                    expression=expression,
                    expected=_EXPECTED[index],
                ),
                details={"field": str(FIELDS[index])},
            )
    return InvalidRequest(
        phrase(
            'cron: the weekday field "{field}" of "{expression}" mixes incompatible values: weekdays of the month '
            "such as fri#2 or l5 are written alone, with * as the day of month",
            field=fields[4],
            expression=expression,
        ),
        details={"field": str(FIELDS[4])},
    )


_EXPECTED = (
    phrase("0 to 59, *, */5, 0-30, or a list such as 0,30"),
    phrase("0 to 23, *, */2, 8-20, or a list such as 8,12,18"),
    phrase("1 to 31, *, */2, 1-15, L for the last, or a list such as 1,15"),
    phrase("1 to 12, jan to dec, *, */3, 4-10, or a list such as jan,jul"),
    phrase("0 to 7 (0 and 7 are Sunday), sun to sat, *, 1-5, fri#2 for the second Friday, L5 for the last, or a list"),
)


@lru_cache(maxsize=1024)
def _values(index: int, field: str) -> tuple[int, ...]:
    """Return the values of the minute, hour or month field, sorted."""
    fields = ["*"] * len(FIELDS)
    fields[index] = field
    values = _expand(*fields).expanded[index]
    if values == ["*"]:
        return tuple(range(1, 13)) if index == 3 else tuple(range(_FROM_ZERO[index]))
    return tuple(sorted(int(value) for value in values))


@lru_cache(maxsize=1024)
def _days(day: str, weekday: str, months: frozenset[int]) -> _Days:
    parsed = _expand("*", "*", day, "*", weekday)
    days, weekdays = parsed.expanded[2], parsed.expanded[4]
    nth = {number: frozenset(which) for number, which in parsed.nth_weekday_of_month.items()}
    if nth and days != ["*"]:
        raise ValueError("expected a day of the month or a weekday of the month, not both")
    return _Days(
        months=months,
        days=None if days == ["*"] else frozenset(value for value in days if isinstance(value, int)),
        is_last_day="l" in days,
        weekdays=None if weekdays == ["*"] else frozenset(int(value) for value in weekdays),
        nth=tuple(nth.items()),
    )


def _expand(*fields: str) -> Any:
    """Parse five fields with croniter.

    Raises:
        ValueError: One of them is wrong, or is of those that mean something else each time or to each reader.
    """
    from croniter import croniter  # type: ignore[import-untyped]

    if any(field[0] in "hr" for field in fields) or "w" in fields[2]:
        raise ValueError("hashed, random and nearest-weekday fields are not supported")
    return croniter(" ".join(fields), start_time=datetime(2024, 1, 1, tzinfo=UTC))
