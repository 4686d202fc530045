"""Lists of tasks on a CalDAV server: a double that minds etags and has more than we know of."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError, NotFound
from integrations.tools.calendar.tasks import places_after_move
from tests.hub_fixture import HubFixture
from tests.integrations.tools.standing import NOON
from tests.until import until

ONLY = ("hub database", "registries", "helpers", "history", "integrations", "egress")
PASSWORD = "key-0123456789"
PAINT = """BEGIN:VCALENDAR\r
VERSION:2.0\r
PRODID:x\r
BEGIN:VTODO\r
UID:paint-1\r
CREATED:20260101T100000Z\r
DTSTAMP:20260501T100000Z\r
SUMMARY:Paint the fence\r
DUE;TZID=America/New_York:20260601T180000\r
STATUS:IN-PROCESS\r
X-COLOUR:green\r
BEGIN:VALARM\r
ACTION:DISPLAY\r
TRIGGER:-PT1H\r
DESCRIPTION:Paint\r
END:VALARM\r
END:VTODO\r
END:VCALENDAR\r
"""


class TaskServer:
    """A collection at /dav/chores/ whose addresses are absolute, as some servers write them."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[int, str]] = {"/dav/chores/paint.ics": (7, PAINT)}
        self.count, self.target, self.fails = 7, "", 0

    async def answer(self, request: web.BaseRequest) -> web.Response:
        body = (await request.read()).decode()
        if request.headers.get("Authorization") != f"Basic {b64encode(f'me:{PASSWORD}'.encode()).decode()}":
            return web.Response(status=401)
        if self.fails:
            return web.Response(status=self.fails, text="obey me")
        has = self.stored.get(request.path)
        if request.method == "REPORT" and "VTODO" in body:
            return self._report()
        if request.headers.get("If-Match", f'"{has and has[0]}"') != f'"{has and has[0]}"':
            return web.Response(status=412)
        if request.method == "PUT" and (has is None) is (request.headers.get("If-None-Match") == "*"):
            self.count += 1
            self.stored[request.path] = self.count, body
            return web.Response(status=201)
        if request.method == "DELETE" and has is not None:
            del self.stored[request.path]
            return web.Response(status=204)
        return web.Response(status=400)

    def _report(self) -> web.Response:
        found = "".join(
            f'<response><href>http://elsewhere.example{path}</href><propstat><prop><getetag>"{tag}"</getetag>'
            f"<C:calendar-data>{escape(text)}</C:calendar-data></prop></propstat></response>"
            for path, (tag, text) in reversed(self.stored.items())
        )
        answer = f'<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">{found}</multistatus>'
        return web.Response(status=207, text=answer, content_type="application/xml")


class Home:
    """A hub with that list."""

    def __init__(self, folder: Path, server: TaskServer) -> None:
        self.server, self.clock = server, ManualClock(NOON)
        account = {"url": f"http://{server.target}/dav/chores/", "username": "me", "password": PASSWORD}
        sections = {
            "hub": {"time_zone": "Europe/Berlin"},
            "calendar": {"lists": {"chores": {**account, "name": "Chores"}}},
            "network": {"allow_private": [server.target]},
        }
        self.hub = HubFixture(
            folder, "http://127.0.0.1:9", sections=sections, integrations=("calendar",), clock=self.clock, only=ONLY
        )

    async def call(self, name: str, **data: Any) -> Any:
        wants = name == "get_items"
        answer = await self.hub.services.call(
            "todo", name, {"entity_id": "todo.chores", **data}, context=Context(SYSTEM), wants_response=wants
        )
        return answer and answer["todo.chores"]["items"]

    async def state(self, wanted: str) -> Any:
        return await until(lambda: (now := self.hub.states.get("todo.chores")) and now.state == wanted and now)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    server = TaskServer()
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.target = f"127.0.0.1:{runner.addresses[0][1]}"
    made = Home(tmp_path, server)
    await made.hub.start()
    await made.state("1")
    yield made
    await made.hub.stop()
    await runner.cleanup()


async def test_tasks_are_read_added_changed_and_removed_on_the_server(home: Home) -> None:
    (paint,) = await home.call("get_items")
    await home.call("add_item", item="Sweep; all, of it", due_date="2026-05-20", description="behind\nthe shed")
    both = await home.call("get_items")
    await home.call("update_item", item="Paint the fence", status="completed", due_datetime="2026-06-02 09:00")
    state = home.hub.states.get("todo.chores")
    done = await home.call("get_items", status=["completed"])
    text = home.server.stored["/dav/chores/paint.ics"][1]
    await home.call("remove_completed_items")
    await home.call("update_item", item=both[1]["uid"], rename="Sweep", due_date=None, description=None)

    assert paint == {
        "summary": "Paint the fence",
        "uid": "paint-1",
        "status": "needs_action",
        "due": "2026-06-02T00:00:00+02:00",
    }
    assert [each["summary"] for each in both] == ["Paint the fence", "Sweep; all, of it"]
    assert (both[1]["due"], both[1]["description"]) == ("2026-05-20", "behind\nthe shed")
    assert [(each["uid"], each["due"]) for each in done] == [("paint-1", "2026-06-02T09:00:00+02:00")]
    assert state is not None
    assert (state.state, state.attributes["supported_features"]) == ("1", 127)
    assert state.context.authority.tainted
    assert all(kept in text for kept in ("X-COLOUR:green", "BEGIN:VALARM", "PERCENT-COMPLETE:100", "STATUS:COMPLETED"))
    assert await home.call("get_items") == [
        {"summary": "Sweep", "uid": both[1]["uid"], "status": "needs_action"},
    ]


async def test_a_task_is_moved_behind_another_and_to_the_front(home: Home) -> None:
    for name in ("Sweep", "Mow"):
        await home.call("add_item", item=name)

    async def titles() -> list[str]:
        return [each["summary"] for each in await home.call("get_items")]

    before = await titles()
    await home.call("move_item", item="Paint the fence", previous_item=before[1])
    behind = await titles()
    await home.call("move_item", item=behind[-1])
    front = await titles()

    assert before[0] == "Paint the fence"
    assert behind == [before[1], before[0], before[2]]
    assert front == [before[2], before[1], before[0]]
    assert "X-COLOUR:green" in home.server.stored["/dav/chores/paint.ics"][1]


@pytest.mark.parametrize(
    ("places", "index", "to", "expected"),
    [
        ([10, 20, 30], 0, 2, {0: 31}),
        ([10, 20, 30], 2, 0, {2: 9}),
        ([10, 20, 30], 2, 1, {2: 11}),
        ([1, 2, 3, 9], 3, 1, {3: 2, 1: 3, 2: 4}),
        ([5, 5, 5], 0, 1, {0: 6, 2: 7}),
        ([5], 0, 0, {}),
    ],
)
def test_no_more_tasks_are_written_than_have_to_change_their_place(
    places: list[int], index: int, to: int, expected: dict[int, int]
) -> None:
    assert places_after_move(places, index, to) == expected


async def test_what_somebody_else_changed_meanwhile_is_not_written_over(home: Home) -> None:
    (paint,) = await home.call("get_items")
    tag, text = home.server.stored["/dav/chores/paint.ics"]
    home.server.stored["/dav/chores/paint.ics"] = tag + 1, text.replace("fence", "shed")

    with pytest.raises(NotFound):
        await home.call("update_item", item="Paint the fence", status="completed")
    await home.call("update_item", item=paint["uid"], status="completed")

    assert "Paint the shed" in home.server.stored["/dav/chores/paint.ics"][1]


async def test_a_server_that_refuses_changes_nothing_and_its_words_are_not_told(home: Home) -> None:
    home.server.fails = 500

    with pytest.raises(HubError) as refused:
        await home.call("add_item", item="Sweep")

    assert "the status 500" in refused.value.message
    assert "obey" not in refused.value.message
    assert len(home.server.stored) == 1


async def test_what_is_changed_elsewhere_is_seen_at_the_next_look(home: Home) -> None:
    home.server.stored.clear()
    await until(lambda: home.clock.sleepers > 0)

    await home.clock.advance(1_200)

    assert (await home.state("0")).state == "0"
