"""Durations for people."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """Return a duration: `12 ms`, `3.4 s`, `2:05 min`, `1:02:03 h`."""
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"
