"""Profiles: what may be configured, a Chrome that is attached, and what is missing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from hub.cli.hub_link import way
from hub.cli.remote import RemoteHome
from hub.core.context import Context
from hub.core.errors import Forbidden, HubError, Unavailable
from hub.core.schema import SchemaError
from hub.core.secret import Secret
from hub.core.surfaces import Caller, HttpCall
from hub.sandbox.sandboxes import Sandboxes
from hub.sandbox.settings import SandboxSettings
from hub.security.egress import Egress, EgressRefused
from hub.tools.contract import ToolCall
from integrations.tools.browser.attach_route import PATH, attach_route
from integrations.tools.browser.attaching import attach as attach_chrome
from integrations.tools.browser.profile import IDLE_S, TAKE_OVER_S
from integrations.tools.browser.schema import CONFIG_SCHEMA
from integrations.tools.browser.service import BrowserService
from tests.integrations.tools.browser.conftest import EVERY_KIND, KINDS, Browsing
from tests.integrations.tools.standing import MAIN, Standing

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"profiles": {"a": {"mode": "remote"}}}, "missing: where the Chrome listens"),
        ({"profiles": {"a": {"cdp_url": "http://127.0.0.1:9222"}}}, "not for a profile that is managed"),
        ({"profiles": {"a": {"agent": "main"}}}, "only for a profile with mode: sandbox"),
        ({"profiles": {"a": {"mode": "remote", "cdp_url": "file:///x"}}}, "expected an address such as"),
        ({"profiles": {"../a": {}}}, "expected small letters"),
        ({"profiles": {"a": {"network": "all"}}}, "public"),
        ({"headless": "perhaps"}, "headless"),
        ({"port": 18800}, "port"),
    ],
)
async def test_a_wrong_configuration_says_what_is_expected(config: object, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        CONFIG_SCHEMA(config)

    assert words in str(caught.value)


ALL = SandboxSettings(mode="all", whole=True)


@pytest.fixture(scope="module")
def chrome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Chrome that runs by itself; its debugging address."""
    folder = tmp_path_factory.mktemp("chrome")
    path = getattr(request, "param", KINDS[0])
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={folder}")
    with subprocess.Popen(
        [path, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if b"DevTools listening on ws://" in line)
        yield f"http://{line.decode().partition('ws://')[2].partition('/')[0]}"
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)  # the program may be a script that started the browser


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def liar() -> AsyncIterator[str]:
    """What answers like a Chrome, and names a socket elsewhere."""

    async def version(request: web.Request) -> web.Response:
        return web.json_response({"webSocketDebuggerUrl": "ws://10.0.0.1/devtools/browser/1"})

    app = web.Application()
    app.router.add_get("/json/version", version)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize("name", [None, "mine", "waits"])
async def test_beside_other_homes_no_browser_of_this_machine_is_used(name: str | None, tmp_path: Path) -> None:
    standing = Standing(tmp_path / "home")
    attached = {"mode": "attach", "cdp_url": "http://127.0.0.1:1"}
    service = BrowserService(
        CONFIG_SCHEMA({"profiles": {"mine": attached, "waits": {"mode": "attach"}}}),
        standing.home,
        egress=Egress(list),
        clock=standing.clock,
        workspaces=standing.workspaces,
        sandboxes=Sandboxes(lambda _: ALL, standing.workspaces.sandboxes, standing.clock, mandatory=True),
        default_agent="main",
    )

    with pytest.raises(Forbidden, match="mode: sandbox"):
        await service.start(name)

    await service.close()


@pytest_asyncio.fixture(loop_scope="session")
async def service(browsing: Browsing, chrome: str, liar: str, tmp_path: Path) -> AsyncIterator[BrowserService]:
    standing = Standing(tmp_path / "home")
    profiles = {
        name: {"mode": "attach", "network": "private", "cdp_url": url}
        for name, url in (("mine", chrome), ("liar", liar))
    }
    profiles |= {"waits": {"mode": "attach", "network": "private"}}
    profiles |= {"boxed": {"mode": "sandbox"}, "others": {"mode": "sandbox", "agent": "other"}}
    config = CONFIG_SCHEMA({"executable": "/nowhere/chromium", "profiles": profiles})
    found = BrowserService(
        config,
        standing.home,
        egress=Egress(lambda: browsing.named),
        clock=standing.clock,
        workspaces=standing.workspaces,
        sandboxes=Sandboxes(lambda _: ALL, standing.workspaces.sandboxes, standing.clock),
        default_agent="main",
    )
    yield found
    await found.close()


@pytest.mark.parametrize("chrome", KINDS, indirect=True)
async def test_an_attached_chrome_is_used_judged_and_left_running(browsing: Browsing, service: BrowserService) -> None:
    place = f"127.0.0.1:{browsing.canary.port}"
    browsing.shop.redirects = {"/away": f"http://{place}/redirected"}
    browsing.shop.pages = {
        "/hostile": f"""<title>Hostile</title><img src="http://{place}/img"><iframe src="http://{place}/frame"></iframe>
            <script>new WebSocket("ws://{place}/"); fetch("http://{place}/").catch(() => 0)
            .then(() => document.title = "finished")</script>"""
    }

    profile = await service.start("mine")
    tab = await profile.open("s")
    await profile.go(tab, f"{browsing.shop.url}/hostile")
    await tab.page.wait_for_function("document.title === 'finished'")
    await service.stop("mine")

    assert browsing.canary.heard == b"", "it may connect ahead of a request, and says nothing"
    assert not profile.running


async def test_a_chrome_elsewhere_is_attached_used_and_comes_back(
    browsing: Browsing, service: BrowserService, chrome: str
) -> None:
    route, caller = attach_route(service, "browser"), Caller(browsing.standing.owner, "hub", "127.0.0.1", local=True)
    app, said = web.Application(), asyncio.Queue[str]()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != "Bearer the-token":
            raise web.HTTPUnauthorized
        try:
            return await route.handler(HttpCall(request, caller, request.match_info))
        except HubError as error:
            return web.Response(status=error.http_status)

    app.router.add_get(PATH, answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hub = RemoteHome("127.0.0.1", runner.addresses[0][1], "", Secret("the-token"), tls=False)
    browsing.shop.pages = {"/": "<title>From afar</title>"}
    with pytest.raises(Unavailable, match="run `homarus browser attach --profile waits` where it runs"):
        await service.start("waits")
    with pytest.raises(Unavailable, match="the hub refuses it: 400"):
        await attach_chrome(way(hub, "/browser/attach/mine"), chrome, said.put_nowait)
    with pytest.raises(Unavailable, match="no Chrome answers at"):
        await attach_chrome(way(hub, "/browser/attach/waits"), "http://127.0.0.1:1", said.put_nowait)
    assert said.empty()

    attaching = asyncio.create_task(attach_chrome(way(hub, "/browser/attach/waits"), chrome, said.put_nowait))
    titles = []
    for _ in range(2):
        assert "is attached" in await said.get()
        profile = await service.start("waits")
        tab = await profile.open("s")
        await profile.go(tab, browsing.shop.url)
        titles.append(await tab.page.title())
        with pytest.raises(EgressRefused):
            await profile.go(tab, f"http://127.0.0.1:{browsing.canary.port}/")
        await tab.page.close()
        await service.stop("waits")
    attaching.cancel()
    await asyncio.wait({attaching})
    await runner.cleanup()

    assert titles == ["From afar"] * 2
    assert profile.attached is None


@pytest.mark.parametrize(("name", "refused"), [("boxed", False), ("others", True), ("default", True), ("mine", True)])
async def test_a_confined_conversation_uses_a_browser_in_its_agents_sandbox_alone(
    service: BrowserService, browsing: Browsing, name: str, refused: bool
) -> None:
    call = ToolCall("c", "browser", {}, Context(browsing.standing.owner), "main", MAIN, "r")

    with pytest.raises(Forbidden, match=r"a browser there alone: boxed$") if refused else nullcontext():
        service.refuse_outside(call, service.profile(name))


@EVERY_KIND
async def test_a_browser_in_a_sandbox_reaches_nothing_by_itself_and_sees_no_file_of_the_machine(
    browsing: Browsing,
) -> None:
    place, profile = f"127.0.0.1:{browsing.canary.port}", browsing.profile("boxed")
    browsing.shop.redirects = {"/away": f"http://{place}/redirected"}
    browsing.shop.pages = {
        "/": f"<img src='http://{place}/img'><iframe src='http://localhost:{browsing.canary.port}/'>"
    }

    before = browsing.canary.reached
    browsing.used = "boxed"
    await browsing.visit()
    tab = profile.tab(MAIN)
    tried = f"url => fetch('http://{place}/', {{mode: 'no-cors'}}).then(() => 'reached', () => 'failed')"
    fetched = await tab.page.evaluate(tried)
    await browsing.use("navigate", url=f"{browsing.shop.url}/away")
    said = (await browsing.use("snapshot")).output
    browsing.used = "lan"
    (browsing.standing.home.path / "canary.txt").write_text("x")
    await tab.page.goto(browsing.standing.home.path.as_uri(), wait_until="commit")
    files = await tab.page.content()
    await profile.stop()

    assert (fetched, browsing.canary.reached - before) == ("reached", 0), "what is reached is the answer of the proxy"
    assert "network.allow_private" in said
    assert ".storage" in files
    assert "canary.txt" not in files


@pytest.mark.parametrize("browsing", ["sh"], indirect=True)
async def test_why_a_browser_in_a_sandbox_ended_is_said(browsing: Browsing) -> None:
    browsing.used = "boxed"

    result = await browsing.use("navigate", url=browsing.shop.url)

    assert "the browser in the sandbox ended: " in result.output
    assert "option" in result.output


async def test_what_is_missing_is_named(service: BrowserService) -> None:
    with pytest.raises(Unavailable, match="there is no Chromium at /nowhere/chromium: install it"):
        await service.start(None)
    with pytest.raises(Unavailable, match=r"it names a socket at 10\.0\.0\.1"):
        await service.start("liar")


async def test_a_browser_that_nobody_uses_is_stopped(browsing: Browsing) -> None:
    clock = browsing.standing.clock
    browsing.shop.pages = {"/": "x"}
    await browsing.visit()
    profile = browsing.profile("lan")

    profile.take_over("Me")
    await clock.advance(TAKE_OVER_S - 1)
    held = profile.person
    await clock.advance(1)

    assert held == "Me"
    assert profile.person is None
    await clock.advance(IDLE_S)
    assert not profile.running
    assert (await browsing.visit()).count("\n") > 1
