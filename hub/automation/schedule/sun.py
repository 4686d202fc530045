"""`sun`: the condition on sunrise and sunset."""

from __future__ import annotations

from datetime import date, timedelta, tzinfo

from msgspec import Struct

from hub.automation.schedule.wall import local
from hub.core.errors import InvalidRequest
from hub.entities.sun import GeoPosition, SunEvent, event_on, sun_position

_DAY = timedelta(days=1)


class SunCondition(Struct, frozen=True):
    """The `sun` condition of Home Assistant: before and after sunrise or sunset of the local day, with offsets.

    Before sunrise together with after sunset means the night: one of the two is enough. In every other pair both must
    hold. On a day without the event in question the condition does not hold, except that night is while the sun is
    down.

    Raises:
        InvalidRequest: Neither `before` nor `after` is given.
    """

    before: SunEvent | None = None
    after: SunEvent | None = None
    before_offset_s: float = 0.0
    after_offset_s: float = 0.0

    def __post_init__(self) -> None:
        if self.before is None and self.after is None:
            raise InvalidRequest("sun: expected before or after: sunrise or sunset")

    def holds(self, place: GeoPosition, zone: tzinfo, now: float) -> bool:
        """Return whether the condition holds at `place` in the time zone `zone`, at `now` (seconds since the epoch)."""
        today = local(now, zone).date()
        until = None if self.before is None else _local_event(self.before, place, today, zone)
        since = None if self.after is None else _local_event(self.after, place, today, zone)
        if self.before is SunEvent.SUNRISE and self.after is SunEvent.SUNSET:
            if until is None or since is None:
                return not sun_position(place, now).is_up
            return now < until + self.before_offset_s or now > since + self.after_offset_s
        if self.before is not None and (until is None or now > until + self.before_offset_s):
            return False
        return self.after is None or (since is not None and now >= since + self.after_offset_s)


def _local_event(event: SunEvent, place: GeoPosition, day: date, zone: tzinfo) -> float | None:
    """Return the time of `event` on the local day, which may be the solar day before or after."""
    for near in (day - _DAY, day, day + _DAY):
        at = event_on(event, place, near)
        if at is not None and local(at, zone).date() == day:
            return at
    return None
