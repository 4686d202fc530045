"""Durations for people: phrases."""

from __future__ import annotations

from hub.automation.definition.phrases import span
from hub.core.phrases import phrase

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
EXACT_MINUTES = 10
"""From so many on nobody asks for the seconds."""


def duration_text(seconds: float) -> str:
    """Return a duration: `12 ms`, `3.4 s`, `2 min 5 s`, `30 min`, `1 h 2 min`, `2 d 5 h`."""
    if seconds < 0.9995:
        return phrase("{count} ms", count=round(seconds * 1000))
    if seconds < 59.95:
        return phrase("{count} s", count=f"{seconds:.1f}")
    unit = 1 if seconds < EXACT_MINUTES * MINUTE_S else MINUTE_S if seconds < DAY_S else HOUR_S
    return span(round(seconds / unit) * unit)
