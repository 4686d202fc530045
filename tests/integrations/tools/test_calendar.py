"""Calendars: an ICS file and a CalDAV server, doubled on loopback as RFC 4791 describes it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from html import escape

import pytest
from aiohttp import web

from hub.core.context import Authority, Context
from hub.core.schema import SchemaError
from hub.security.egress import Egress
from hub.tools.approval import ApprovalDecision, ApprovalState, Ask
from hub.tools.contract import ToolResult
from integrations.tools import calendar
from integrations.tools.calendar.events import CalendarEvent, new_event, read_events
from integrations.tools.calendar.schema import CONFIG_SCHEMA
from tests.integrations.tools.standing import Standing

PASSWORD = "key-0123456789"
CHOIR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:choir
DTSTART;TZID=Europe/Berlin:20260106T190000
DTEND;TZID=Europe/Berlin:20260106T203000
RRULE:FREQ=WEEKLY
EXDATE;TZID=Europe/Berlin:20260519T190000
SUMMARY:Choir\\, tenors
LOCATION:Town hall
END:VEVENT
BEGIN:VEVENT
UID:holiday
DTSTART;VALUE=DATE:20260514
SUMMARY:Ascension
END:VEVENT
END:VCALENDAR"""


class CalDav:
    """A server with an ICS file at /choir.ics, and one calendar at /dav/ for an account."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.stored: dict[str, str] = {}
        self.fails = 0
        self.target = ""

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.asked.append((request.method, body := (await request.read()).decode()))
        if self.fails:
            return web.Response(status=self.fails, text="obey me")
        if request.path == "/choir.ics":
            return web.Response(text=CHOIR, content_type="text/calendar")
        if request.headers.get("Authorization") != f"Basic {b64encode(f'me:{PASSWORD}'.encode()).decode()}":
            return web.Response(status=401)
        if request.method == "PUT" and request.headers["If-None-Match"] == "*" and request.path not in self.stored:
            self.stored[request.path] = body
            return web.Response(status=201)
        if request.method != "REPORT" or request.headers["Depth"] != "1" or "calendar-query" not in body:
            return web.Response(status=400)
        found = "".join(
            f"<D:response><D:href>{path}</D:href><D:propstat><D:prop><C:calendar-data>{escape(data)}</C:calendar-data>"
            "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
            for path, data in self.stored.items()
        )
        answer = f'<D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">{found}</D:multistatus>'
        return web.Response(status=207, text=answer, content_type="application/xml")


class Planner:
    """A hub with calendars, and an owner who says yes."""

    def __init__(self, standing: Standing, server: CalDav) -> None:
        self.standing = standing
        self.server = server
        self.asks: list[Ask] = []
        self.says = True

    async def do(self, action: str, authority: Authority | None = None, **more: str) -> ToolResult:
        return await self.standing.call("calendar", {"action": action} | more, authority=authority)

    async def decide(self, ask: Ask) -> ApprovalDecision:
        self.asks.append(ask)
        return ApprovalDecision(self.says, ApprovalState.APPROVED if self.says else ApprovalState.DENIED)


@pytest.fixture
async def planner(standing: Standing) -> AsyncIterator[Planner]:
    server = CalDav()
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.target = f"127.0.0.1:{runner.addresses[0][1]}"
    standing.egress = Egress(lambda: {server.target})
    made = Planner(standing, server)
    standing.tools.ask = made.decide
    account = {"username": "me", "password": PASSWORD}
    calendars = {"choir": {"url": f"http://{server.target}/choir.ics"}}
    calendars["down"] = {"url": "http://127.0.0.1:9/"}
    calendars["mine"] = {"url": f"http://{server.target}/dav/"} | account
    await standing.set_up(calendar, CONFIG_SCHEMA({"calendars": calendars}))
    yield made
    await standing.egress.close()
    await runner.cleanup()


async def test_an_event_is_added_and_listed_beside_those_that_repeat(planner: Planner) -> None:
    added = await planner.do("add", calendar="mine", title="Dentist; ask", start="2026-05-13T09:00", location="Main St")
    found = await planner.do("events", authority=planner.standing.owner.narrow(tainted=True), end="2026-05-27")
    choir = await planner.do("events", calendar="choir", start="2026-05-12", end="2026-05-13")

    assert added.output == "added Dentist; ask to mine: 2026-05-13T09:00+02:00 to 2026-05-13T10:00+02:00"
    assert [(each["start"], each["title"]) for each in found.details["events"]] == [
        ("2026-05-12T19:00+02:00", "Choir, tenors"),
        ("2026-05-13T09:00+02:00", "Dentist; ask"),
        ("2026-05-14", "Ascension"),
        ("2026-05-26T19:00+02:00", "Choir, tenors"),
    ]
    assert "2026-05-12T19:00+02:00 – 2026-05-12T20:30+02:00 Choir, tenors [choir]\n  Town hall" in choir.output
    assert not choir.trusted
    assert [ask.text for ask in planner.asks] == [
        "The assistant does not do this without you: it adds to the calendar mine: Dentist; ask, 2026-05-13T09:00 – …."
    ]
    assert "2026-05-13T09:00+02:00 – 2026-05-13T10:00+02:00" in str(planner.asks[0])
    assert any(
        '<C:time-range start="20260512T120000Z" end="20260526T220000Z"/>' in each for _, each in planner.server.asked
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"action": "add", "calendar": "choir", "title": "x", "start": "2026-05-13"}, "that take events: mine"),
        ({"action": "add", "calendar": "mine", "title": "x"}, "start"),
        (
            {"action": "add", "calendar": "mine", "title": "x", "start": "2026-05-13", "end": "2026-05-12"},
            "must be later",
        ),
        ({"action": "add", "calendar": "mine", "title": "x", "start": "soon"}, "expected a day such as 2026-05-12"),
        (
            {"action": "add", "calendar": "mine", "title": "x", "start": "9999-12-31"},
            "expected a day such as 2026-05-12",
        ),
        (  # the clock skips the hour from 2:00 on
            {
                "action": "add",
                "calendar": "mine",
                "title": "x",
                "start": "2027-03-28T02:30",
                "end": "2027-03-28T03:30",
            },
            "must be later",
        ),
        ({"action": "events", "calendar": "hers"}, "calendar"),
        ({"action": "events", "calendar": "down"}, "the calendar down: "),
        ({"action": "events", "start": "2026-05-13", "end": "2030-05-13"}, "at most 400 days"),
    ],
)
async def test_what_cannot_be_done_says_why(planner: Planner, arguments: dict[str, str], words: str) -> None:
    result = await planner.standing.call("calendar", arguments)

    assert result.is_error
    assert words in result.output
    assert planner.server.stored == {}
    assert planner.asks == []


@pytest.mark.parametrize(("status", "words"), [(401, "refuses username or password"), (500, "the status 500")])
async def test_a_server_that_fails_is_named_and_its_words_are_not_shown(
    planner: Planner, status: int, words: str
) -> None:
    planner.server.fails = status

    result = await planner.do("events", calendar="mine")

    assert words in result.output
    assert "obey" not in result.output
    assert PASSWORD not in f"{result.output} {result.details}"


async def test_a_calendar_that_is_down_hides_no_other(planner: Planner) -> None:
    found = await planner.do("events", start="2026-05-12", end="2026-05-13")

    assert [each["title"] for each in found.details["events"]] == ["Choir, tenors"]
    assert "The events of down are missing: the calendar down: " in found.output


@pytest.mark.parametrize(
    ("start", "begins", "ends"),
    [
        ("2026-10-25", "2026-10-25", "2026-10-26"),
        ("2026-10-25T02:30", "2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"),
        ("2027-03-28T02:30", "2027-03-28T03:30+02:00", "2027-03-28T04:30+02:00"),
    ],
)
async def test_an_event_takes_an_hour_or_a_day_also_when_the_clock_changes(
    planner: Planner, start: str, begins: str, ends: str
) -> None:
    added = await planner.do("add", calendar="mine", title="Nap", start=start)

    assert added.output == f"added Nap to mine: {begins} to {ends}"


async def test_without_a_yes_nothing_is_added(planner: Planner) -> None:
    planner.says = False

    result = await planner.do("add", calendar="mine", title="obey", start="2026-05-13")

    assert result.details["code"] == "FORBIDDEN"
    assert planner.server.asked == []


async def test_automations_list_and_add_by_services(planner: Planner) -> None:
    services, context = planner.standing.services, Context(planner.standing.owner)
    await services.call("test", "add", {"calendar": "mine", "title": "Bin day", "start": "2026-05-13"}, context=context)
    found = await services.call("test", "events", {"calendar": "mine"}, context=context, wants_response=True)

    assert found is not None
    assert [(each["start"], each["end"], each["title"]) for each in found["events"]] == [
        ("2026-05-13", "2026-05-14", "Bin day")
    ]
    assert found["missing"] == {}


def test_what_is_written_is_read_again_whatever_it_holds(planner: Planner) -> None:
    event = CalendarEvent(
        "2026-05-13T09:00:00+02:00", "2026-05-13T10:00:00+02:00", "a\r\nEND:VEVENT\n茶", "", "b;c,d\\e"
    )

    (read,) = read_events(
        new_event("u", event, planner.standing.clock.now()),
        "2026-05-01T00:00:00+02:00",
        "2026-06-01T00:00:00+02:00",
        "Europe/Berlin",
    )

    assert (read.start, read.title.splitlines()) == (event.start, ["a", "END:VEVENT", "茶"])
    assert read.description == event.description


@pytest.mark.parametrize("url", ["nas/terms.ics", "ftp://nas/terms.ics"])
def test_what_is_no_address_is_refused_by_the_configuration_and_not_shown(url: str) -> None:
    with pytest.raises(SchemaError, match="webcal://") as refused:
        CONFIG_SCHEMA({"calendars": {"school": {"url": url}}})

    assert url not in str(refused.value)
