"""Identifiers that sort by the time they were made."""

from __future__ import annotations

import os
import time

_DRAWN = 64
_random: list[str] = []
# What was drawn before a fork is the parent's alone.
os.register_at_fork(after_in_child=_random.clear)


def new_id() -> str:
    """Return a fresh identifier: 12 hex digits of milliseconds, then 20 random ones (80 bits)."""
    try:
        random = _random.pop()
    except IndexError:
        drawn = os.urandom(10 * _DRAWN).hex()
        random, *rest = (drawn[at : at + 20] for at in range(0, len(drawn), 20))
        _random.extend(rest)
    return f"{time.time_ns() // 1_000_000:012x}{random}"
