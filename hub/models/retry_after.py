"""A server's advice when to retry: in its headers, its body, or its words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from hub.core.lazy_pattern import LazyPattern

LIMIT_S = 24 * 3600.0

# Larger numbers than these are moments, not durations.
_EPOCH_S = 1_000_000_000.0
_EPOCH_MS = 1_000_000_000_000.0

_RESET_HEADERS = (
    "x-ratelimit-reset",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "ratelimit-reset",
)
_DURATION = LazyPattern(r"^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$")
_WORDS = LazyPattern(
    r"(?:try again|retry|available|retrydelay|reset)\W{0,8}(?:in|after)?\W{0,8}"
    r"((?:\d+h)?(?:\d+m(?!s))?\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|min|minutes?)\b",
    re.IGNORECASE,
)


def retry_after_s(headers: Mapping[str, str], body: str, now: float) -> float | None:
    """Return seconds to wait, or None without advice; at most a day, never negative.

    Args:
        headers: Names in any case.
        body: The server's answer.
        now: Seconds since the epoch, for moments.
    """
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    if (ms := _number(lower.get("retry-after-ms"))) is not None:
        return _bounded(ms / 1000)
    if (after := lower.get("retry-after")) and (seconds := _moment_or_duration(after, now)) is not None:
        return _bounded(seconds)
    if found := _WORDS.search(body):
        return _bounded(_worded(found[1], found[2].lower()))
    resets = [
        seconds
        for name in _RESET_HEADERS
        if (value := lower.get(name)) and (seconds := _moment_or_duration(value, now)) is not None
    ]
    return _bounded(max(resets)) if resets else None


def _moment_or_duration(value: str, now: float) -> float | None:
    number = _number(value)
    if number is not None:
        if number >= _EPOCH_MS:
            return number / 1000 - now
        return number - now if number >= _EPOCH_S else number
    if value and (match := _DURATION.match(value)):
        days, hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() - now


def _worded(amount: str, unit: str) -> float:
    match = re.match(r"(?:(\d+)h)?(?:(\d+)m)?(\d+(?:\.\d+)?)$", amount)
    hours, minutes, rest = (float(part or 0) for part in match.groups()) if match else (0.0, 0.0, 0.0)
    if unit.startswith(("ms", "millisecond")):
        rest /= 1000
    elif unit.startswith("m"):
        rest *= 60
    return hours * 3600 + minutes * 60 + rest


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else None
    except ValueError:
        return None
    if number is None or number != number or abs(number) == float("inf"):
        return None
    return number


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LIMIT_S)
