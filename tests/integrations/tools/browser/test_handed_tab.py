"""A tab as the hub has it: who may hand it over, what is sent to it, and what is not."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from hub.core.context import Authority
from hub.core.errors import HubError, Unavailable
from hub.core.surfaces import ADMIN, BROWSER, Caller, HttpCall
from hub.gateway.access.cross_origin import EXTENSION
from hub.sandbox.sandboxes import Sandboxes
from hub.sandbox.settings import SandboxSettings
from hub.security.egress import Egress
from integrations.tools.browser.attach_route import EXTENSION_PROTOCOL, PATH, REFUSED, attach_route
from integrations.tools.browser.handed_tab import FOLDER as EXTENSION_FOLDER, INSIDE, allowed, is_refused
from integrations.tools.browser.schema import CONFIG_SCHEMA
from integrations.tools.browser.service import BrowserService
from tests.integrations.tools.standing import Standing
from tests.until import until

HELLO = {"tab": {"id": "T", "url": "https://mine.example/", "title": "Mine"}, "userAgent": "Chrome/150.0.1.2 Safari"}
SCOPES = {"wide": frozenset({BROWSER, ADMIN})}


class Door:
    """The route, behind which a tab is used; a token is the name of a credential."""

    def __init__(self, service: BrowserService, url: str) -> None:
        self.service, self.url = service, url

    @asynccontextmanager
    async def hand_over(
        self, token: str = "mine", profile: str = "chrome", hello: Any = HELLO
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Say what the extension says first."""
        address = f"{self.url}/browser/attach/{profile}"
        headers = {"X-Token": token}
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, protocols=(EXTENSION_PROTOCOL,), headers=headers) as socket,
        ):
            await socket.send_json(hello)
            yield socket


@pytest_asyncio.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    standing = Standing(tmp_path / "home")
    service = BrowserService(
        CONFIG_SCHEMA({"profiles": {"waits": {"mode": "attach"}}}),
        standing.home,
        egress=Egress(list),
        clock=standing.clock,
        workspaces=standing.workspaces,
        sandboxes=Sandboxes(lambda _: SandboxSettings(), standing.workspaces.sandboxes, standing.clock),
        default_agent="main",
    )
    route = attach_route(service, "browser")

    async def answer(request: web.Request) -> web.StreamResponse:
        token = request.headers["X-Token"]
        authority = Authority(f"token:{token}", scopes=SCOPES.get(token, frozenset({BROWSER})))
        try:
            return await route.handler(
                HttpCall(request, Caller(authority, f"token:{token}", "127.0.0.1", local=False), request.match_info)
            )
        except HubError as error:
            return web.Response(status=error.http_status)

    app = web.Application()
    app.router.add_get(PATH, answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield Door(service, f"http://127.0.0.1:{runner.addresses[0][1]}")
    await runner.cleanup()
    await service.close()
    await standing.egress.close()
    await standing.end()


@pytest.mark.parametrize(
    ("token", "profile", "hello", "why"),
    [
        ("mine", "default", HELLO, "profile"),
        ("mine", "waits", HELLO, "profile"),
        ("mine", "nobody", HELLO, "profile"),
        ("wide", "chrome", HELLO, "rights"),
        ("mine", "chrome", {"tab": "T"}, "hello"),
    ],
)
async def test_who_hands_over_what_cannot_be_is_told_why(
    door: Door, token: str, profile: str, hello: Any, why: str
) -> None:
    async with door.hand_over(token, profile, hello) as socket:
        closed = await socket.receive(30)

        assert (closed.type, closed.data, closed.extra) == (aiohttp.WSMsgType.CLOSE, REFUSED, why)
    assert door.service.profile("chrome").handed is None


async def test_a_tab_comes_back_after_a_break_and_is_not_replaced_by_a_stranger(door: Door) -> None:
    profile = door.service.profile("chrome")
    async with door.hand_over() as before:
        assert await before.receive_json() == {"ready": True}
        async with door.hand_over("other") as stranger:
            refused = await stranger.receive(30)
        async with door.hand_over() as after:
            assert await after.receive_json() == {"ready": True}
            ended = await before.receive(30)
            handed = profile.handed
        await until(lambda: profile.handed is None)

    assert refused.extra == "taken"
    assert ended.type is aiohttp.WSMsgType.CLOSE
    assert handed is not None
    assert profile.attached is None


@pytest.mark.parametrize(
    ("token", "profile", "status"), [("wide", "chrome", "400"), ("mine", "chrome", "403"), ("mine", "waits", "403")]
)
async def test_a_whole_chrome_is_not_attached_for_a_tab_nor_with_the_rights_of_a_tab(
    door: Door, token: str, profile: str, status: str
) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError, match=status):
            await session.ws_connect(f"{door.url}/browser/attach/{profile}", headers={"X-Token": token})


async def test_what_is_of_the_browser_is_answered_and_only_what_is_of_the_tab_is_sent(door: Door) -> None:
    async with door.hand_over() as socket:
        await socket.receive_json()
        tab = door.service.profile("chrome").handed
        assert tab is not None
        heard = aiter(tab.messages())
        numbers = iter(range(1, 1_000))

        async def ask(method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
            asked = {"id": next(numbers), "method": method, "params": params}
            await tab.send(json.dumps(asked | ({"sessionId": session} if session else {})))
            found: dict[str, Any] = json.loads(await asyncio.wait_for(anext(heard), 30))
            return found

        version = await ask("Browser.getVersion")
        attached = await ask("Target.setAutoAttach", autoAttach=True)
        json.loads(await anext(heard))
        main = attached["params"]["sessionId"]
        browser = (await ask("Target.attachToBrowserTarget"))["result"]["sessionId"]
        second = (await ask("Target.attachToTarget", browser, targetId="T"))["result"]["sessionId"]
        refused = [
            await ask("Target.attachToTarget", browser, targetId="another"),
            await ask("Target.createTarget", url="about:blank"),
            await ask("Storage.getCookies"),
            await ask("Browser.close"),
            await ask("Storage.getCookies", main),
            await ask("Page.navigate", main, url="file:///etc/passwd"),
            await ask("Runtime.evaluate", "of-another-tab", expression="1"),
            await ask("DOM.setFileInputFiles", second, files=["/etc/passwd"]),
        ]
        await tab.send(json.dumps({"id": 900, "method": "Target.setAutoAttach", "sessionId": main, "params": {}}))
        await tab.send(json.dumps({"id": 901, "method": "Runtime.enable", "sessionId": second}))
        sent = [await socket.receive_json(timeout=30) for _ in range(2)]
        await socket.send_json({"id": 901, "result": {"x": 1}})
        answered = json.loads(await anext(heard))
        for kind, child in (("page", "P"), ("iframe", "F")):
            about = {"sessionId": child, "targetInfo": {"type": kind}}
            await socket.send_json({"method": "Target.attachedToTarget", "params": about})
        told = [json.loads(await anext(heard)) for _ in range(2)]
        await socket.send_json({"method": "Page.x", "params": {}, "sessionId": "P"})
        await socket.send_json({"method": "Page.y", "params": {}, "sessionId": "F"})
        of_frame = json.loads(await anext(heard))

    assert version["result"]["product"] == "Chrome/150.0.1.2"
    assert attached["params"]["targetInfo"]["url"] == "https://mine.example/"
    assert all("reaches beyond the tab" in each["error"]["message"] for each in refused)
    assert sent == [
        {"id": 900, "method": "Target.setAutoAttach", "params": INSIDE},
        {"id": 901, "method": "Runtime.enable", "params": {}},
    ]
    assert answered == {"id": 901, "sessionId": second, "result": {"x": 1}}
    assert [(each["sessionId"], each["params"]["sessionId"]) for each in told] == [(main, "F"), (second, "F")]
    assert of_frame == {"method": "Page.y", "params": {}, "sessionId": "F"}


async def test_a_message_that_is_none_ends_the_connection(door: Door) -> None:
    async with door.hand_over() as socket:
        await socket.receive_json()
        await socket.send_str("[]")
        await until(lambda: door.service.profile("chrome").handed is None)

    with pytest.raises(Unavailable, match="press the button of the Homarus extension in the tab"):
        await door.service.start("chrome")


def test_each_sentence_of_the_extension_is_there_in_each_language_and_none_is_left_over() -> None:
    code = "\n".join(each.read_text("utf-8") for each in EXTENSION_FOLDER.iterdir() if each.suffix in (".js", ".html"))
    manifest = (EXTENSION_FOLDER / "manifest.json").read_text("utf-8")
    said = {*re.findall(r"[\"'](\w+)[\"']", code), *re.findall(r"__MSG_(\w+)__", manifest)}
    said |= {f"way_{why}" for why in ("profile", "rights", "taken", "hello")}
    needed = {*re.findall(r'(?:data-text=|Trouble\()"(\w+)"', code), *re.findall(r"__MSG_(\w+)__", manifest)}
    texts = [json.loads(each.read_text("utf-8")) for each in sorted(EXTENSION_FOLDER.glob("_locales/*/messages.json"))]

    assert len(texts) == 2
    for messages in texts:
        assert messages.keys() == texts[0].keys()
        assert needed <= messages.keys() <= said
        assert all(each["message"].strip() for each in messages.values())


def test_the_key_in_the_manifest_makes_the_origin_that_the_hub_knows() -> None:
    manifest = json.loads((EXTENSION_FOLDER / "manifest.json").read_text("utf-8"))
    digest = hashlib.sha256(base64.b64decode(manifest["key"])).hexdigest()[:32]

    assert "chrome-extension://" + "".join(chr(ord("a") + int(each, 16)) for each in digest) == EXTENSION
    assert manifest["permissions"] == ["activeTab", "debugger", "storage"]
    assert not manifest.keys() & {"host_permissions", "optional_host_permissions", "content_scripts"}


def test_no_command_that_is_sent_is_of_the_browser_its_files_or_what_others_keep_in_it() -> None:
    foreign = ("Browser.", "CacheStorage.", "DOMStorage.", "Extensions.", "FileSystem.", "IndexedDB.", "Storage.")
    inside = {each for each in allowed() if each.startswith("Target.")}

    assert not [each for each in allowed() if each.startswith(foreign) or "ookie" in each or "Download" in each]
    assert inside == {"Target.setAutoAttach"}
    assert [url for url in ("https://x.example/", "about:blank") if is_refused("Page.navigate", {"url": url})] == []
