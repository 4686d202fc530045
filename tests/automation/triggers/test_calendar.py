"""The trigger `calendar`, over a calendar that is awkward: late, edited, in other zones, and sometimes down."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.errors import Unavailable
from hub.core.schema import Invalid
from hub.entities.calendar import EVENT_CHANGED
from hub.entities.description import EntityDescription
from hub.entities.entities import HomeEntities
from hub.entities.registry import VERSION, HomeRegistry
from hub.storage.versioned_file import VersionedFile
from tests.automation.triggers.bench import START, Bench, BenchSite, explained, valid

HOUR, DAY = 3_600.0, 86_400.0
CONFIG = {"trigger": "calendar", "entity_id": "calendar.family"}


class Calendar:
    """A calendar whose events a test changes; it tells more than was asked about, in no order."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.bench, self.is_down, self.asked = bench, False, 0
        self.events: list[dict[str, str]] = []
        registry = HomeRegistry(VersionedFile(folder / "r.json", VERSION), bench.bus, bench.states, bench.tasks)
        self.entities = HomeEntities(registry, bench.states, bench.bus)
        bench.with_source(HomeEntities, self.entities)

    def appear(self) -> None:
        """Be set up, after the automations or before."""
        description = EntityDescription("calendar", "x-1", "Family", object_id="family")
        self.entities.add(description, {"get_events": self._get_events}, source="test")

    def change(self, *events: tuple[str, str, str]) -> None:
        """Have these events from now on, each with start, end and name."""
        self.events = [dict(zip(("start", "end", "summary"), each, strict=True)) for each in events]
        self.bench.bus.fire(EVENT_CHANGED, {"entity_id": "calendar.family"})

    async def _get_events(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked += 1
        if self.is_down:
            raise Unavailable("the server is down")
        return {"events": [dict(each) for each in reversed(self.events)]}


@pytest.fixture
def calendar(bench: Bench, tmp_path: Path) -> Calendar:
    return Calendar(bench, tmp_path)


def told(site: BenchSite) -> list[tuple[str, float]]:
    """Return what fired, with the hours since the start."""
    return [(each.trigger["calendar_event"]["summary"], ((each.planned or 0) - START) / HOUR) for each in site.fired]


WALK = ("2026-01-01T09:00:00+00:00", "2026-01-01T10:30:00+00:00", "Walk")
HOLIDAY = ("2026-01-02", "2026-01-04", "Holiday")


@pytest.mark.parametrize(
    ("more", "zone", "expected"),
    [
        ({}, "UTC", [("Walk", 9.0), ("Holiday", 24.0)]),
        ({"event": "end"}, "UTC", [("Walk", 10.5), ("Holiday", 72.0)]),
        ({"offset": "-0:15:00"}, "UTC", [("Walk", 8.75), ("Holiday", 23.75)]),
        ({"event": "end", "offset": {"hours": 2}}, "UTC", [("Walk", 12.5), ("Holiday", 74.0)]),
        ({}, "Asia/Tokyo", [("Walk", 9.0), ("Holiday", 15.0)]),
        ({"offset": "-40:00:00"}, "America/New_York", []),  # 40 h before it was armed; the other 11 h before
    ],
)
async def test_it_fires_at_the_time_of_each_event(
    bench: Bench, calendar: Calendar, more: dict[str, Any], zone: str, expected: list[tuple[str, float]]
) -> None:
    bench.zone = ZoneInfo(zone)
    calendar.change(WALK, HOLIDAY)
    calendar.appear()

    site = bench.arm({**CONFIG, **more}, since=None)
    await bench.clock.advance(4 * DAY)

    assert told(site) == expected


async def test_what_fired_is_told_as_home_assistant_does(bench: Bench, calendar: Calendar) -> None:
    calendar.change(WALK, HOLIDAY)
    calendar.appear()

    site = bench.arm({**CONFIG, "offset": "-00:30:00"})
    await bench.clock.advance(1.5 * DAY)

    walk, holiday = (each.trigger for each in site.fired)
    assert (walk["event"], walk["offset"]) == ("start", timedelta(minutes=-30))
    assert walk["calendar_event"] == {**dict(zip(("start", "end", "summary"), WALK, strict=True)), "all_day": False}
    assert holiday["calendar_event"]["all_day"] is True
    assert walk["now"] == datetime(2026, 1, 1, 8, 30, tzinfo=UTC)
    assert all(each.tainted for each in site.fired)


async def test_events_at_the_same_time_all_fire(bench: Bench, calendar: Calendar) -> None:
    calendar.change(WALK, (WALK[0], WALK[1], "Run"))
    calendar.appear()

    site = bench.arm(CONFIG)
    await bench.clock.advance(DAY)

    assert sorted(told(site)) == [("Run", 9.0), ("Walk", 9.0)]


async def test_edits_count_and_what_has_fired_does_not_fire_again(bench: Bench, calendar: Calendar) -> None:
    calendar.change(WALK, ("2026-01-01T12:00:00+00:00", "2026-01-01T13:00:00+00:00", "Lunch"))
    calendar.appear()
    site = bench.arm(CONFIG)
    await bench.clock.advance(9 * HOUR)

    calendar.change(WALK, ("2026-01-01T15:00:00+00:00", "2026-01-01T16:00:00+00:00", "Lunch"))
    await bench.clock.advance(DAY)

    assert told(site) == [("Walk", 9.0), ("Lunch", 15.0)]


async def test_an_event_that_was_added_after_its_time_does_not_fire(bench: Bench, calendar: Calendar) -> None:
    calendar.appear()
    site = bench.arm(CONFIG)
    await bench.clock.advance(9.2 * HOUR)

    calendar.change(WALK)
    await bench.clock.advance(HOUR)

    assert told(site) == []


async def test_a_calendar_that_is_down_makes_nothing_late(bench: Bench, calendar: Calendar) -> None:
    calendar.change(WALK)
    calendar.appear()
    site = bench.arm(CONFIG)
    await bench.clock.advance(HOUR)

    calendar.is_down = True
    await bench.clock.advance(10 * HOUR)

    assert told(site) == [("Walk", 9.0)]
    assert site.failures == ["calendar.family cannot be read: the server is down"]


async def test_it_waits_for_a_calendar_that_is_set_up_later(bench: Bench, calendar: Calendar) -> None:
    calendar.change(WALK)
    site = bench.arm(CONFIG)
    await bench.clock.advance(60)

    calendar.appear()
    await bench.clock.advance(10 * HOUR)

    assert told(site) == [("Walk", 9.0)]
    assert site.failures == []


async def test_a_calendar_that_never_comes_is_told(bench: Bench, calendar: Calendar) -> None:
    site = bench.arm({**CONFIG, "entity_id": "calendar.none"})

    await bench.clock.advance(HOUR)

    assert site.failures == ["calendar.none cannot be read: there is no calendar calendar.none"]


async def test_an_event_between_the_start_and_the_first_answer_is_not_lost(bench: Bench, calendar: Calendar) -> None:
    calendar.change(WALK)
    await bench.clock.advance(9 * HOUR - 10)
    site = bench.arm(CONFIG, since=START)
    await bench.clock.advance(30)

    calendar.appear()
    await bench.clock.advance(HOUR)

    assert told(site) == [("Walk", 9.0)]
    assert not site.fired[0].skipped


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        ({"mode": "none", "within": None}, [("Walk", True)]),
        ({"mode": "all", "within": None}, [("Breakfast", False), ("Walk", False)]),
    ],
)
async def test_what_was_missed_while_the_hub_was_down_is_caught_up_as_asked(
    bench: Bench, calendar: Calendar, catch_up: dict[str, Any], expected: list[tuple[str, bool]]
) -> None:
    calendar.change(("2026-01-01T07:00:00+00:00", "2026-01-01T07:30:00+00:00", "Breakfast"), WALK)
    calendar.appear()
    await bench.clock.advance(12 * HOUR)

    site = bench.arm(CONFIG, since=START, catch_up=catch_up)
    await bench.clock.advance(60)

    assert [(each.trigger["calendar_event"]["summary"], each.skipped) for each in site.fired] == expected


async def test_what_is_disarmed_asks_no_more(bench: Bench, calendar: Calendar) -> None:
    calendar.appear()
    bench.arm(CONFIG)
    await bench.clock.advance(60)
    asked = calendar.asked

    bench.disarm()
    calendar.change(WALK)
    await bench.clock.advance(DAY)

    assert calendar.asked == asked
    assert len(bench.parts.timetable) == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "when an event of calendar.family begins"),
        ({"event": "end", "offset": "-01:00:00"}, "1 h before an event of calendar.family ends"),
    ],
)
def test_it_is_explained(more: dict[str, Any], words: str) -> None:
    assert explained({**CONFIG, **more}) == words


@pytest.mark.parametrize("more", [{"entity_id": "x"}, {"event": "middle"}, {"offset": "soon"}])
def test_mistakes_are_told(more: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        valid({**CONFIG, **more})
