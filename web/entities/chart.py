"""Draws numeric history as lines of one chart. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

WIDTH, HEIGHT, MARGIN = 600, 160, 4
COLUMNS = 96
"""Slices of the time, each of which says its values under the pointer."""
STYLES = (("--accent", ""), ("--focus", "8 4"), ("--good", "2 3"), ("--warn", "10 3 2 3"))
"""Colour and dashes of each line; so many lines can be shown at once."""


class PastOf(Struct, frozen=True):
    """The history of an entity: `points` with `time` and `state`, each valid until the next."""

    name: str
    unit: str
    points: Sequence[Mapping[str, Any]]


class ChartLine(Struct, frozen=True):
    """The line of an entity.

    Attributes:
        pieces: The points of each stretch in which it had a value.
        low, high: Its least and its greatest value.
    """

    name: str
    unit: str
    colour: str
    dashes: str
    pieces: Sequence[str]
    low: str
    high: str


class ChartColumn(Struct, frozen=True):
    """A time slice; `text` describes the entities, `is_gap` whether none had a value."""

    x: float
    width: float
    text: str
    is_gap: bool


class PastChart(Struct, frozen=True):
    """The lines, the slices, and the times below them."""

    lines: Sequence[ChartLine]
    columns: Sequence[ChartColumn]
    times: Sequence[str]


_Span = tuple[float, float, float | None]
"""From, until, and the value between; None where there was none."""


def past_chart(pasts: Sequence[PastOf], since: float, until: float, when: Callable[[float], str]) -> PastChart | None:
    """Draw the history of entities; those with the same unit share a scale. None if none had a number.

    Args:
        when: Writes a time.
    """
    known = [(past, list(_spans(past.points, since, until))) for past in pasts[: len(STYLES)]]
    drawn = [(past, spans) for past, spans in known if any(value is not None for _, _, value in spans)]
    if not drawn or until <= since:
        return None
    scales: dict[str, list[float]] = {}
    for past, spans in drawn:
        scales.setdefault(past.unit, []).extend(value for _, _, value in spans if value is not None)
    lines = []
    for (colour, dashes), (past, spans) in zip(STYLES, drawn, strict=False):
        values, scale = [value for _, _, value in spans if value is not None], scales[past.unit]
        pieces = _pieces(spans, since, until, min(scale), max(scale))
        lines.append(ChartLine(past.name, past.unit, colour, dashes, pieces, f"{min(values):g}", f"{max(values):g}"))
    step = (until - since) / COLUMNS
    columns = [_column(drawn, since + at * step, step, at, when) for at in range(COLUMNS)]
    return PastChart(lines, columns, [when(each) for each in (since, (since + until) / 2, until)])


def number_of(state: Any) -> float | None:
    """Return the number that a state is, or None."""
    try:
        value = float(state)
    except (TypeError, ValueError):
        return None
    return value if abs(value) < 1e15 else None


def _spans(points: Sequence[Mapping[str, Any]], since: float, until: float) -> Iterator[_Span]:
    for at, each in enumerate(points):
        end = points[at + 1]["time"] if at + 1 < len(points) else until
        if end > since:
            yield max(each["time"], since), end, number_of(each["state"])


def _pieces(spans: Sequence[_Span], since: float, until: float, low: float, high: float) -> list[str]:
    """Return the points of each stretch without a gap, in steps."""
    pieces: list[list[str]] = [[]]
    for start, end, value in spans:
        if value is None:
            pieces.append([])
            continue
        y = HEIGHT - MARGIN - (value - low) / ((high - low) or 1.0) * (HEIGHT - 2 * MARGIN)
        pieces[-1] += [f"{(time - since) / (until - since) * WIDTH:.1f},{y:.1f}" for time in (start, end)]
    return [" ".join(piece) for piece in pieces if piece]


def _column(
    drawn: Sequence[tuple[PastOf, Sequence[_Span]]], start: float, step: float, at: int, when: Callable[[float], str]
) -> ChartColumn:
    said, is_gap = [when(start + step / 2)], True
    for past, spans in drawn:
        values = [value for begin, end, value in spans if value is not None and begin < start + step and end > start]
        low, high = (f"{min(values):g}", f"{max(values):g}") if values else ("–", "–")
        said.append(f"{past.name}: {low if low == high else f'{low} … {high}'} {past.unit if values else ''}".rstrip())
        is_gap = is_gap and not values
    width = WIDTH / COLUMNS
    return ChartColumn(round(at * width, 2), round(width, 2), "\n".join(said), is_gap)
