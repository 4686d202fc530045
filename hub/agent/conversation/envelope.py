"""The envelope: facts that the hub puts before a user's words, so that the system prompt can stay the same. Pure."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from functools import lru_cache

NAME_LIMIT = 64

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\[\]]+")


def envelope(ts_ms: int, zone: tzinfo, *, channel: str | None = None, sender: str | None = None) -> str:
    """Return one line in brackets that says when, where and by whom something was said.

    Args:
        ts_ms: Milliseconds since the epoch.
        zone: The home's time zone.
        channel: The channel it came by.
        sender: The sender's name as given by the channel; sanitized here.
    """
    facts = [_minute(ts_ms // 60_000, zone)]
    if channel:
        facts.append(channel)
    if name := harmless_name(sender):
        facts.append(f"from {name}")
    return f"[{', '.join(facts)}]"


@lru_cache(maxsize=64)
def _minute(minute: int, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(minute * 60, zone):%a %Y-%m-%d %H:%M %Z}".rstrip()


def harmless_name(name: str | None) -> str:
    """Return a name from outside as a few plain words without brackets; names never authorise."""
    return " ".join(_UNSAFE.sub(" ", name or "").split())[:NAME_LIMIT].rstrip()
