"""Durations for people."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """Return a duration: `12 ms`, `3.4 s`, `2:05 min`, `30 min`, `1:02:03 h`, `2 h`."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if minutes or rest else f"{hours} h"
