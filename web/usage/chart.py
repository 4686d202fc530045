"""A bar for each day, as coordinates: drawn by the server, so that it needs no script. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from msgspec import Struct

from hub.sessions.usage_sums import tokens_of

WIDTH, HEIGHT = 600.0, 120.0
GAP = 0.2
"""The part of a day's place that stays empty."""


class UsageBar(Struct, frozen=True):
    """One day: its place, and what it stands for."""

    day: str
    value: float
    x: float
    y: float
    width: float
    height: float


def daily(rows: Sequence[Mapping[str, Any]], days: int, today: date) -> list[dict[str, Any]]:
    """Return calls, tokens and cost of each day, the oldest first, also of those without use."""
    sums = {
        (today - timedelta(days=back)).isoformat(): {"calls": 0, "tokens": 0, "cost_usd": 0.0}
        for back in reversed(range(days))
    }
    for row in rows:
        if (found := sums.get(row["day"])) is not None:
            found["calls"] += row["calls"]
            found["tokens"] += tokens_of(row)
            found["cost_usd"] += row["cost_usd"] or 0.0
    return [{"day": day, **each} for day, each in sums.items()]


def bars(days: Sequence[Mapping[str, Any]], measure: str) -> list[UsageBar]:
    """Return the bars of a measure; the highest takes the whole height."""
    place = WIDTH / max(1, len(days))
    top = max((float(each[measure]) for each in days), default=0.0)
    found = []
    for index, each in enumerate(days):
        value = float(each[measure])
        height = HEIGHT * value / top if top > 0 else 0.0
        x = place * (index + GAP / 2)
        width = place * (1 - GAP)
        found.append(UsageBar(each["day"], value, *(round(n, 2) for n in (x, HEIGHT - height, width, height))))
    return found
