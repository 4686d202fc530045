"""Usage by day, in stacked parts: the chart and its legend. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from msgspec import Struct

SERIES = 5
"""Colours there are; when there are more parts, the last one is for all others."""


class UsageChart(Struct, frozen=True):
    """A bar for each day.

    Attributes:
        days: The oldest first, also those without use.
        names: The names of the parts, the largest first; None is the rest.
        values: Of each day, the value of each part.
    """

    days: Sequence[str]
    names: Sequence[str | None]
    values: Sequence[Sequence[float]]


def stack_rows(rows: Sequence[Mapping[str, Any]], by: str, measure: str, days: int, today: date) -> UsageChart:
    """Return the chart of sums by day.

    Args:
        rows: The rows of `models.usage` with `by` and `each_day`.
        by: Under which key their names are.
        measure: tokens or cost_usd.
        days: How many, with today.
    """
    shown = [(today - timedelta(days=back)).isoformat() for back in reversed(range(days))]
    sums: dict[str, float] = {}
    for row in rows:
        if row["day"] in shown:
            sums[row[by]] = sums.get(row[by], 0.0) + (row[measure] or 0.0)
    names: list[str | None] = [*sorted(sums, key=lambda name: (-sums[name], name))]
    if len(names) > SERIES:
        names = [*names[: SERIES - 1], None]
    values = {day: [0.0] * len(names) for day in shown}
    for row in rows:
        if row["day"] in values:
            place = names.index(row[by]) if row[by] in names else len(names) - 1
            values[row["day"]][place] += row[measure] or 0.0
    return UsageChart(shown, names, list(values.values()))
