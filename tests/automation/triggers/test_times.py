"""The triggers of time: at, every, cron, time, time_pattern, sun; what is missed, and what the next one is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.schema import Invalid
from tests.automation.triggers.bench import START, Bench, BenchSite, explained, valid

HOUR, DAY = 3_600.0, 86_400.0
LAST = {"mode": "last", "within": None}


def planned(site: BenchSite) -> list[str]:
    """Return when what fired was due, as the home's clock shows it."""
    return [fired.trigger["planned"].strftime("%d %H:%M:%S") for fired in site.fired]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"trigger": "at"}, "at"),
        ({"trigger": "at", "at": "tomorrow"}, "date with a time"),
        ({"trigger": "at", "at": "2026-03-01"}, "no time of day"),
        ({"trigger": "at", "at": "20m", "time_zone": "Mars/North"}, "time zone"),
        ({"trigger": "every", "every": 0.5}, "one second"),
        ({"trigger": "every", "every": "often"}, "duration"),
        ({"trigger": "every", "every": "2h", "anchor": "noon"}, "date with a time"),
        ({"trigger": "cron", "expression": "* * *"}, "expected five"),
        ({"trigger": "cron", "expression": "61 * * * *"}, "minute"),
        ({"trigger": "cron", "expression": "0 0 31 2 *"}, "never occurs"),
        ({"trigger": "cron", "expression": "0 7 * * *", "stagger": -5}, "duration"),
        ({"trigger": "time", "at": "25:00"}, "time of day"),
        ({"trigger": "time", "at": []}, "nothing"),
        ({"trigger": "time", "at": ["07:30", "noon"]}, "time of day"),
        ({"trigger": "time", "at": "07:30", "weekday": "monday"}, "mon"),
        ({"trigger": "time", "at": {"offset": "1h"}}, "entity_id"),
        ({"trigger": "time", "at": {"entity_id": "sensor.x", "offset": "soon"}}, "duration"),
        ({"trigger": "time_pattern"}, "hours, minutes and seconds"),
        ({"trigger": "time_pattern", "minutes": "/0"}, "0 to 59"),
        ({"trigger": "time_pattern", "hours": 24}, "0 to 23"),
        ({"trigger": "sun", "event": "noon"}, "event"),
        ({"trigger": "sun", "event": "sunset", "offset": "half an hour"}, "duration"),
    ],
)
def test_mistakes_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        valid(config)


# --- at ---


async def test_at_fires_once_at_its_instant(bench: Bench) -> None:
    site = bench.arm({"trigger": "at", "at": "2026-01-01 07:30"}, since=START)

    await bench.clock.advance(7.5 * HOUR)
    await bench.clock.advance(DAY)

    assert planned(site) == ["01 07:30:00"]
    assert site.fired[0].planned == START + 7.5 * HOUR
    assert site.fired[0].trigger["now"] == datetime(2026, 1, 1, 7, 30, tzinfo=UTC)
    assert site.fired[0].context is None


@pytest.mark.parametrize(("at", "due"), [("20m", 20 * 60.0), ("02:00", 2 * HOUR)])
async def test_what_is_relative_counts_from_when_it_was_first_armed(bench: Bench, at: str, due: float) -> None:
    await bench.clock.advance(600)

    site = bench.arm({"trigger": "at", "at": at}, since=START)
    await bench.clock.advance(2 * DAY)

    assert [fired.planned for fired in site.fired] == [START + due]


async def test_at_does_not_fire_again_once_it_was_handled(bench: Bench) -> None:
    await bench.clock.advance(DAY)

    site = bench.arm({"trigger": "at", "at": "20m"}, since=START, last=START + 1_200, catch_up=LAST)
    await bench.clock.advance(DAY)

    assert site.fired == []


async def test_at_is_made_up_for_when_it_was_missed(bench: Bench) -> None:
    await bench.clock.advance(DAY)

    site = bench.arm({"trigger": "at", "at": "20m"}, since=START, catch_up=LAST)
    await bench.clock.advance(1)

    assert [(fired.planned, fired.trigger["caught_up"], fired.skipped) for fired in site.fired] == [
        (START + 1_200, True, False)
    ]


async def test_at_knows_a_zone_of_its_own(bench: Bench) -> None:
    due = bench.next_due({"trigger": "at", "at": "2026-01-01 09:00", "time_zone": "Europe/Berlin"}, since=START)

    assert due == START + 8 * HOUR


# --- every and cron ---


async def test_every_keeps_to_its_anchor(bench: Bench) -> None:
    plain = bench.arm({"trigger": "every", "every": {"hours": 2}})
    anchored = bench.arm({"trigger": "every", "every": "2h", "anchor": "2026-01-01 00:30"})

    await bench.clock.advance(5 * HOUR)

    assert planned(plain) == ["01 02:00:00", "01 04:00:00"]
    assert planned(anchored) == ["01 00:30:00", "01 02:30:00", "01 04:30:00"]


async def test_cron_matches_the_clock_of_its_zone(bench: Bench) -> None:
    site = bench.arm({"trigger": "cron", "expression": "30 7 * * fri", "time_zone": "Europe/Berlin"})

    await bench.clock.advance(2 * DAY)

    assert planned(site) == ["02 06:30:00"]
    assert site.fired[0].trigger["expression"] == "30 7 * * fri"


async def test_a_stagger_gives_each_automation_its_own_place(bench: Bench) -> None:
    config = {"trigger": "cron", "expression": "0 7 * * *", "stagger": "10m"}

    dues = [bench.next_due(config, automation_id=name) or 0.0 for name in ("a", "b", "c")]

    assert len(set(dues)) == 3
    assert all(START + 7 * HOUR <= due < START + 7 * HOUR + 600 for due in dues)
    assert bench.next_due(config, automation_id="a") == dues[0]


# --- time ---


async def test_time_fires_on_its_days(bench: Bench) -> None:
    site = bench.arm({"trigger": "time", "at": ["07:30", "18:00:05"], "weekday": ["fri", "sat"]})

    await bench.clock.advance(3 * DAY)

    assert planned(site) == ["02 07:30:00", "02 18:00:05", "03 07:30:00", "03 18:00:05"]
    assert site.fired[0].trigger["description"] == "time"
    assert site.fired[0].trigger["entity_id"] is None


async def test_time_may_be_a_template_of_trigger_variables(bench: Bench) -> None:
    site = bench.arm({"trigger": "time", "at": "{{ wake }}"}, variables={"wake": "06:15"})
    broken = bench.arm({"trigger": "time", "at": "{{ wake }}"}, variables={"wake": "early"})

    await bench.clock.advance(DAY)

    assert planned(site) == ["01 06:15:00"]
    assert "time of day" in broken.failures[0]


@pytest.mark.parametrize(
    ("said", "offset", "expected"),
    [
        ("07:30:00", 0, ["01 07:30:00", "02 07:30:00"]),
        ("07:30:00", "-00:30:00", ["01 07:00:00", "02 07:00:00"]),
        ("2026-01-01 12:00:00", 0, ["01 12:00:00"]),
        ("2026-01-01 12:00:00", {"minutes": -5}, ["01 11:55:00"]),
        ("2026-01-02", 0, ["02 00:00:00"]),
        ("2026-01-01T12:00:00+02:00", "00:10:00", ["01 10:10:00"]),
        ("2025-12-31 12:00:00", 0, []),
        ("unavailable", 0, []),
    ],
)
async def test_an_entity_may_say_when(bench: Bench, said: str, offset: Any, expected: list[str]) -> None:
    bench.states.set("input_datetime.wake", said)
    site = bench.arm({"trigger": "time", "at": {"entity_id": "input_datetime.wake", "offset": offset}})

    await bench.clock.advance(2 * DAY - 1)

    assert planned(site) == expected
    assert site.failures == []


async def test_the_time_follows_the_entity(bench: Bench) -> None:
    site = bench.arm({"trigger": "time", "at": "sensor.alarm"})
    assert bench.next_due({"trigger": "time", "at": "sensor.alarm"}) is None

    bench.states.set("sensor.alarm", "2026-01-01 12:00:00")
    bench.states.set("sensor.alarm", "2026-01-01 10:00:00", {"x": 1})
    await bench.clock.advance(11 * HOUR)
    bench.states.set("sensor.alarm", "2026-01-01 13:00:00")
    bench.states.remove("sensor.alarm")
    await bench.clock.advance(DAY)

    assert planned(site) == ["01 10:00:00"]
    assert site.fired[0].trigger["entity_id"] == "sensor.alarm"


async def test_an_entity_that_says_no_time_is_told(bench: Bench) -> None:
    bench.states.set("sensor.alarm", "early")
    site = bench.arm({"trigger": "time", "at": ["sensor.alarm", "01:00"]})

    await bench.clock.advance(2 * HOUR)

    assert "sensor.alarm" in site.failures[0]
    assert planned(site) == ["01 01:00:00"]


async def test_days_count_where_the_offset_leads(bench: Bench) -> None:
    bench.states.set("input_datetime.wake", "00:10:00")
    config = {"trigger": "time", "at": {"entity_id": "input_datetime.wake", "offset": "-00:20:00"}, "weekday": "sat"}
    site = bench.arm(config)
    first = bench.next_due(config)

    await bench.clock.advance(3 * DAY)

    assert planned(site) == ["03 23:50:00"]
    assert first == START + 2 * DAY + 23 * HOUR + 50 * 60


# --- patterns and the sun ---


async def test_time_patterns_match_the_clock(bench: Bench) -> None:
    bench.zone = ZoneInfo("Asia/Kolkata")
    minutes = bench.arm({"trigger": "time_pattern", "minutes": "/20"})
    hours = bench.arm({"trigger": "time_pattern", "hours": [6, 7], "minutes": 5, "seconds": 30})

    await bench.clock.advance(2 * HOUR)

    assert planned(minutes) == [
        "01 05:40:00",
        "01 06:00:00",
        "01 06:20:00",
        "01 06:40:00",
        "01 07:00:00",
        "01 07:20:00",
    ]
    assert planned(hours) == ["01 06:05:30", "01 07:05:30"]
    assert minutes.fired[0].trigger["description"] == "time pattern"


async def test_the_sun_sets_with_an_offset(bench: Bench) -> None:
    plain = bench.arm({"trigger": "sun", "event": "sunset"})
    early = bench.arm({"trigger": "sun", "event": "sunset", "offset": "-00:45:00"})

    await bench.clock.advance(DAY)

    assert len(plain.fired) == len(early.fired) == 1
    assert (plain.fired[0].planned or 0) - (early.fired[0].planned or 0) == pytest.approx(2_700)
    assert 14.9 * HOUR < (plain.fired[0].planned or 0) - START < 15.2 * HOUR  # Berlin, 1 January
    assert early.fired[0].trigger["offset"] == timedelta(minutes=-45)
    assert early.fired[0].trigger["event"] == "sunset"


async def test_without_a_place_there_is_no_sun(bench: Bench) -> None:
    bench.location = None

    site = bench.arm({"trigger": "sun", "event": "sunrise"})

    assert "latitude" in site.failures[0]
    assert bench.next_due({"trigger": "sun", "event": "sunrise"}) is None


# --- what is missed ---


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        ({"mode": "none", "within": DAY}, [(3, 2, True)]),
        ({"mode": "last", "within": DAY}, [(3, 2, False)]),
        ({"mode": "last", "within": 60.0}, [(3, 2, True)]),
        ({"mode": "all", "within": DAY}, [(1, 0, False), (2, 0, False), (3, 0, False)]),
    ],
)
async def test_what_was_due_while_the_hub_was_down(
    bench: Bench, catch_up: dict[str, Any], expected: list[tuple[int, int, bool]]
) -> None:
    await bench.clock.advance(3.5 * HOUR)

    site = bench.arm({"trigger": "every", "every": "1h"}, since=START, catch_up=catch_up)
    await bench.clock.advance(1)

    assert [((fired.planned or 0) - START, fired.missed, fired.skipped) for fired in site.fired] == [
        (hour * HOUR, missed, skipped) for hour, missed, skipped in expected
    ]


async def test_a_clock_that_jumps_causes_no_storm(bench: Bench) -> None:
    site = bench.arm({"trigger": "time_pattern", "seconds": "*"})
    await bench.clock.advance(2)

    bench.clock.jump(30 * DAY)
    await bench.clock.advance(31)

    assert len(site.fired) < 70
    assert max(fired.missed for fired in site.fired) == 1_000


async def test_disarmed_schedules_leave_the_timetable(bench: Bench) -> None:
    bench.states.set("sensor.alarm", "07:00:00")
    bench.arm({"trigger": "time", "at": ["07:30", "sensor.alarm"]})
    bench.arm({"trigger": "every", "every": 60})
    bench.arm({"trigger": "sun", "event": "sunset"})

    bench.disarm()

    assert len(bench.parts.timetable) == 0
    assert bench.bus.listener_counts() == {}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"trigger": "at", "at": "20m"}, "once, at 20m"),
        (
            {"trigger": "every", "every": "90m", "anchor": "2026-01-01 00:30"},
            "every 1 h 30 min, counted from 2026-01-01 00:30",
        ),
        (
            {"trigger": "cron", "expression": "0 7 * * *", "time_zone": "Europe/Berlin", "stagger": 60},
            "whenever the clock in Europe/Berlin matches 0 7 * * *, spread over 1 min",
        ),
        (
            {"trigger": "time", "at": ["07:30:00", "sensor.a"], "weekday": ["mon", "tue", "wed"]},
            "at 07:30 or at the time of sensor.a on Monday to Wednesday",
        ),
        (
            {"trigger": "time", "at": {"entity_id": "sensor.a", "offset": -60}},
            "1 min before the time of sensor.a",
        ),
        ({"trigger": "time_pattern", "minutes": "/5"}, "every 5 min"),
        ({"trigger": "time_pattern", "hours": 7, "minutes": "/5"}, "whenever the clock shows hours 7, minutes /5"),
        ({"trigger": "sun", "event": "sunset"}, "at sunset"),
        ({"trigger": "sun", "event": "sunrise", "offset": "00:10:00"}, "10 min after sunrise"),
    ],
)
def test_each_is_explained_in_plain_words(config: dict[str, Any], words: str) -> None:
    assert explained(config) == words
