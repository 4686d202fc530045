"""Calendars that a CalDAV server says it has: found from its address, and what Home Assistant's keys make of them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hub.config.check import check
from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import NotFound
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from integrations.tools.calendar.dav import Refused, at_server
from integrations.tools.calendar.entities import RETRY_S
from tests.hub_fixture import HubFixture
from tests.integrations.tools.standing import NOON
from tests.integrations.tools.test_calendar import PASSWORD
from tests.until import until

ONLY = ("hub database", "registries", "helpers", "history", "integrations", "egress")
HOME = "/remote/calendars/me/"
_EVENT = """BEGIN:VEVENT\r
UID:{uid}\r
{when}\r
SUMMARY:{title}\r
END:VEVENT\r
"""
EVENTS = {
    "Private": [
        ("DTSTART;VALUE=DATE:20260512", "Birthday of Ada"),
        ("DTSTART:20260512T160000Z\r\nDTEND:20260512T170000Z", "Dentist"),
        ("DTSTART:20260514T060000Z\r\nDTEND:20260514T070000Z", "Bin: paper"),
    ],
    "Work": [("DTSTART:20260513T080000Z\r\nDTEND:20260513T090000Z", "Meeting")],
}
COLLECTIONS = [
    ("", "", "<D:collection/>", ""),
    ("private/", "Private", "<D:collection/><C:calendar/>", "VEVENT"),
    ("work/", "Work", "<D:collection/><C:calendar/>", ""),
    ("tasks/", "Tasks", "<D:collection/><C:calendar/>", "VTODO"),
    ("cards/", "Cards", "<D:collection/>", ""),
]


class Server:
    """A CalDAV server at /remote/, whose answers lead to the calendars of `me`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.fails, self.target = 0, ""
        self.stored = '"7"', _calendar(EVENTS["Work"])
        self.further: dict[str, str] = {}
        self.is_changed = False

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.asked.append((request.method, request.path))
        if request.headers.get("Authorization") != f"Basic {b64encode(f'me:{PASSWORD}'.encode()).decode()}":
            return web.Response(status=401)
        if self.fails:
            self.fails -= 1
            return web.Response(status=503)
        found: list[tuple[str, str]]
        match request.method, request.path:
            case "PROPFIND", "/remote/":
                found = [
                    (request.path, "<D:current-user-principal><D:href>/remote/me/</D:href></D:current-user-principal>")
                ]
            case "PROPFIND", "/remote/me/":
                url = f"http://inside.example{HOME}"
                found = [(request.path, f"<C:calendar-home-set><D:href>{url}</D:href></C:calendar-home-set>")]
            case "PROPFIND", path if path == HOME and request.headers["Depth"] == "1":
                found = [(f"{HOME}{path}", _about(*more)) for path, *more in COLLECTIONS]
            case "REPORT", path if "prop-filter" in (await request.read()).decode():
                path = f"{HOME}work/one.ics"
                tag, text = self.stored
                found = [(path, f"<D:getetag>{tag}</D:getetag><C:calendar-data>{escape(text)}</C:calendar-data>")]
            case "PUT" | "DELETE", path if path == f"{HOME}work/one.ics":
                if request.headers["If-Match"] != self.stored[0] or self.is_changed:
                    return web.Response(status=412)
                text = (await request.read()).decode()
                if len(_uids(text)) > 1:
                    return web.Response(status=403)
                self.stored = "", text
                return web.Response(status=204)
            case "PUT", path if path.startswith(f"{HOME}work/"):
                self.further[path] = (await request.read()).decode()
                of_name = {path.removeprefix(f"{HOME}work/").removesuffix(".ics")}
                refused = request.headers["If-None-Match"] != "*" or _uids(self.further[path]) != of_name
                return web.Response(status=412 if refused else 201)
            case "DELETE", path if path in self.further:
                del self.further[path]
                return web.Response(status=204)
            case "REPORT", path:
                name = path.removeprefix(HOME).strip("/").title()
                found = [(path, f"<C:calendar-data>{escape(_calendar(EVENTS[name]))}</C:calendar-data>")]
            case _:
                return web.Response(status=404)
        body = "".join(
            f"<D:response><D:href>{href}</D:href><D:propstat><D:prop>{said}</D:prop></D:propstat></D:response>"
            for href, said in found
        )
        answer = f'<D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">{body}</D:multistatus>'
        return web.Response(status=207, text=answer, content_type="application/xml")


def _uids(text: str) -> set[str]:
    return {line.removeprefix("UID:") for line in text.splitlines() if line.startswith("UID:")}


def _about(name: str, kinds: str, component: str) -> str:
    set_ = "C:supported-calendar-component-set"
    components = f'<{set_}><C:comp name="{component}"/></{set_}>' if component else ""
    return f"<D:displayname>{name}</D:displayname><D:resourcetype>{kinds}</D:resourcetype>{components}"


def _calendar(events: list[tuple[str, str]]) -> str:
    made = "".join(_EVENT.format(uid=title, when=when, title=title) for when, title in events)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{made}END:VCALENDAR\r\n"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.target = f"127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


class Clock(ManualClock):
    """Notes who goes to sleep, and for how long."""

    def __init__(self, start: float) -> None:
        super().__init__(start)
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await super().sleep(seconds)


def home(folder: Path, server: Server, clock: ManualClock | None = None, **more: Any) -> HubFixture:
    account = {"platform": "caldav", "url": f"http://{server.target}/remote/", "username": "me", "password": PASSWORD}
    sections = {
        "hub": {"time_zone": "Europe/Berlin"},
        "calendar": [{**account, **more}],
        "network": {"allow_private": [server.target]},
    }
    return HubFixture(
        folder,
        "http://127.0.0.1:9",
        sections=sections,
        integrations=("calendar",),
        clock=clock or ManualClock(NOON),
        only=ONLY,
    )


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"calendar.private": "Dentist", "calendar.work": None}),
        ({"days": 2}, {"calendar.private": "Dentist", "calendar.work": "Meeting"}),
        ({"calendars": "Work", "days": 3}, {"calendar.work": "Meeting"}),
        (
            {
                "days": 5,
                "custom_calendars": [
                    {"calendar": "Private", "name": "Bins", "search": "Bin"},
                    {"calendar": "Private", "name": "Birthdays", "search": ".*day of"},
                    {"calendar": "Elsewhere", "name": "None", "search": "."},
                ],
            },
            {"calendar.private_bins": "Bin: paper", "calendar.private_birthdays": "Birthday of Ada"},
        ),
    ],
)
async def test_the_calendars_of_a_server_are_entities_as_its_keys_say(
    server: Server, more: dict[str, Any], expected: dict[str, str | None], tmp_path: Path
) -> None:
    async with home(tmp_path, server, **more) as hub:
        for entity_id, title in expected.items():
            await until(
                lambda entity_id=entity_id, title=title: (  # type: ignore[misc]
                    (now := hub.states.get(entity_id))
                    and now.state in ("on", "off")
                    and now.attributes.get("message") == title
                )
            )

        assert {each.entity_id for each in hub.states.all() if each.entity_id.startswith("calendar.")} == {*expected}
        assert ("PROPFIND", HOME) in server.asked


async def test_all_events_of_a_time_are_told_and_the_tool_knows_the_calendars(server: Server, tmp_path: Path) -> None:
    async with home(tmp_path, server) as hub:
        await until(lambda: hub.states.get("calendar.private") is not None)

        told = await hub.services.call(
            "calendar",
            "get_events",
            {"entity_id": "calendar.private", "duration": {"days": 4}},
            context=Context(SYSTEM),
            wants_response=True,
        )
        listed = await hub.services.call(
            "calendar",
            "events",
            {"calendar": "work", "end": "2026-05-15"},
            context=Context(SYSTEM),
            wants_response=True,
        )

    assert told is not None
    titles = [each["summary"] for each in told["calendar.private"]["events"]]
    assert titles == ["Birthday of Ada", "Dentist", "Bin: paper"]
    assert listed is not None
    assert [each["title"] for each in listed["events"]] == ["Meeting"]


@pytest.mark.parametrize(
    ("service", "more", "stored"),
    [
        ("update_event", {"summary": "Talk", "rrule": "FREQ=DAILY;COUNT=2"}, "SUMMARY:Talk"),
        ("delete_event", {}, ""),
    ],
)
async def test_an_event_on_a_server_is_changed_and_removed(
    server: Server, service: str, more: dict[str, str], stored: str, tmp_path: Path
) -> None:
    async with home(tmp_path, server) as hub:
        await until(lambda: hub.states.get("calendar.work") is not None)
        data = {"entity_id": "calendar.work", "uid": "Meeting", **more}

        await hub.services.call("calendar", service, data, context=Context(SYSTEM))

        assert stored in server.stored[1]
        assert bool(stored) is bool(server.stored[1])
        server.stored = '"8"', _calendar(EVENTS["Private"])
        with pytest.raises(NotFound):
            await hub.services.call("calendar", service, data, context=Context(SYSTEM))


@pytest.mark.parametrize("is_changed", [False, True])
async def test_a_series_that_begins_with_a_change_is_a_file_of_its_own(
    server: Server, is_changed: bool, tmp_path: Path
) -> None:
    times = "DTSTART:20260513T080000Z\r\nDTEND:20260513T090000Z\r\nRRULE:FREQ=DAILY;COUNT=5\r\nEXDATE:20260516T080000Z"
    server.stored, server.is_changed = ('"7"', _calendar([(times, "Meeting")])), is_changed
    data = {"uid": "Meeting", "recurrence_id": "20260515T080000Z", "recurrence_range": "THISANDFUTURE"}
    async with home(tmp_path, server) as hub:
        await until(lambda: hub.states.get("calendar.work") is not None)
        change = {"entity_id": "calendar.work", **data, "summary": "Talk"}
        if is_changed:
            with pytest.raises(Refused):
                await hub.services.call("calendar", "update_event", change, context=Context(SYSTEM))
            assert server.further == {}
            return

        await hub.services.call("calendar", "update_event", change, context=Context(SYSTEM))

    (begun,) = server.further.values()
    assert ("UNTIL=20260515T075959Z" in server.stored[1], "EXDATE" in server.stored[1]) == (True, False)
    assert ("SUMMARY:Talk" in begun, "COUNT=3" in begun, "EXDATE:20260516T080000Z" in begun) == (True, True, True)


async def test_a_server_that_is_down_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.fails = 1
    clock = Clock(NOON)
    async with home(tmp_path, server, clock) as hub:
        await until(lambda: server.fails == 0)
        assert hub.states.get("calendar.private") is None

        await until(lambda: any(RETRY_S < each < RETRY_S * 1.25 for each in clock.slept))
        await clock.advance(RETRY_S * 1.25)

        await until(lambda: (now := hub.states.get("calendar.private")) and now.state == "off")


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/a/b", "https://p1.cloud.example/a/b"),
        ("https://p7.cloud.example/a", "https://p7.cloud.example/a"),
        ("http://p7.cloud.example/a", "https://p1.cloud.example/a"),
        ("https://elsewhere.example/a", "https://p1.cloud.example/a"),
    ],
)
def test_a_server_leads_to_its_own_hosts_alone(href: str, expected: str) -> None:
    assert at_server("https://p1.cloud.example/start/", href) == expected


@pytest.mark.parametrize(
    ("item", "error"),
    [
        ("{platform: caldav}", "calendar[0].url: url is missing"),
        ("{platform: google, url: https://a.example}", "calendar[0].platform"),
        ("{platform: caldav, url: https://a.example, username: me}", "expected both username and password"),
        (
            "{platform: caldav, url: https://a.example, custom_calendars: {calendar: a, name: b, search: '('}}",
            "calendar[0].custom_calendars.search: expected a regular expression",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(item: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(f"calendar: [{item}]\n")

    found = check(tmp_path, all_sections(IntegrationSchemas(find(tmp_path))))

    assert error in "\n".join(map(str, found.errors))
