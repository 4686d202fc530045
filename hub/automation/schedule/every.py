"""`every`: a fixed interval from an anchor, in elapsed time; time zones do not affect it."""

from __future__ import annotations

import math

from msgspec import Struct

from hub.core.errors import InvalidRequest

MIN_INTERVAL_S = 1.0


class Every(Struct, frozen=True):
    """Due at `anchor`, and every `interval_s` seconds from then on.

    Args:
        interval_s: Seconds between two due times, at least 1.
        anchor: Seconds since the epoch of the first one. The epoch itself, the default, makes whole hours and days
            fall on those of UTC.

    Raises:
        InvalidRequest: The interval is shorter than a second or not a number, or the anchor is not one.
    """

    interval_s: float
    anchor: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.interval_s) or self.interval_s < MIN_INTERVAL_S:
            raise InvalidRequest(
                f"every: expected an interval of at least {MIN_INTERVAL_S:g} s, got {self.interval_s:g} s",
                details={"field": "every"},
            )
        if not math.isfinite(self.anchor):
            raise InvalidRequest("every: expected an anchor in seconds since the epoch", details={"field": "anchor"})

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`; there always is one."""
        if after < self.anchor:
            return self.anchor
        steps = math.floor((after - self.anchor) / self.interval_s) + 1
        due = self.anchor + steps * self.interval_s
        return due if due > after else self.anchor + (steps + 1) * self.interval_s
