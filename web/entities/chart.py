"""The past of entities as numbers that a chart draws. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

SPARK_SLICES = 48
JUST_BEFORE_S = 0.001
LINES_LIMIT = 4
"""The most entities that can be distinguished in one chart."""
TWO_STATES: Mapping[str, float] = {
    **dict.fromkeys(("on", "open", "home", "unlocked", "playing", "heat", "cleaning"), 1.0),
    **dict.fromkeys(("off", "closed", "not_home", "locked", "paused", "idle", "docked"), 0.0),
}
"""States that are drawn as one or nought."""


class PastOf(Struct, frozen=True):
    """The history of an entity: `points` with `time` and `state`, each valid until the next."""

    name: str
    unit: str
    points: Sequence[Mapping[str, Any]]


class ChartSeries(Struct, frozen=True):
    """One line, as `chart.js` draws it.

    Attributes:
        values: One for each time; None where there was none.
        words: The meanings of 0 and 1; empty for a number.
    """

    name: str
    unit: str
    values: Sequence[float | None]
    words: Sequence[str] = ()


class PastChart(Struct, frozen=True):
    """Times in seconds since the epoch, and the lines."""

    times: Sequence[float]
    series: Sequence[ChartSeries]


def past_chart(pasts: Sequence[PastOf], since: float, until: float) -> PastChart | None:
    """Return the lines of entities on one axis. None when none of them can be drawn."""
    drawn = [found for each in pasts[:LINES_LIMIT] if (found := _drawn(each)) is not None]
    if not drawn or until <= since:
        return None
    # A step reaches to the next value only: where there is none, one is set just before.
    steps = {time for _, points in drawn for time, _ in points}
    steps |= {time - JUST_BEFORE_S for _, points in drawn for time, value in points if value is None}
    times = sorted({since, until, *(time for time in steps if since < time < until)})
    series = []
    for past, points in drawn:
        values: list[float | None] = []
        at, now = 0, None
        for time in times:
            while at < len(points) and points[at][0] <= time:
                now, at = points[at][1], at + 1
            values.append(now)
        words = _words(past)
        series.append(ChartSeries(past.name, "" if words else past.unit, values, words))
    return PastChart(times, series)


def spark_points(points: Sequence[Mapping[str, Any]], since: float, until: float) -> list[float | None]:
    """Return the past of a number as points between 0 and 1, one for each slice of the time."""
    values: list[float | None] = []
    at, now, step = 0, None, (until - since) / SPARK_SLICES
    for slice in range(1, SPARK_SLICES + 1):
        while at < len(points) and points[at]["time"] <= since + slice * step:
            now, at = number_of(points[at]["state"]), at + 1
        values.append(now)
    known = [each for each in values if each is not None]
    if not known:
        return []
    low, high = min(known), max(known)
    return [None if each is None else (each - low) / (high - low) if high > low else 0.5 for each in values]


def number_of(state: Any) -> float | None:
    """Return the number that a state is, or None."""
    try:
        value = float(state)
    except (TypeError, ValueError):
        return None
    return value if abs(value) < 1e15 else None


def _drawn(past: PastOf) -> tuple[PastOf, list[tuple[float, float | None]]] | None:
    read = TWO_STATES.get if _words(past) else number_of
    points = [(each["time"], read(each["state"])) for each in past.points]
    return (past, points) if any(value is not None for _, value in points) else None


def _words(past: PastOf) -> list[str]:
    """Return the states that nought and one are, of what never was a number."""
    if any(number_of(each["state"]) is not None for each in past.points):
        return []
    found = {value: each["state"] for each in past.points if (value := TWO_STATES.get(each["state"] or "")) is not None}
    return [found.get(0.0, ""), found.get(1.0, "")] if found else []
