"""The extension hands over one tab, to a real hub, and nothing beside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import WSMsgType, web
from playwright.async_api import Page, expect

from tests.integrations.tools.browser.conftest import ref
from tests.integrations.tools.browser.one_chrome import OneChrome, one_chrome
from tests.integrations.tools.browser.shop import Shop
from tests.servers.hub_process import HubProcess

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

CONFIGURATION = """\
network: {{allow_private: ["127.0.0.1:{port}", "localhost:{port}"]}}
browser: {{profiles: {{chrome: {{mode: tab, network: private}}}}}}
"""


class Home:
    """A hub, a shop, and the Chrome of a person."""

    def __init__(self, hub: HubProcess, shop: Shop, chrome: OneChrome) -> None:
        self.hub, self.shop, self.chrome = hub, shop, chrome

    async def ask(self, method: str, **params: Any) -> Any:
        return await asyncio.to_thread(self.hub.rpc, method, params)

    async def use(self, action: str, **params: Any) -> str:
        """Use the tab as an agent does; return what it is told."""
        body = {"method": "browser.use", "params": {"action": action, "profile": "chrome", **params}}
        _, answer = await asyncio.to_thread(self.hub.post, "/api/rpc", body)
        return str(answer["payload"]["output"] if "payload" in answer else answer["error"]["message"])

    async def ended(self) -> None:
        """Wait until the hub has noticed that no tab is handed over."""
        async with asyncio.timeout(60):
            while any(each["attached"] for each in await self.ask("browser.status")):  # noqa: ASYNC110  no event tells
                await asyncio.sleep(0.05)

    async def pair(self) -> Page:
        """Connect the browser with the hub, as its person does; return the options page."""
        page = await self.chrome.open(f"chrome-extension://{self.chrome.id}/options.html")
        made = await self.ask("device.pair.setupCode", bootstrapProfile="tab", includeQr=False)
        await page.get_by_label("Setup code").fill(made["setupCode"])
        await page.get_by_role("button", name="Connect", exact=True).click()
        await expect(page.get_by_role("status")).to_contain_text(f"Connected with ws://127.0.0.1:{self.hub.port}")
        return page


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    folder = tmp_path_factory.mktemp("extension")
    shop = Shop()
    await shop.start()
    (folder / "home").mkdir(mode=0o700)
    (folder / "home" / "configuration.yaml").write_text(CONFIGURATION.format(port=shop.port))
    hub = HubProcess(folder / "home")
    await asyncio.to_thread(hub.start)
    async with one_chrome(folder / "chrome") as chrome:
        yield Home(hub, shop, chrome)
    await asyncio.to_thread(hub.stop)
    await shop.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def home(started: Home) -> Home:
    await started.chrome.clear()
    return started


async def book(home: Home, form: str) -> str:
    """Send the form with a file of the agent's workspace; return what the tab shows then."""
    workspace = home.hub.home / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "table.png").write_bytes(b"picture")
    upload = {"kind": "upload", "ref": ref(form, 'button "Picture"'), "paths": ["table.png"]}
    send = {"kind": "click", "ref": ref(form, 'button "Book now"')}
    await home.use("act", steps=[upload, send, {"kind": "wait", "text": "guests, picture"}])
    return await home.use("snapshot")


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_one_tab_is_handed_over_used_kept_over_a_restart_and_taken_back(home: Home) -> None:
    chrome, shop = home.chrome, home.shop
    shop.pages["/mail"] = "<title>Mail</title><p>A secret letter"
    shop.pages["/frame"] = "<title>Frame</title><button onclick=\"document.body.append('Pressed')\">Press</button>"
    shop.pages["/with"] = f"<title>With</title><iframe src='http://localhost:{shop.port}/frame'></iframe>"
    options = await home.pair()
    mail, page = await chrome.open(f"{shop.url}/mail"), await chrome.open(shop.url)
    await chrome.press(options)
    await chrome.tells("not_of_the_web")

    await chrome.press(page)
    await chrome.shows("ON")
    seen = (await home.ask("browser.snapshot", profile="chrome"))["snapshot"]
    there = {"kind": "wait", "url": "**/book?table=4"}
    await home.use("act", steps=[{"kind": "click", "ref": ref(seen, 'link "Table 4"')}, there])
    form = await home.use("snapshot")
    await home.use("act", steps=[{"kind": "fill", "ref": ref(form, 'textbox "Name"'), "text": "Ada"}])
    typed = await page.get_by_label("Name").input_value()
    booked = await book(home, form)
    await home.use("navigate", url=f"{shop.url}/book?table=4")
    picture = await home.ask("browser.screenshot", profile="chrome")
    tabs = await home.ask("browser.tabs", profile="chrome")
    cookies, closed = await home.use("cookies"), await home.use("close")
    beyond = await home.use("navigate", url="http://127.0.0.1:9/")
    await home.use("open", url=f"{shop.url}/with")
    await home.use("act", steps=[{"kind": "wait", "state": "load"}])
    other_site = await home.use("snapshot")
    await home.use("act", steps=[{"kind": "click", "ref": ref(other_site, 'button "Press"')}])
    pressed = await home.use("snapshot")

    assert "A secret letter" not in seen
    assert typed == "Ada"
    assert "Ada, 1 guests, picture of 7 bytes" in booked
    assert picture["data"]
    assert [each["url"] for each in tabs] == [f"{shop.url}/book?table=4"]
    assert "Storage.getCookies reaches beyond the tab" in cookies
    assert "whoever handed the tab over closes it" in closed
    assert "network.allow_private" in beyond
    assert page.url == f"{shop.url}/with", "there is one tab, and opening leads it there"
    assert "Pressed" in pressed
    assert mail.url == f"{shop.url}/mail"

    await asyncio.to_thread(home.hub.stop)
    await chrome.shows("…")
    await page.goto(f"{shop.url}/book")  # nobody judges the requests of its person now, and nothing holds them
    await asyncio.to_thread(home.hub.start)
    await chrome.shows("ON")
    again = await home.use("snapshot")
    tabs = await home.ask("browser.tabs", profile="chrome")

    assert "Book now" in again
    assert len(tabs) == 1

    await chrome.press(mail)
    await chrome.shows_in_front("ON")
    moved = await home.use("snapshot")
    await chrome.press(mail)
    await chrome.shows()
    await home.ended()
    taken_back = await home.use("snapshot")

    assert "A secret letter" in moved
    assert "no tab is handed over to the profile chrome" in taken_back


@pytest.mark.parametrize("way", ["closed", "gone", "revoked"])
async def test_what_ends_a_tab_or_the_trust_in_its_browser_ends_it_for_the_hub(home: Home, way: str) -> None:
    chrome = home.chrome
    await home.pair()
    page = await chrome.open(home.shop.url)
    await chrome.press(page)
    await chrome.shows("ON")
    seen = await home.use("snapshot")

    if way == "closed":
        await page.close()
    elif way == "gone":  # the browser itself ends the use of its own pages, as it does with "Cancel" in its bar
        await page.goto("chrome://version")
    else:
        [device] = (await home.ask("device.pair.list"))["paired"]
        await home.ask("device.pair.remove", deviceId=device["deviceId"])
    await chrome.shows()
    await home.ended()

    assert 'link "Table 4"' in seen
    assert "no tab is handed over" in await home.use("snapshot")
    if way == "revoked":
        await chrome.tells("refused")
        popup = await chrome.open(f"chrome-extension://{chrome.id}/popup.html")
        await expect(popup.get_by_role("alert")).to_contain_text("Connect it again in the options")


HOSTILE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Target.getTargets", {}),
    ("Target.attachToTarget", {"targetId": "OTHER", "flatten": True}),
    ("Target.createTarget", {"url": "about:blank"}),
    ("Target.setDiscoverTargets", {"discover": True}),
    ("Browser.close", {}),
    ("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": "/tmp"}),
    ("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": "/tmp"}),
    ("Storage.getCookies", {}),
    ("Network.getAllCookies", {}),
    ("Network.getCookies", {"urls": ["https://example.com/"]}),
    ("DOM.setFileInputFiles", {"files": ["/etc/passwd"], "nodeId": 1}),
    ("Input.dispatchDragEvent", {"type": "drop", "x": 1, "y": 1, "data": {"items": [], "files": ["/etc/passwd"]}}),
    ("Page.navigate", {"url": "file:///etc/passwd"}),
    ("Page.navigate", {"url": "chrome://settings"}),
    ("Page.navigate", {"url": "javascript:alert(1)"}),
)


@asynccontextmanager
async def hostile_hub(commands: list[dict[str, Any]]) -> AsyncIterator[tuple[str, asyncio.Future[list[Any]]]]:
    """A hub that asks a tab for more than a tab; its address, and what it heard by the time all was answered."""
    heard: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()

    async def serve(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("homarus.browser",))
        await socket.prepare(request)
        await socket.receive_json()
        for each in ({"ready": True}, *commands):
            await socket.send_json(each)
        found: list[Any] = []
        async for message in socket:
            assert message.type is WSMsgType.TEXT
            found.append(json.loads(message.data))
            if {each["id"] for each in commands} <= {each.get("id") for each in found} and not heard.done():
                heard.set_result(found)
        return socket

    app = web.Application()
    app.router.add_get("/browser/attach/{name}", serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"ws://127.0.0.1:{runner.addresses[0][1]}", heard
    await runner.cleanup()


async def test_the_extension_does_for_no_hub_what_reaches_beyond_the_tab(home: Home) -> None:
    chrome, shop = home.chrome, home.shop
    shop.pages["/framed"] = f"<title>Framed</title><iframe src='http://localhost:{shop.port}/frame'></iframe>"
    other = await chrome.open(f"{shop.url}/mail")
    page = await chrome.open(f"{shop.url}/framed")
    known = {"targetId": await chrome.target(other)}
    asked = [(method, {**params, **known} if "targetId" in params else params) for method, params in HOSTILE]
    everything = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": [{}]}
    asked += [
        ("Target.setAutoAttach", everything),
        ("Runtime.evaluate", {"expression": "document.title + !open('about:blank')", "userGesture": True}),
    ]
    commands = [{"id": id, "method": method, "params": params} for id, (method, params) in enumerate(asked)]

    async with hostile_hub(commands) as (address, heard):
        await chrome.keep(address=address, profile="chrome", token="x")
        await chrome.press(page)
        found = await asyncio.wait_for(heard, 60)
        await chrome.press(page)
        await chrome.shows()

    answers = {each["id"]: each for each in found if "id" in each}
    refused = [
        id for id, each in answers.items() if "reaches beyond the tab" in each.get("error", {}).get("message", "")
    ]
    attached = [each["params"]["targetInfo"] for each in found if each.get("method") == "Target.attachedToTarget"]
    assert sorted(refused) == list(range(len(HOSTILE)))
    assert answers[len(HOSTILE) + 1]["result"]["result"]["value"] == "Framedfalse", "the new tab is out of reach"
    assert {each["type"] for each in attached} <= {"iframe", "worker"}
    assert page.url == f"{shop.url}/framed"
