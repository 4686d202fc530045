"""How reasons and explanations say things: spans of time, times of day, lists. English, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_SHOWN = 80


def span(seconds: float) -> str:
    """Return a span of time as people say it: `1 h 30 min`, `45 s`, `0.5 s`."""
    left = round(seconds, 3)
    parts = []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{int(left // size)} {unit}")
            left = round(left % size, 3)
    if left or not parts:
        parts.append(f"{left:g} s")
    return " ".join(parts[:2])


def span_of(value: Any) -> str:
    """Return a `dynamic_duration` as people say it; a template is shown as it is."""
    if isinstance(value, (int, float)):
        return span(value)
    if isinstance(value, Mapping):
        return " ".join(f"{amount} {unit}" for unit, amount in value.items())
    return shown(value)


def time_of_day(seconds: int) -> str:
    """Return seconds since midnight as `07:30`, or `07:30:15`."""
    text = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


def listed(items: Iterable[str], word: str = "and") -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    found = list(items)
    if len(found) < 2:
        return "".join(found)
    return f"{', '.join(found[:-1])} {word} {found[-1]}"


def shown(value: Any) -> str:
    """Return a value on one line, cut when it is long; text without quotes."""
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def days(weekdays: Sequence[str]) -> str:
    """Return weekdays as `Monday to Friday`, `Saturday and Sunday`, or each by name."""
    order = list(_DAYS)
    places = sorted(order.index(each) for each in weekdays)
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{_DAYS[order[places[0]]]} to {_DAYS[order[places[-1]]]}"
    return listed(_DAYS[order[place]] for place in places)


_DAYS = {
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}
