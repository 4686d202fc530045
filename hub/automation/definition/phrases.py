"""Phrases of reasons and explanations: spans of time, times of day, lists, weekdays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hub.core.phrases import phrase

_SHOWN = 80


def span(seconds: float) -> str:
    """Return a duration in words: `1 h 30 min`, `45 s`, `0.5 s`."""
    left = round(seconds, 3)
    parts: list[str] = []
    if left >= 86_400:
        parts.append(phrase("{count} d", count=int(left // 86_400)))
        left = round(left % 86_400, 3)
    if left >= 3_600:
        parts.append(phrase("{count} h", count=int(left // 3_600)))
        left = round(left % 3_600, 3)
    if left >= 60:
        parts.append(phrase("{count} min", count=int(left // 60)))
        left = round(left % 60, 3)
    if left or not parts:
        parts.append(phrase("{count} s", count=f"{left:g}"))
    return parts[0] if len(parts) == 1 else phrase("{first} {second}", first=parts[0], second=parts[1])


def span_of(value: Any) -> str:
    """Return a `dynamic_duration` in words; a template is shown unchanged."""
    if isinstance(value, (int, float)):
        return span(value)
    if isinstance(value, Mapping):
        return " ".join(f"{amount} {unit}" for unit, amount in value.items())
    return value_text(value)


def time_of_day(seconds: int) -> str:
    """Return seconds since midnight as `07:30`, or `07:30:15`."""
    text = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


def join_words(items: Iterable[str], word: str = "and") -> str:
    """Return `a`, `a and b`, or `a, b and c`; with `or` when `word` says so."""
    found = list(items)
    if len(found) < 2:
        return found[0] if found else ""
    if word == "or":
        return phrase("{others} or {last}", others=found[:-1], last=found[-1])
    return phrase("{others} and {last}", others=found[:-1], last=found[-1])


def all_of(items: Iterable[str]) -> str:
    """Return clauses joined by `and`: `a and b and c`."""
    first, *others = [*items] or [""]
    for each in others:
        first = phrase("{first} and {second}", first=first, second=each)
    return first


def any_of(items: Iterable[str]) -> str:
    """Return clauses joined by `or`: `a or b or c`."""
    first, *others = [*items] or [""]
    for each in others:
        first = phrase("{first} or {second}", first=first, second=each)
    return first


def explain_range(config: Mapping[str, Any]) -> str:
    """Return the bounds of a number: `above 5 and below 8`."""
    bounds = []
    if (above := config.get("above")) is not None:
        bounds.append(phrase("above {bound}", bound=f"{above:g}" if isinstance(above, float) else above))
    if (below := config.get("below")) is not None:
        bounds.append(phrase("below {bound}", bound=f"{below:g}" if isinstance(below, float) else below))
    return all_of(bounds)


def problem_texts(problems: Mapping[str, str]) -> str:
    """Return the problems of triggers, by position, one a line."""
    lines: list[str] = [
        phrase("trigger {number}: {text}", number=int(place) + 1 if place.isdigit() else place, text=text)
        for place, text in problems.items()
    ]
    first, *others = lines or [""]
    for each in others:
        first = phrase("{first}\n{second}", first=first, second=each)
    return first


def value_text(value: Any) -> str:
    """Return a value on one line, cut when it is long; text without quotes."""
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def quote(value: Any) -> str:
    """Return a name, an address or a text in quotation marks, on one line."""
    return f"“{value_text(value)}”"


def days(weekdays: Sequence[str], word: str = "and") -> str:
    """Return weekdays as `Monday to Friday`, `Saturday and Sunday`, or each by name; `word` may be "or"."""
    order = list(_DAYS)
    places = sorted(order.index(each) for each in weekdays)
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return phrase("{first} to {last}", first=_DAYS[order[places[0]]], last=_DAYS[order[places[-1]]])
    return join_words((_DAYS[order[place]] for place in places), word)


SUN_EVENTS = {"sunrise": phrase("sunrise"), "sunset": phrase("sunset")}

_DAYS = {
    "mon": phrase("Monday"),
    "tue": phrase("Tuesday"),
    "wed": phrase("Wednesday"),
    "thu": phrase("Thursday"),
    "fri": phrase("Friday"),
    "sat": phrase("Saturday"),
    "sun": phrase("Sunday"),
}
