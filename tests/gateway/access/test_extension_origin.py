"""The hub's own browser extension: which WebSockets it may open, with what, and how it is let in."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hub.core.surfaces import BROWSER, HttpCall, Route
from hub.gateway.access.auth import BEARER_PROTOCOL
from hub.gateway.access.cross_origin import EXTENSION
from hub.gateway.methods.device_setup import SetupMethods
from tests.gateway.access.test_setup_codes import PHONE, make, token_in
from tests.gateway.rig import Device, Rig, client_of

CLIENT = {"id": "homarus-extension", "version": "1", "platform": "linux", "mode": "ui", "deviceFamily": "browser"}
OTHER = EXTENSION[:-1] + ("a" if EXTENSION[-1] != "a" else "b")


async def _open(call: HttpCall) -> web.StreamResponse:
    socket = web.WebSocketResponse(protocols=("way",))
    await socket.prepare(call.request)
    await socket.send_str(call.known_caller.credential_id)
    return socket


@pytest.fixture(autouse=True)
def surfaces(rig: Rig) -> None:
    for method in SetupMethods(rig.gateway).methods():
        rig.gateway.methods.add(method)
    for path, extension in (("/way", True), ("/other", False)):
        rig.gateway.routes.add(
            Route("GET", path, _open, "test", scope=BROWSER, websocket=True, extension=extension, cookie=True)
        )


async def status(rig: Rig, path: str, token: str | None, origin: str = EXTENSION, **headers: str) -> int:
    """Return how a WebSocket of a browser is answered; 101 when it is opened."""
    offered = ("way", *([BEARER_PROTOCOL + token] if token else []))
    async with aiohttp.ClientSession() as session:
        try:
            async with session.ws_connect(f"{rig.url}{path}", origin=origin, protocols=offered, headers=headers) as ws:
                await ws.receive_str()
                return 101
        except aiohttp.WSServerHandshakeError as error:
            return error.status


async def paired(rig: Rig, code: str, **said: Any) -> dict[str, Any]:
    """Show a setup code as the extension does; return the answer."""
    async with client_of(rig, path="/ws", headers={"Origin": EXTENSION}) as client:
        auth = {"bootstrapToken": token_in(code)}
        return await client.connect(Device(), **{"client": CLIENT, "scopes": [BROWSER], "auth": auth, **said})


async def test_only_the_own_extension_opens_a_way_of_its_own_with_a_token_that_may(rig: Rig) -> None:
    _, may = await rig.tokens.create("browser", [BROWSER])
    _, reads = await rig.tokens.create("reader", ["operator.read"])
    _, cookie = await rig.web_sessions.create("owner", ["operator.admin"])
    token = may.reveal()

    assert await status(rig, "/way", token) == 101
    assert await status(rig, "/way", None) == 401
    assert await status(rig, "/way", "homtok_wrong") == 401
    assert await status(rig, "/way", reads.reveal()) == 403
    assert await status(rig, "/other", token) == 403
    assert await status(rig, "/", token) == 403
    assert await status(rig, "/way", token, OTHER) == 403
    assert await status(rig, "/way", token, "https://evil.example") == 403
    assert await status(rig, "/way", None, Cookie=f"{rig.gateway.authenticator.cookie_name}={cookie.reveal()}") == 401


async def test_a_code_for_a_browser_gives_it_the_way_for_tabs_and_nothing_else(rig: Rig) -> None:
    made = await make(rig, bootstrapProfile="tab")
    answer = await paired(rig, made["setupCode"])
    auth = answer["payload"]["auth"]

    assert (auth["role"], auth["scopes"]) == ("operator", [BROWSER])
    assert "deviceTokens" not in auth, "it is no node"
    assert await status(rig, "/way", auth["deviceToken"]) == 101
    assert not (await paired(rig, made["setupCode"]))["ok"], "a code works once"

    await rig.devices.remove(rig.devices.grants()[0].device_id)
    assert await status(rig, "/way", auth["deviceToken"]) == 401


@pytest.mark.parametrize("profile", ["full", "limited", "node"])
async def test_the_extension_gets_no_wider_token(rig: Rig, profile: str) -> None:
    code = (await make(rig, bootstrapProfile=profile))["setupCode"]

    refused = await paired(rig, code)

    assert refused["error"]["details"]["code"] == "AUTH_BOOTSTRAP_TOKEN_INVALID"
    assert rig.devices.grants() == []


async def test_the_extension_signs_in_with_no_other_credential(rig: Rig) -> None:
    _, token = await rig.tokens.create("program", ["operator.admin"])

    refused = await paired(rig, (await make(rig))["setupCode"], auth={"token": token.reveal()})

    assert refused["error"]["details"]["code"] == "AUTH_TOKEN_MISSING"
    assert rig.devices.pending() == []


async def test_a_code_for_a_browser_makes_no_node(rig: Rig) -> None:
    code = (await make(rig, bootstrapProfile="tab"))["setupCode"]

    async with client_of(rig) as node:
        refused = await node.connect(Device(), **PHONE, auth={"bootstrapToken": token_in(code)})

    assert not refused["ok"]
    assert rig.devices.grants() == []
