"""Sunrise and sunset at a place, and where the sun is."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from hub.core.errors import InvalidRequest

MAX_DAYS_AHEAD = 400
"""Beyond the polar circle half a year may pass without sunrise or sunset, never so many days."""

_DAY = timedelta(days=1)
_DEGREE_S = 240.0
"""The sun takes so long for a degree."""
_HALF_DAY_S = 12 * 3600.0
_SLACK_S = 3600.0
"""Sundials and clocks differ by a quarter of an hour over the year; refraction adds to it in the far north."""
_LATEST = datetime(9990, 1, 1, tzinfo=UTC).timestamp()
_EARLIEST = datetime(1901, 1, 1, tzinfo=UTC).timestamp()


class SunEvent(StrEnum):
    """What the sun does at the horizon."""

    SUNRISE = "sunrise"
    SUNSET = "sunset"


class GeoPosition(Struct, frozen=True):
    """A point on the earth: degrees north, degrees east, metres above the sea.

    Raises:
        InvalidRequest: Latitude or longitude is out of range.
    """

    latitude: float
    longitude: float
    elevation_m: float = 0.0

    def __post_init__(self) -> None:
        if not (abs(self.latitude) <= 90 and abs(self.longitude) <= 180 and math.isfinite(self.elevation_m)):
            raise InvalidRequest(
                "sun: expected a latitude from -90 to 90 and a longitude from -180 to 180, "
                f"got {self.latitude:g}, {self.longitude:g}"
            )


class Sun(Struct, frozen=True):
    """Due at each sunrise or sunset of a place, `offset_s` seconds later (earlier when negative)."""

    event: SunEvent
    place: GeoPosition
    offset_s: float = 0.0

    def next_after(self, after: float) -> float | None:
        """Return the first due time strictly after `after`; None when there is none within `MAX_DAYS_AHEAD`."""
        begin = after - self.offset_s
        if begin > _LATEST:
            return None
        day = datetime.fromtimestamp(max(begin, _EARLIEST), UTC).date() - _DAY
        for ahead in range(MAX_DAYS_AHEAD + 2):
            at = event_on(self.event, self.place, day + ahead * _DAY)
            if at is not None and at + self.offset_s > after:
                return at + self.offset_s
        return None


class SunPosition(Struct, frozen=True):
    """The position of the sun: degrees above the horizon and from north, and its next events (None: not for long)."""

    elevation: float
    azimuth: float
    is_up: bool
    next_rising: float | None
    next_setting: float | None


def sun_position(place: GeoPosition, now: float) -> SunPosition:
    """Return the position of the sun over `place` at `now` (seconds since the epoch).

    It is up from sunrise to sunset, while the upper rim shows: a little longer than its middle is above the horizon.
    """
    from astral import Observer
    from astral.sun import azimuth, elevation

    observer = Observer(place.latitude, place.longitude, place.elevation_m)
    at = datetime.fromtimestamp(now, UTC)
    rising = Sun(SunEvent.SUNRISE, place).next_after(now)
    setting = Sun(SunEvent.SUNSET, place).next_after(now)
    degrees = elevation(observer, at)
    is_up = setting < rising if rising is not None and setting is not None else degrees > 0
    return SunPosition(degrees, azimuth(observer, at), is_up, rising, setting)


def next_times(place: GeoPosition, now: float) -> dict[str, float | None]:
    """Return when dawn, dusk, noon and midnight of the sun come next, by name; None for what does not come for long."""
    from astral import Observer, sun

    observer = Observer(place.latitude, place.longitude, place.elevation_m)
    found: dict[str, float | None] = {}
    today = datetime.fromtimestamp(now, UTC).date() - _DAY
    for name in ("dawn", "dusk", "midnight", "noon"):
        found[name] = None
        for ahead in range(MAX_DAYS_AHEAD + 2):
            try:
                at: float = getattr(sun, name)(observer, today + ahead * _DAY).timestamp()
            except ValueError:  # it does not get dark, or light, on that day
                continue
            if at > now:
                found[name] = at
                break
    return found


@lru_cache(maxsize=4096)
def event_on(event: SunEvent, place: GeoPosition, day: date) -> float | None:
    """Return the time of `event` on a day of the place's own solar time, or None.

    astral counts days at Greenwich. Where an event drifts over midnight there, two of its days name the same event, or
    one falls between two of them; the latter is the mean of its neighbours, good to a minute.
    """
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() - place.longitude * _DEGREE_S
    latest = noon + (_SLACK_S if event is SunEvent.SUNRISE else _HALF_DAY_S + _SLACK_S)
    here = _transit(event, place, day)
    if here is not None and here <= latest:
        return here
    before = _transit(event, place, day - _DAY)
    if here is None:  # the last event before the sun stays up, or down, may be counted to the day before
        return before if before is not None and before > latest - 2 * _HALF_DAY_S else None
    if before is None or latest - before < 2 * _HALF_DAY_S:
        return before
    return (before + here) / 2


def _transit(event: SunEvent, place: GeoPosition, day: date) -> float | None:
    """The event that astral counts to `day`: that of the solar day, or of the next one."""
    from astral import Observer, SunDirection
    from astral.sun import SUN_APPARENT_RADIUS, time_of_transit

    observer = Observer(place.latitude, place.longitude, place.elevation_m)
    direction = SunDirection.RISING if event is SunEvent.SUNRISE else SunDirection.SETTING
    try:
        return time_of_transit(observer, day, 90.0 + SUN_APPARENT_RADIUS, direction).timestamp()
    except ValueError:  # the sun does not touch the horizon on that day
        return None
