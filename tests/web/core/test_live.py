from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, web

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM
from hub.core.errors import HubError, NotFound
from hub.core.surfaces import Caller, HttpCall
from hub.core.tasks import TaskOwner
from hub.gateway.connection.presence import Presence
from tests.until import until
from web.core.live import CLIENT_LIMIT, QUEUE_LIMIT, Frame, LiveUpdates

CALLER = Caller(SYSTEM, "cookie:1", "127.0.0.1", local=True)


class LiveServer:
    """A live hub of tabs on a real socket; counts how often its topic is rendered."""

    def __init__(self) -> None:
        self.tasks = TaskOwner("test")
        self.clock = ManualClock(0.0)
        self.presence = Presence(self.clock, "1")
        self.live = LiveUpdates(
            self.tasks,
            hello=lambda: ({"t": "hello"},),
            language=lambda call: call.request.query["lang"],
            presence=self.presence,
        )
        self.live.add_topic("count", self.state)
        self.live.add_topic("broken", self.broken)
        self.rendered: list[str] = []
        self.value = 0
        self.port = 0

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        self.rendered.append(language)
        return ({"t": "html", "id": topic, "html": f"{language} {self.value}"},)

    async def broken(self, topic: str, language: str) -> Sequence[Frame]:
        raise NotFound("it is not there")

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, web.BaseRequest)
        try:
            return await self.live.serve(HttpCall(request, CALLER, {}))  # type: ignore[arg-type]
        except HubError as error:
            return web.Response(status=error.http_status)


@pytest.fixture
async def server() -> AsyncIterator[LiveServer]:
    server = LiveServer()
    runner = web.ServerRunner(web.Server(server.handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    yield server
    await server.live.close()
    await server.tasks.cancel_all()
    await runner.cleanup()


@pytest.fixture
async def client(server: LiveServer) -> AsyncIterator[ClientSession]:
    async with ClientSession(f"http://127.0.0.1:{server.port}") as session:
        yield session


async def watch(client: ClientSession, *topics: str, language: str = "en") -> ClientWebSocketResponse:
    """Open a tab, watch topics, and read past the greeting and the first state of `count`."""
    socket = await client.ws_connect(f"/live?lang={language}")
    assert (await socket.receive_json(timeout=20))["t"] == "hello"
    await socket.send_json({"t": "watch", "topics": list(topics)})
    return socket


async def next_html(socket: ClientWebSocketResponse) -> str:
    frame = await socket.receive_json(timeout=20)
    assert frame["t"] == "html"
    return str(frame["html"])


async def test_who_watches_a_topic_gets_its_state_and_its_changes(server: LiveServer, client: ClientSession) -> None:
    socket = await watch(client, "count")
    first = await next_html(socket)
    server.value = 1

    server.live.changed("count")

    assert [first, await next_html(socket)] == ["en 0", "en 1"]


async def test_many_changes_become_one_frame_for_all_tabs_of_a_language(
    server: LiveServer, client: ClientSession
) -> None:
    tabs = [await watch(client, "count") for _ in range(3)]
    for tab in tabs:
        await next_html(tab)
    server.rendered.clear()

    for value in range(1, 20):
        server.value = value
        server.live.changed("count")

    assert [await next_html(tab) for tab in tabs] == ["en 19"] * 3
    assert server.rendered == ["en"]


async def test_each_tab_is_told_in_its_language(server: LiveServer, client: ClientSession) -> None:
    english, chinese = await watch(client, "count"), await watch(client, "count", language="zh-CN")
    await next_html(english), await next_html(chinese)
    made: list[str] = []

    def frame(language: str) -> Frame:
        made.append(language)
        return {"t": "html", "id": "x", "html": f"sent in {language}"}

    server.live.send("count", frame)

    assert await next_html(english) == "sent in en"
    assert await next_html(chinese) == "sent in zh-CN"
    assert sorted(made) == ["en", "zh-CN"]


async def test_a_topic_nobody_watches_costs_nothing(server: LiveServer, client: ClientSession) -> None:
    socket = await watch(client, "broken", "unknown")

    server.live.changed("count")
    server.live.send("count", lambda language: pytest.fail("nobody watches"))
    await socket.send_json({"t": "watch", "topics": ["count"]})

    assert await next_html(socket) == "en 0"
    assert server.rendered == ["en"]


async def test_a_tab_that_cannot_keep_up_gets_the_whole_state_instead(
    server: LiveServer, client: ClientSession
) -> None:
    socket = await watch(client, "count")
    await next_html(socket)
    server.value = 7

    for number in range(QUEUE_LIMIT + 10):
        server.live.send("count", lambda language, number=number: {"t": "html", "id": "x", "html": str(number)})  # type: ignore[misc]

    seen = ""
    while seen != "en 7":
        seen = await next_html(socket)


async def test_a_closed_tab_is_forgotten(server: LiveServer, client: ClientSession) -> None:
    socket = await watch(client, "count")
    await next_html(socket)

    await socket.close()
    async with asyncio.timeout(20):
        while server.live.client_count:  # noqa: ASYNC110  nothing tells it; the block is bounded
            await asyncio.sleep(0)

    assert not server.live.is_watched("count")


async def test_there_is_a_bound_on_tabs(server: LiveServer, client: ClientSession) -> None:
    tabs = [await client.ws_connect("/live?lang=en") for _ in range(CLIENT_LIMIT)]

    refused = await client.get("/live?lang=en")

    assert refused.status == 503
    assert len(tabs) == CLIENT_LIMIT


async def test_tabs_are_closed_when_the_hub_stops(server: LiveServer, client: ClientSession) -> None:
    socket = await watch(client, "count")
    await next_html(socket)

    await server.live.close()
    closing = await socket.receive(timeout=20)

    assert closing.data == 1001


async def test_a_state_that_was_overtaken_by_a_change_is_made_again(client: ClientSession, server: LiveServer) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(topic: str, language: str) -> Sequence[Frame]:
        value = server.value
        begun.set()
        await go_on.wait()
        return ({"t": "html", "id": topic, "html": f"{value}"},)

    server.live.add_topic("slow", slow)
    socket = await watch(client, "slow")
    await begun.wait()
    server.value = 7
    server.live.send("slow", lambda language: {"t": "html", "id": "new", "html": "7 alone"})
    go_on.set()

    assert [await next_html(socket) for _ in range(2)] == ["7 alone", "7"]


async def test_a_browser_with_open_tabs_is_present_and_idle_while_nobody_uses_it(
    server: LiveServer, client: ClientSession
) -> None:
    def seen() -> list[tuple[str, str]]:
        return [(each["host"], each["state"]) for each in server.presence.list()[1:]]

    agent = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"}
    tabs = [await client.ws_connect("/live?lang=en", headers=agent) for _ in range(2)]
    opened = seen()
    await server.clock.advance(90)
    unused = seen()
    await tabs[1].send_json({"t": "used"})
    await until(lambda: seen() != unused)
    used = seen()
    for tab in tabs:
        await tab.close()
    await until(lambda: seen() == [])

    states = [state for ((_, state),) in (opened, unused, used)]
    assert [name for name, _ in opened] == ["Chrome · Linux"]
    assert states == ["active", "idle", "active"]
