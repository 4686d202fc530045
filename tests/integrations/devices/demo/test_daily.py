"""A day in the demo home: pure functions of the time."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from integrations.devices.demo import daily

MONDAY = datetime(2026, 11, 23, tzinfo=ZoneInfo("Europe/Berlin"))
HALF_HOURS = [MONDAY + timedelta(minutes=30 * step) for step in range(14 * 48)]


def test_a_value_is_the_same_at_every_look() -> None:
    value = daily.wave("kitchen", 22, 1, 19, 0.4)

    assert [value(each) for each in HALF_HOURS] == [value(each) for each in HALF_HOURS]


def test_a_temperature_goes_slowly() -> None:
    value = daily.wave("kitchen", 22, 1, 19, 0.4)

    steps = [abs(value(each + timedelta(minutes=1)) - value(each)) for each in HALF_HOURS]

    assert max(steps) < 0.2


def test_everybody_is_away_on_a_working_day_and_at_home_at_night() -> None:
    for person in ("ada", "ben", "mia"):
        assert not daily.is_home(person, MONDAY.replace(hour=11))
        assert daily.is_home(person, MONDAY.replace(hour=2))


def test_the_washer_runs_every_second_day_and_is_quiet_in_between() -> None:
    washed = {each.date() for each in HALF_HOURS if daily.is_washing(each)}

    assert len(washed) == 7
    assert all(daily.washer_power(each) < 5 for each in HALF_HOURS if not daily.is_washing(each))


def test_the_sun_does_not_shine_at_night() -> None:
    assert daily.solar_power(MONDAY.replace(hour=3)) == 0
    assert daily.solar_power(MONDAY.replace(hour=12)) > 500
