"""Files of the canvas on a node, over the wire: it alone can open what it is sent, while it is connected."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from hub.hub import Hub
from hub.security.hub_token import hub_token
from hub.storage.homedir import Home
from tests.gateway.rig import Client, Device, connected
from tests.gateway.test_nodes import House, node_of
from tests.until import LIMIT_S

MAC: dict[str, Any] = {
    "client": {
        "id": "openclaw-macos",
        "displayName": "Mac",
        "version": "2026.9.6",
        "platform": "macos",
        "mode": "node",
    },
    "caps": ["canvas"],
    "commands": ["canvas.present", "canvas.hide", "canvas.navigate", "canvas.snapshot"],
}
JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2Q=="


async def show(owner: Client, node: Client, answer: Mapping[str, Any], **arguments: Any) -> tuple[str, Any, Any]:
    """Call the tool; return the command, its parameters, and what the agent is answered."""
    call = {"name": "canvas", "args": {"node": "Mac", **arguments}, "sessionKey": "agent:main:main"}
    called = await owner.send("tools.invoke", call)
    request = (await node.event("node.invoke.request"))["payload"]
    result = {
        "id": request["id"],
        "nodeId": request["nodeId"],
        "ok": True,
        "payloadJSON": orjson.dumps(answer).decode(),
    }
    await node.call("node.invoke.result", result)
    return request["command"], orjson.loads(request["paramsJSON"]), (await owner.answer(called))["payload"]


async def opened(url: str, machine: str = "127.0.0.1") -> tuple[int, str, str]:
    """Open an address in a window of a machine."""
    headers = {"Sec-Fetch-Dest": "document", "X-Forwarded-For": "127.0.0.1"}
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(local_addr=(machine, 0))) as http,
        http.get(url, headers=headers) as answer,
    ):
        return answer.status, await answer.text(), answer.headers["Content-Security-Policy"]


async def test_a_file_of_the_canvas_is_shown_on_a_node_which_alone_can_open_it(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    home.configuration.write_text("hub: {}\nmodels: {default: offline/rules}\nmemory: {embeddings: {provider: none}}\n")
    hub, device = Hub(home, port=0), Device()
    await hub.start()
    try:
        house = House(hub, hub_token(home).reveal())
        own = house.url
        async with node_of(house, device, **MAC) as node, connected(house) as owner:
            early = await node.call("node.pluginSurface.refresh", {"surface": "canvas"})
            (request,) = (await owner.call("node.pair.list"))["payload"]["pending"]
            await owner.call("node.pair.approve", {"requestId": request["requestId"]})
            canvas = hub.agents.get("main").workspace / "canvas"
            canvas.mkdir(parents=True)
            (canvas / "index.html").write_text("<p>Hello</p><img src=a.svg>")
            (canvas / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")

            command, params, _ = await show(owner, node, {}, action="present")
            url = params["url"]
            status, text, policy = await opened(url)
            beside = [
                (await opened(f"{url.removesuffix('index.html')}{path}"))[0] for path in ("a.svg", "../AGENTS.md")
            ]
            bridge = await opened(f"{url.removesuffix('index.html')}~bridge.js")
            wrong = f"{url[:-12]}{'y' if url[-12] == 'x' else 'x'}/index.html"
            elsewhere = [(await opened(url, "127.0.0.2"))[0], (await opened(wrong))[0]]
            fresh = (await node.call("node.pluginSurface.refresh", {"surface": "canvas"}))["payload"]
            again, _, _ = await opened(f"{fresh['pluginSurfaceUrls']['canvas']}/__openclaw__/canvas/index.html")
            other = await node.call("node.pluginSurface.refresh", {"surface": "camera"})
            picture = await show(owner, node, {"format": "jpeg", "base64": JPEG}, action="snapshot")
            await show(owner, node, {}, action="hide")
            hidden = await node.call("node.pluginSurface.refresh", {"surface": "canvas"})
            _, params, _ = await show(owner, node, {}, action="navigate", target="a.svg")
            shown = params["url"]
            after = [(await opened(each))[0] for each in (url, shown)]
        async with asyncio.timeout(LIMIT_S):
            while (await opened(shown))[0] != 404:  # noqa: ASYNC110  the hub hears a little later that the node is gone
                await asyncio.sleep(0.02)
    finally:
        await hub.stop()

    assert (command, early["error"]["code"], other["error"]["code"]) == ("canvas.present", "UNAVAILABLE", "UNAVAILABLE")
    assert (status, text.startswith("<script"), bridge[0]) == (200, True, 200)
    assert policy.startswith("sandbox allow-scripts;")
    assert policy.endswith(f"frame-ancestors {own}")
    assert (beside, elsewhere, again) == ([200, 404], [404, 404], 200)
    assert (hidden["error"]["code"], after) == ("UNAVAILABLE", [404, 200])
    assert fresh["expiresAtMs"] > 0
    assert picture[:2] == ("canvas.snapshot", {"format": "png", "maxWidth": 1_280})
    assert picture[2]["ok"], picture
