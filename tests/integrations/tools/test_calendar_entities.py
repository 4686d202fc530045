"""Calendars as entities: a file at home and a CalDAV server, over restarts of a hub with an automation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError, InvalidRequest
from integrations.tools.calendar.editing import EventChange, Stamp, Which, edited
from integrations.tools.calendar.events import EVENTS_LIMIT, read_events
from tests.hub_fixture import HubFixture
from tests.integrations.tools.standing import NOON
from tests.integrations.tools.test_calendar import PASSWORD, CalDav
from tests.until import until

ONLY = ("hub database", "registries", "helpers", "history", "automations", "integrations", "egress")
HOUR = 3_600.0
FAMILY = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:choir
DTSTART;TZID=America/New_York:20260504T130000
DTEND;TZID=America/New_York:20260504T143000
RRULE:FREQ=DAILY
SUMMARY:Choir
LOCATION:Town hall
END:VEVENT
BEGIN:VEVENT
UID:holiday
DTSTART;VALUE=DATE:20260513
SUMMARY:Ascension
END:VEVENT
END:VCALENDAR"""
AUTOMATION = {
    "id": "sing",
    "triggers": [{"trigger": "calendar", "entity_id": "calendar.family", "offset": "-00:10:00"}],
    "actions": [{"event": "sung", "event_data": {"what": "{{ trigger.calendar_event.summary }}"}}],
}


STAMP = Stamp("2026-05-01T00:00:00+02:00", "Europe/Berlin", "new")
HOLIDAYS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:swim
DTSTART;TZID=Europe/Berlin:20260316T180000
DTEND;TZID=Europe/Berlin:20260316T190000
RRULE:FREQ=WEEKLY;COUNT=4
SUMMARY:Swim
X-COLOUR:blue
END:VEVENT
END:VCALENDAR"""


def shown(source: str) -> list[str]:
    """Return the events of a calendar in spring: the day, the hour and the title."""
    since, until_ = "2026-03-01T00:00:00+01:00", "2026-06-01T00:00:00+02:00"
    return [f"{each.start[5:16]} {each.title}" for each in read_events(source.encode(), since, until_, "Europe/Berlin")]


@pytest.mark.parametrize(
    ("which", "change", "expected"),
    [
        (
            Which("swim", "20260330T180000", True),
            EventChange("2026-03-31T17:00:00+02:00", "2026-03-31T18:00:00+02:00", "Dive"),
            ["03-16T18:00 Swim", "03-23T18:00 Swim", "03-31T17:00 Dive", "04-07T17:00 Dive"],
        ),
        (
            Which("swim", "20260316T180000", True),
            EventChange(summary="Dive"),
            ["03-16T18:00 Dive", "03-23T18:00 Dive", "03-30T18:00 Dive", "04-06T18:00 Dive"],
        ),
        (
            Which("swim", "20260323T180000"),
            EventChange(location="Lake", summary="Row"),
            ["03-16T18:00 Swim", "03-23T18:00 Row", "03-30T18:00 Swim", "04-06T18:00 Swim"],
        ),
        (Which("swim"), EventChange(rrule=""), ["03-16T18:00 Swim"]),
        (Which("swim", "20260330T160000Z"), None, ["03-16T18:00 Swim", "03-23T18:00 Swim", "04-06T18:00 Swim"]),
        (Which("swim", "20260330T180000", True), None, ["03-16T18:00 Swim", "03-23T18:00 Swim"]),
        (Which("swim", "20260316T180000", True), None, []),
    ],
)
def test_a_series_one_of_it_and_what_comes_after_are_changed(
    which: Which, change: EventChange | None, expected: list[str]
) -> None:
    fresh = edited(HOLIDAYS, which, change, STAMP)

    assert (shown(fresh) if fresh else []) == expected
    assert not fresh or "X-COLOUR:blue" in fresh


def test_a_single_event_that_was_changed_is_changed_again_and_goes() -> None:
    which = Which("swim", "20260323T180000")
    once = edited(HOLIDAYS, which, EventChange(summary="Row"), STAMP)
    twice = edited(once, which, EventChange(summary="Sail"), STAMP)

    assert shown(twice)[1] == "03-23T18:00 Sail"
    assert len(shown(edited(twice, which, None, STAMP))) == 3


SUNDAYS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:walk
DTSTART;TZID=Europe/Berlin:20260308T100000
DTEND;TZID=Europe/Berlin:20260308T110000
RRULE:FREQ=WEEKLY;{more}
EXDATE:20260322T090000Z
RDATE;TZID=Europe/Berlin:20260401T100000
SUMMARY:Walk
END:VEVENT
BEGIN:VEVENT
UID:walk
RECURRENCE-ID;TZID=Europe/Berlin:20260329T100000
DTSTART;TZID=Europe/Berlin:20260330T100000
DTEND;TZID=Europe/Berlin:20260330T110000
SUMMARY:Walk
END:VEVENT
END:VCALENDAR"""
"""On Sundays; one is deleted, and that of the day on which the clocks change is on Monday."""
LATER = EventChange("2026-03-08T11:00:00+01:00", "2026-03-08T12:00:00+01:00")


@pytest.mark.parametrize(
    ("which", "change", "expected"),
    [
        (
            Which("walk", "20260315T100000", True),
            EventChange(summary="Run"),
            ["03-08T10:00 Walk", "03-15T10:00 Run", "03-30T10:00 Walk", "04-01T10:00 Run", "04-05T10:00 Run"],
        ),
        (
            Which("walk", "20260315T100000", True),
            EventChange("2026-03-16T11:00:00+01:00", "2026-03-16T12:00:00+01:00"),
            ["03-08T10:00 Walk", "03-16T11:00 Walk", "03-30T10:00 Walk", "04-02T11:00 Walk", "04-06T11:00 Walk"],
        ),
        (
            Which("walk", "20260329T100000", True),
            EventChange(summary="Run"),
            ["03-08T10:00 Walk", "03-15T10:00 Walk", "03-30T10:00 Run", "04-01T10:00 Run", "04-05T10:00 Run"],
        ),
        (Which("walk", "20260329T100000", True), None, ["03-08T10:00 Walk", "03-15T10:00 Walk"]),
        (
            Which("walk"),
            LATER,
            ["03-08T11:00 Walk", "03-15T11:00 Walk", "03-30T10:00 Walk", "04-01T11:00 Walk", "04-05T11:00 Walk"],
        ),
        (
            Which("walk"),
            EventChange("2026-03-09", "2026-03-10"),
            ["03-09 Walk", "03-16 Walk", "03-30T10:00 Walk", "04-02 Walk", "04-06 Walk"],
        ),
        (Which("walk"), EventChange(rrule=""), ["03-08T10:00 Walk"]),
        (
            Which("walk", "20260315T100000", True),
            EventChange("2026-03-15", "2026-03-16", rrule=""),
            ["03-08T10:00 Walk", "03-15 Walk"],
        ),
    ],
)
@pytest.mark.parametrize("more", ["COUNT=5", "UNTIL=20260405T080000Z"])
def test_what_is_deleted_or_moved_stays_so_when_the_series_is_changed(
    which: Which, change: EventChange | None, expected: list[str], more: str
) -> None:
    assert shown(edited(SUNDAYS.format(more=more), which, change, STAMP)) == expected


def test_a_single_event_in_its_place_follows_the_series_with_its_own_words() -> None:
    once = edited(HOLIDAYS, Which("swim", "20260330T180000"), EventChange(summary="Row"), STAMP)
    days = edited(once, Which("swim"), EventChange("2026-03-17", "2026-03-18"), STAMP)
    back = edited(days, Which("swim"), EventChange("2026-03-16T17:00+01:00", "2026-03-16T19:00+01:00"), STAMP)

    assert shown(days) == ["03-17 Swim", "03-24 Swim", "03-31 Row", "04-07 Swim"]
    assert shown(back) == ["03-16T17:00 Swim", "03-23T17:00 Swim", "03-30T17:00 Row", "04-06T17:00 Swim"]


def test_days_that_a_rule_names_stay_when_the_start_comes_to_lie_on_another() -> None:
    source = SUNDAYS.format(more="BYDAY=SU;COUNT=5")

    fresh = edited(source, Which("walk"), EventChange("2026-03-07T11:00:00+01:00", "2026-03-07T12:00:00+01:00"), STAMP)

    assert not {"03-22T11:00 Walk", "03-29T11:00 Walk"} & set(shown(fresh))
    assert "03-30T10:00 Walk" in shown(fresh)


ZONE = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("seed", range(40))
def test_no_change_of_any_series_brings_one_back_or_doubles_one(seed: int) -> None:
    random = Random(seed)
    step, count = timedelta(days=random.choice([1, 2, 7])), random.randint(3, 9)
    days = random.random() < 0.3
    start = datetime.fromisoformat(
        f"2026-03-{random.randint(10, 28)}T{'00' if days else random.choice(['09', '18'])}:00"
    )
    length = timedelta(days=1) if days else timedelta(hours=1)

    def told(at: datetime) -> tuple[str, str]:
        begins = at.date() if days else at.replace(tzinfo=ZONE)
        return begins.isoformat(), (begins + length).isoformat()

    def id_of(at: datetime) -> str:
        return at.strftime("%Y%m%d" if days else "%Y%m%dT%H%M%S")

    def line(at: datetime, title: str) -> str:
        return f"{at.strftime('%m-%d' if days else '%m-%dT%H:%M')} {title}"

    all_of_it = [start + step * number for number in range(count)]
    ends = id_of(all_of_it[-1]) if days else f"{all_of_it[-1].replace(tzinfo=ZONE).astimezone(UTC):%Y%m%dT%H%M%SZ}"
    more = random.choice([f"COUNT={count}", f"UNTIL={ends}"])
    zone = ";VALUE=DATE" if days else ";TZID=Europe/Berlin"
    source = (
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nUID:x\nSUMMARY:Old\n"
        f"DTSTART{zone}:{id_of(start)}\nDTEND{zone}:{id_of(start + length)}\n"
        f"RRULE:FREQ=DAILY;INTERVAL={step.days};{more}\nEND:VEVENT\nEND:VCALENDAR"
    )
    places: dict[int, tuple[datetime, str] | None] = {}
    for number in random.sample(range(1, count), random.randint(1, count - 1)):
        which = Which("x", id_of(all_of_it[number]))
        places[number] = None
        if random.random() < 0.5:
            source = edited(source, which, None, STAMP)
            continue
        place = all_of_it[number] + timedelta(days=random.choice([-1, 1, 3]))
        places[number] = place, f"Moved {number}"
        source = edited(source, which, EventChange(*told(place), f"Moved {number}"), STAMP)
    since = random.choice([None, *(number for number in range(1, count) if number not in places)])
    moved = timedelta(days=random.choice([0, 1, -2]), hours=0 if days else random.choice([0, 1, -5]))
    begins, ends = told(all_of_it[since or 0] + moved)
    change = EventChange(begins, ends, "New") if random.random() < 0.8 else EventChange(summary="New")
    which = Which("x") if since is None else Which("x", id_of(all_of_it[since]), True)

    fresh = edited(source, which, change, STAMP)

    expected = [line(*place) for place in places.values() if place is not None]
    for number, at in enumerate(all_of_it):
        if number not in places:
            later = number >= (since or 0)
            expected.append(line(at + moved if later and change.start else at, "New" if later else "Old"))
    assert sorted(shown(fresh)) == sorted(expected), source


@pytest.mark.parametrize(
    ("which", "why"),
    [
        (Which("dive"), "there is no event dive"),
        (Which("swim", "soon"), "expected a recurrence_id"),
    ],
)
def test_an_event_that_is_not_there_is_named(which: Which, why: str) -> None:
    with pytest.raises(HubError, match=why):
        edited(HOLIDAYS, which, None, STAMP)


class Home:
    """A hub with calendars, and what its automation did."""

    def __init__(self, folder: Path, calendars: dict[str, Any]) -> None:
        self.folder, self.sections = folder, {"calendar": {"calendars": calendars}, "automation": [AUTOMATION]}
        self.sections["hub"] = {"time_zone": "Europe/Berlin"}
        self.clock = ManualClock(NOON)
        self.sung: list[tuple[str, float]] = []

    async def start(self) -> None:
        self.hub = HubFixture(
            self.folder,
            "http://127.0.0.1:9",
            sections=self.sections,
            integrations=("calendar",),
            clock=self.clock,
            only=ONLY,
        )
        self.hub.bus.listen("sung", lambda event: self.sung.append((event.data["what"], self.hours)))
        await self.hub.start()

    @property
    def hours(self) -> float:
        """Since the beginning."""
        return (self.clock.time() - NOON) / HOUR

    async def call(self, name: str, entity: str = "calendar.family", **data: Any) -> Any:
        wants = name == "get_events"
        return await self.hub.services.call(
            "calendar", name, {"entity_id": entity, **data}, context=Context(SYSTEM), wants_response=wants
        )

    async def state(self, entity: str, find: Callable[[Any], bool]) -> Any:
        return await until(lambda: (now := self.hub.states.get(entity)) and find(now) and now)


@pytest.fixture
async def home(tmp_path: Path) -> Any:
    (tmp_path / "calendars").mkdir()
    (tmp_path / "calendars" / "family.ics").write_text(FAMILY)
    made = Home(tmp_path, {"family": {"name": "The family"}, "empty": {}})
    await made.start()
    yield made
    await made.hub.stop()


async def test_a_calendar_is_on_during_an_event_and_shows_the_present_or_next_one(home: Home) -> None:
    seen = await home.state("calendar.family", lambda now: now.state == "off")
    await home.clock.advance(5 * HOUR)
    during = await home.state("calendar.family", lambda now: now.state == "on")
    await home.clock.advance(1.5 * HOUR)
    after = await home.state("calendar.family", lambda now: now.state == "off")

    assert dict(seen.attributes) == {
        "friendly_name": "The family",
        "supported_features": 7,
        "message": "Choir",
        "all_day": False,
        "start_time": "2026-05-12 19:00:00",
        "end_time": "2026-05-12 20:30:00",
        "location": "Town hall",
        "description": "",
    }
    assert during.attributes == seen.attributes
    assert (after.attributes["message"], after.attributes["start_time"]) == ("Ascension", "2026-05-13 00:00:00")
    assert seen.context.authority.tainted


async def test_the_hub_stops_at_once_while_a_calendar_waits_for_its_next_event(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    await home.state("calendar.family", lambda now: now.state == "off")

    await home.hub.stop()

    assert "did not stop" not in caplog.text


async def test_an_automation_fires_at_its_time_over_restarts_and_for_what_is_added(home: Home) -> None:
    await home.state("calendar.family", lambda now: now.state == "off")
    await home.clock.advance(2 * HOUR)
    await home.hub.stop()
    await home.start()
    await home.state("calendar.family", lambda now: now.state == "off")

    await home.call("create_event", summary="Tea", start_date_time="2026-05-12 17:00", end_date_time="2026-05-12 17:30")
    await home.state("calendar.family", lambda now: now.attributes["message"] == "Tea")
    await home.clock.advance(8 * HOUR)
    await until(lambda: len(home.sung) == 3)

    assert home.sung == [
        ("Tea", pytest.approx(3 - 1 / 6)),
        ("Choir", pytest.approx(5 - 1 / 6)),
        ("Ascension", 10 - 1 / 6),
    ]


async def test_events_are_added_to_a_file_at_home_and_told(home: Home) -> None:
    await home.call("create_event", "calendar.empty", summary="Move", **{"in": {"weeks": 30}}, location="Over there")

    state = await home.state("calendar.empty", lambda now: "message" in now.attributes)
    found = await home.call("get_events", "calendar.empty", duration={"days": 300})

    assert (state.state, state.attributes["start_time"]) == ("off", "2026-12-08 00:00:00")
    (event,) = found["calendar.empty"]["events"]
    assert {key: event[key] for key in ("start", "end", "summary", "location")} == {
        "start": "2026-12-08",
        "end": "2026-12-09",
        "summary": "Move",
        "location": "Over there",
    }


async def test_a_server_that_fails_for_long_makes_its_calendar_unavailable_until_it_is_back(tmp_path: Path) -> None:
    server = CalDav()
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"127.0.0.1:{runner.addresses[0][1]}"
    account = {"url": f"http://{address}/dav/", "username": "me", "password": PASSWORD}
    home = Home(tmp_path, {"family": account})
    home.sections["network"] = {"allow_private": [address]}
    await home.start()
    await home.call("create_event", summary="Dentist", start_date="2026-05-12", end_date="2026-05-13")
    await home.state("calendar.family", lambda now: now.state == "on")

    server.fails = 500
    asked = len(server.asked)
    while (now := home.hub.states.get("calendar.family")) is None or now.state != "unavailable":
        before = len(server.asked)
        await home.clock.advance(900)
        await until(lambda: len(server.asked) > before)  # noqa: B023
        await until(lambda: home.clock.sleepers > 0)
    server.fails = 0
    await home.clock.advance(900)
    back = await home.state("calendar.family", lambda now: now.state == "on")

    assert len(server.asked) - asked > 4
    assert back.attributes["message"] == "Dentist"
    await home.hub.stop()
    await runner.cleanup()


async def test_no_event_of_a_long_time_is_left_out_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "calendars").mkdir()
    event = "BEGIN:VEVENT\nUID:d\nSUMMARY:Bin\nDTSTART:20260101T080000Z\n"
    event += "DTEND:20260101T081000Z\nRRULE:FREQ=DAILY\nEND:VEVENT"
    (tmp_path / "calendars" / "bins.ics").write_text(f"BEGIN:VCALENDAR\nVERSION:2.0\n{event}\nEND:VCALENDAR\n")
    home = Home(tmp_path, {"bins": {}})
    await home.start()

    span = {"start_date_time": "2026-02-01 00:00:00", "end_date_time": "2026-12-28 00:00:00"}
    found = await home.call("get_events", "calendar.bins", **span)
    asked = {"calendar": "bins", "start": "2026-02-01", "end": "2026-10-28"}
    told = await home.hub.services.call("calendar", "events", asked, context=Context(SYSTEM), wants_response=True)
    await home.hub.stop()

    assert len(found["calendar.bins"]["events"]) == 330
    assert told is not None
    assert (len(told["events"]), told["more"]) == (200, 69)


def test_more_events_than_can_be_told_are_refused() -> None:
    events = "".join(
        f"BEGIN:VEVENT\nUID:{each}\nDTSTART:20260101T080000Z\nDTEND:20260101T081000Z\nEND:VEVENT\n"
        for each in range(EVENTS_LIMIT + 1)
    )
    body = f"BEGIN:VCALENDAR\nVERSION:2.0\n{events}END:VCALENDAR\n".encode()
    span = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00", "UTC"

    with pytest.raises(InvalidRequest, match=f"more than {EVENTS_LIMIT} events"):
        read_events(body, *span)
    assert len(read_events(body, *span, 1)) == 1
