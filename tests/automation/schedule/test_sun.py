"""Sunrise and sunset: near the times an almanac prints, one a day, and none in the polar night."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from hub.automation.schedule.contract import due_between
from hub.automation.schedule.sun import SunCondition
from hub.core.errors import InvalidRequest
from hub.entities.sun import GeoPosition, Sun, SunEvent, sun_position

BERLIN = ZoneInfo("Europe/Berlin")
AT_BERLIN = GeoPosition(52.52, 13.405)
AT_TROMSO = GeoPosition(69.65, 18.96)
RISE, SET = SunEvent.SUNRISE, SunEvent.SUNSET
YEAR = 365 * 86400.0
START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def berlin(month: int, day: int, hour: int, minute: int = 0) -> float:
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("event", "month", "wanted"),
    [(RISE, 6, (4, 43)), (SET, 6, (21, 33)), (RISE, 12, (8, 15)), (SET, 12, (15, 54))],
)
def test_the_solstices_in_berlin_are_those_of_the_almanac(event: SunEvent, month: int, wanted: tuple[int, int]) -> None:
    due = Sun(event, AT_BERLIN).next_after(berlin(month, 21, 0))

    assert due is not None
    assert abs(due - berlin(month, 21, *wanted)) < 180


def test_an_offset_moves_it() -> None:
    plain = due_between(Sun(SET, AT_BERLIN), START, START + 20 * 86400)

    for offset_s in (-5400.0, 3600.0, -200_000.0, 200_000.0):
        moved = due_between(Sun(SET, AT_BERLIN, offset_s), START + offset_s, START + 20 * 86400 + offset_s)
        assert moved == pytest.approx([at + offset_s for at in plain])


@pytest.mark.parametrize("longitude", [-180, -157.4, -90.5, -74, 0, 13.4, 89.5, 90, 90.5, 100, 178.4, 180])
@pytest.mark.parametrize("event", [RISE, SET])
def test_it_comes_once_a_day_wherever_midnight_is(event: SunEvent, longitude: float) -> None:
    found = due_between(Sun(event, GeoPosition(40, longitude)), START, START + YEAR)

    gaps = [later - earlier for earlier, later in itertools.pairwise(found)]

    assert len(found) in (364, 365, 366)
    assert all(abs(gap - 86400) < 240 for gap in gaps)


def test_the_polar_night_and_the_midnight_sun_are_waited_out() -> None:
    night = Sun(RISE, AT_TROMSO).next_after(datetime(2026, 12, 1, tzinfo=UTC).timestamp())
    day = Sun(SET, AT_TROMSO).next_after(datetime(2026, 6, 1, tzinfo=UTC).timestamp())

    assert night is not None
    assert day is not None
    assert datetime.fromtimestamp(night, UTC).strftime("%Y-%m") == "2027-01"
    assert datetime.fromtimestamp(day, UTC).strftime("%Y-%m") == "2026-07"


@pytest.mark.parametrize(
    ("month", "hour", "is_up", "elevation"), [(6, 13, True, 61), (6, 1, False, -14), (12, 12, True, 14)]
)
def test_where_the_sun_stands(month: int, hour: int, is_up: bool, elevation: float) -> None:
    position = sun_position(AT_BERLIN, berlin(month, 21, hour))

    assert position.is_up is is_up
    assert abs(position.elevation - elevation) < 1
    assert position.next_rising is not None
    assert position.next_setting is not None


@pytest.mark.parametrize(
    ("condition", "times"),
    [
        (SunCondition(after=SET), [False, False, True]),
        (SunCondition(before=SET), [True, True, False]),
        (SunCondition(after=RISE), [False, True, True]),
        (SunCondition(before=RISE), [True, False, False]),
        (SunCondition(after=RISE, before=SET), [False, True, False]),
        (SunCondition(after=SET, before=RISE), [True, False, True]),
        (SunCondition(after=RISE, after_offset_s=8 * 3600), [False, False, True]),
        (SunCondition(before=SET, before_offset_s=3 * 3600), [True, True, True]),
    ],
)
def test_the_condition_holds_as_in_home_assistant(condition: SunCondition, times: list[bool]) -> None:
    hours = [3, 12, 23]

    assert [condition.holds(AT_BERLIN, BERLIN, berlin(6, 10, hour)) for hour in hours] == times


def test_the_condition_is_of_the_local_day_where_greenwich_has_another() -> None:
    zone, place = ZoneInfo("Pacific/Kiritimati"), GeoPosition(1.87, -157.4)
    evening = datetime(2026, 6, 10, 20, tzinfo=zone).timestamp()
    morning = datetime(2026, 6, 10, 5, tzinfo=zone).timestamp()

    assert SunCondition(after=SET).holds(place, zone, evening)
    assert not SunCondition(after=SET).holds(place, zone, morning)


def test_in_the_polar_night_it_is_night_and_nothing_else_holds() -> None:
    noon = datetime(2026, 12, 21, 11, tzinfo=UTC).timestamp()

    assert SunCondition(after=SET, before=RISE).holds(AT_TROMSO, BERLIN, noon)
    assert not SunCondition(after=RISE).holds(AT_TROMSO, BERLIN, noon)
    assert not SunCondition(before=SET).holds(AT_TROMSO, BERLIN, noon)


def test_under_the_midnight_sun_it_is_never_night() -> None:
    midnight = datetime(2026, 6, 21, 23, tzinfo=UTC).timestamp()

    assert not SunCondition(after=SET, before=RISE).holds(AT_TROMSO, BERLIN, midnight)


@pytest.mark.parametrize(("latitude", "longitude"), [(91, 0), (0, 181), (float("nan"), 0)])
def test_no_place_on_earth_is_refused(latitude: float, longitude: float) -> None:
    with pytest.raises(InvalidRequest, match="latitude"):
        GeoPosition(latitude, longitude)


def test_a_condition_on_nothing_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="before or after"):
        SunCondition()


def test_the_last_sunrise_before_the_polar_day_comes_after_a_sunset_of_the_same_night() -> None:
    tromso = GeoPosition(69.6492, 18.9553)
    begin = datetime(2026, 5, 17, 12, tzinfo=UTC).timestamp()

    sunset = Sun(SunEvent.SUNSET, tromso).next_after(begin)
    sunrise = Sun(SunEvent.SUNRISE, tromso).next_after(begin)

    assert sunset is not None
    assert sunrise is not None
    assert datetime.fromtimestamp(sunset, UTC).isoformat(timespec="minutes") == "2026-05-17T22:20+00:00"
    assert datetime.fromtimestamp(sunrise, UTC).isoformat(timespec="minutes") == "2026-05-17T22:58+00:00"
