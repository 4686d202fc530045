"""The past of a number as the points of a filled line. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

WIDTH, HEIGHT = 600, 120


class PastChart(Struct, frozen=True):
    """A line to draw, and the least and the greatest value in it."""

    points: str
    low: float
    high: float


def past_chart(points: Sequence[Mapping[str, Any]], since: float, until: float) -> PastChart | None:
    """Return the line of an entity's past: each value holds until the next; None for what is no number."""
    found = [(each["time"], value) for each in points if (value := _number(each["state"])) is not None]
    if not found or until <= since:
        return None
    low, high = min(value for _, value in found), max(value for _, value in found)
    span = (high - low) or 1.0

    def place(time: float, value: float) -> str:
        x = (max(time, since) - since) / (until - since) * WIDTH
        y = HEIGHT - 4 - (value - low) / span * (HEIGHT - 8)
        return f"{x:.1f},{y:.1f}"

    line = [f"{(found[0][0] - since) / (until - since) * WIDTH:.1f},{HEIGHT}"]
    for index, (time, value) in enumerate(found):
        end = found[index + 1][0] if index + 1 < len(found) else until
        line += [place(time, value), place(end, value)]
    return PastChart(" ".join([*line, f"{WIDTH},{HEIGHT}"]), low, high)


def _number(state: Any) -> float | None:
    try:
        value = float(state)
    except (TypeError, ValueError):
        return None
    return value if abs(value) < 1e15 else None
