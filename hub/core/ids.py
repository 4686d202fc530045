"""Identifiers that sort by creation time."""

from __future__ import annotations

import os
import time


def new_id() -> str:
    """Return a fresh identifier: 12 hex digits of milliseconds, then 20 random ones (80 bits)."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"
