"""Times as people and programs write them: `2026-05-01T07:00`, or an age: `7d`."""

from __future__ import annotations

from datetime import datetime, tzinfo

from hub.core.errors import InvalidRequest
from hub.core.schema import SchemaError, positive_seconds


def moment(text: str, now: float, zone: tzinfo, key: str) -> float:
    """Return seconds since the epoch.

    Args:
        text: ISO 8601, in the home's zone when it names none; a time of day (today); or a duration into the past.
        now: Seconds since the epoch.
        zone: The home's time zone.
        key: The parameter's name, for the error.

    Raises:
        InvalidRequest: It is none of these.
    """
    wanted = text.strip()
    today = datetime.fromtimestamp(now, zone)
    if len(wanted) in (5, 8) and wanted[2] == ":":
        wanted = f"{today.date().isoformat()}T{wanted}"
    try:
        found = datetime.fromisoformat(wanted)
        return (found if found.tzinfo is not None else found.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return now - float(positive_seconds(wanted))
    except SchemaError:
        raise InvalidRequest(
            f"{key}: expected a time such as 2026-05-01T07:00 or how long ago, such as 7d, got {text[:64]!r}"
        ) from None
