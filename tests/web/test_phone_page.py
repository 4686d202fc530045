"""A phone-sized browser pairs by a QR code, answers as a node with its camera and place, chats, and gets a push."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import segno
from playwright.async_api import BrowserContext, Page, expect

from node.pictures import picture
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.servers.push_service import PushService
from tests.servers.speech_server import SpeechServer
from tests.until import until
from tests.web.browser import Chromium
from tests.web.conftest import CONFIGURATION
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ALLOWED = """\
messages: {{inbound: {{debounce_ms: 0}}, queue: {{debounce_ms: 0}}, media: {{transcription_model: speech/ears}}}}
speech: {{model: speech/mouth, voice: alloy}}
nodes: {{commands: {{allow: [camera.snap, camera.clip, screen.record], unasked: [camera.snap, location.get]}}}}
network: {{allow_private: ["127.0.0.1:{push}"]}}
input_text: {{scanned: {{initial: none}}}}
automation:
  - mode: queued
    triggers: {{trigger: tag, tag_id: [hall /1, cellar, "04:a2"]}}
    actions:
      - action: input_text.set_value
        target: {{entity_id: input_text.scanned}}
        data: {{value: "{{{{ states('input_text.scanned') }}}}, {{{{ trigger.event.data.tag_id }}}}"}}
"""
PROVIDER = """\
    speech: {{api: openai, base_url: "{speech}", api_key: x, models: [{{id: ears}}, {{id: mouth}}]}}
memory:"""
LOUD = """async (meter) => {
  for (let loud = 0; loud < 20; loud += meter.value > 0.1) await new Promise(requestAnimationFrame);
}"""
"""Waits until the microphone has heard enough."""
PHONE = {
    "viewport": {"width": 412, "height": 839},
    "user_agent": "Mozilla/5.0 (Linux; Android 15; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140 Mobile",
    "is_mobile": True,
    "has_touch": True,
    "geolocation": {"latitude": 52.52, "longitude": 13.405, "accuracy": 20},
    "permissions": ["camera", "microphone", "geolocation", "notifications"],
}
# Chromium subscribes at a service of its maker's, which is not there; the subscription is the double's.
SUBSCRIBE = """
PushManager.prototype.subscribe = async options => {
  window.applicationServerKey = [...new Uint8Array(options.applicationServerKey)];
  return {toJSON: () => (SUBSCRIPTION)};
};
// Nor does it show notifications without a screen.
if (globalThis.ServiceWorkerRegistration) {
  Object.defineProperty(Notification, "permission", {get: () => "granted"});
  ServiceWorkerRegistration.prototype.showNotification = async (title, {body}) => (window.shown = `${title}: ${body}`);
}
"""


REACHES = "(() => { try { return parent.document.title } catch (error) { return error.name } })()"
SURFACE = "\n".join(
    json.dumps(each)
    for each in (
        {
            "surfaceUpdate": {
                "surfaceId": "table",
                "components": [
                    {"id": "words", "component": {"Text": {"text": {"literalString": "Book"}}}},
                    {"id": "book", "component": {"Button": {"child": "words", "action": {"name": "book"}}}},
                ],
            }
        },
        {"beginRendering": {"surfaceId": "table", "root": "book"}},
    )
)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@pytest.fixture(scope="module")
def push() -> Iterator[PushService]:
    with PushService() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def speech() -> Iterator[SpeechServer]:
    with SpeechServer() as server:
        yield server


@pytest.fixture(scope="module")
def hub(
    model_server: OpenAIServer, push: PushService, speech: SpeechServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("phone") / "home"
    home.mkdir(mode=0o700)
    text = CONFIGURATION.replace("memory:", PROVIDER) + ALLOWED
    configured = text.format(base_url=model_server.base_url, push=push.server_port, speech=speech.base_url)
    (home / "configuration.yaml").write_text(configured)
    with HubProcess(home) as process:
        yield process


async def pair(chromium: Chromium, signed_in: BrowserContext, push: PushService, **device: Any) -> Page:
    """Make a code on the dashboard, and open what its QR says on a phone."""
    dashboard = await signed_in.new_page()
    await dashboard.goto("/pair-phone")
    await dashboard.get_by_text("The hub has another address").click()
    await dashboard.get_by_label("Address of the hub").fill(f"ws://{urlsplit(dashboard.url).netloc}")
    await dashboard.get_by_role("button", name="Show the code").click()
    url = (await dashboard.locator("dialog .code pre").inner_text()).strip()
    shown = await dashboard.get_by_alt_text("Setup code as a QR code").get_attribute("src")
    assert unquote(shown or "") == unquote(segno.make(url, error="l").svg_data_uri(scale=4, border=3, light="#fff"))
    await dashboard.close()
    context = await chromium.context(**(device or PHONE))
    await context.add_init_script(SUBSCRIBE.replace("SUBSCRIPTION", json.dumps(push.subscription())))
    phone = await context.new_page()
    await phone.goto(url)
    await expect(phone.locator("#state")).to_have_text("Connected")
    return phone


async def switch_on(phone: Page, *names: str) -> None:
    for name in names:
        box = phone.get_by_role("checkbox", name=name, exact=True)
        await box.check()
        await expect(box).to_have_attribute("data-is", "on")
    await expect(phone.locator("#told")).to_have_text("")


def ask(hub: HubProcess, model_server: OpenAIServer, action: str) -> Any:
    """Have an agent ask the phone; return what its model reads of the answer."""
    arguments = {"action": action, "params": {"maxWidth": 320}}
    model_server.queue({"tool_call": {"name": "nodes", "arguments": arguments}}, "There.")
    run = {"message": "Ask the phone", "sessionKey": f"agent:main:{action}", "idempotencyKey": action}
    hub.rpc("agent", run)
    ended = hub.rpc("agent.wait", {"runId": action, "timeoutMs": 30_000})
    assert ended["status"] == "ok", ended
    (result,) = [each for each in model_server.requests()[-1]["body"]["messages"] if each["role"] == "tool"]
    return json.loads(str(result["content"]).splitlines()[1])  # between the marks of words from outside


async def test_a_phone_pairs_by_a_code_and_does_what_it_is_asked(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer, push: PushService
) -> None:
    phone = await pair(chromium, signed_in, push)
    (node,) = await until(lambda: hub.rpc("node.list")["nodes"])

    # The code is gone from the address, and it works once.
    assert phone.url == f"{hub.url}/p"
    assert (node["approvalState"], node["platform"]) == ("approved", "android")
    assert {"camera.snap", "location.get", "system.notify", "canvas.present"} <= set(node["commands"])
    await switch_on(phone, "Camera", "Microphone, with clips of the camera", "Location", "Notifications")

    place, photo = (ask(hub, model_server, action) for action in ("location_get", "camera_snap"))
    assert (place["lat"], place["lon"], place["accuracyMeters"]) == (52.52, 13.405, 20)
    kept = next((hub.home / "workspace").rglob(Path(photo["file"]).name))
    assert picture(kept.read_bytes())["width"] == photo["width"] <= 320
    await expect(phone.get_by_role("log")).to_contain_text("The assistant used: camera.snap")

    asked = {"nodeId": node["nodeId"], "command": "camera.clip", "params": {"durationMs": 200, "maxWidth": 64}}
    clip = hub.rpc("node.invoke", asked)["payload"]
    assert (clip["format"], clip["hasAudio"]) == ("mp4", True)
    assert b"mp4a" in base64.b64decode(clip["base64"]) or b"Opus" in base64.b64decode(clip["base64"])
    hub.rpc("node.invoke", {**asked, "command": "system.notify", "params": {"title": "Tea", "body": "is ready"}})
    assert await phone.evaluate("window.shown") == "Tea: is ready"

    model_server.queue("Good morning, phone.")
    await phone.get_by_label("Message").fill("Good morning")
    await phone.get_by_role("button", name="Send").click()
    await expect(phone.locator("#log .theirs")).to_have_text("Good morning, phone.")

    answer = hub.rpc("push.web.test", {"title": "The washing machine", "body": "is done"})
    assert answer["results"] == [{"service": "127.0.0.1", "ok": True, "status": 201}]
    headers, body = next(each for each in push.received if push.opened(each[1])["body"] == "is done")
    assert headers["content-encoding"] == "aes128gcm"
    assert headers["authorization"].startswith("vapid t=")
    assert push.opened(body) == {"title": "The washing machine", "body": "is done"}
    assert await faults(phone) == []


TAGS = """
// Chromium reads no tags without the hardware: what it would tell is the double's.
globalThis.NDEFReader = class extends EventTarget {
  async scan({signal}) {
    window.read = data => signal.aborted || this.dispatchEvent(Object.assign(new Event("reading"), data));
  }
};
"""


async def test_tags_tell_the_hub_by_their_address_after_a_press_and_at_once_when_the_page_reads_them(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess, push: PushService
) -> None:
    phone = await pair(chromium, signed_in, push)

    def heard() -> Any:
        return hub.rpc("state.get", {"entity_id": "input_text.scanned"})["state"]

    await phone.goto("/tag/hall%20%2F1")
    await expect(phone.locator("#state")).to_have_text("Connected")
    await expect(phone.locator("#tag-id")).to_have_text("hall /1")
    assert await faults(phone) == []
    assert heard() == "none"
    await phone.get_by_role("button", name="Tell the hub").click()
    await until(lambda: heard() == "none, hall /1")
    await expect(phone.locator("#tag")).to_be_hidden()

    await phone.context.add_init_script(TAGS)
    await phone.reload()
    await switch_on(phone, "Read tags (NFC) while this page is open")
    await phone.evaluate(
        """() => {
          const data = new TextEncoder().encode("https://www.home-assistant.io/tag/cellar");
          read({serialNumber: "04:a2", message: {records: [{recordType: "url", data}]}});
          read({serialNumber: "04:a2", message: {records: []}});
        }"""
    )
    await until(lambda: heard() == "none, hall /1, cellar, 04:a2")


async def test_a_screen_is_filmed_when_its_person_chooses_what_to_show(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess, push: PushService
) -> None:
    page = await pair(chromium, signed_in, push, viewport={"width": 412, "height": 839}, permissions=["notifications"])
    (node,) = await until(lambda: [each for each in hub.rpc("node.list")["nodes"] if each["platform"] == "linux"])
    asked = {"nodeId": node["nodeId"], "command": "screen.record", "params": {"durationMs": 300, "fps": 5}}

    async def answered(press: str) -> Any:
        film = asyncio.ensure_future(asyncio.to_thread(hub.rpc, "node.invoke", asked))
        await page.get_by_role("button", name=press).click()
        return await film

    film = (await answered("Choose what to show"))["payload"]
    with pytest.raises(AssertionError, match="its person said no"):
        await answered("No")

    assert (film["fps"], film["hasAudio"]) == (5, False)
    assert b"ftyp" in base64.b64decode(film["base64"])[:64] or film["format"] == "webm"
    await expect(page.get_by_role("heading", name="May the assistant see a screen?")).to_be_hidden()


async def test_an_agent_shows_a_page_and_a_surface_on_the_phone_and_hears_what_is_pressed(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess, push: PushService, model_server: OpenAIServer
) -> None:
    phone = await pair(chromium, signed_in, push)
    node = max(hub.rpc("node.list")["nodes"], key=lambda each: each.get("connectedAtMs") or 0)
    folder = hub.home / "workspace" / "canvas"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text("<h1>Soup</h1>")

    async def canvas(action: str, **arguments: Any) -> str:
        asked = {"name": "canvas", "args": {"node": node["nodeId"], "action": action, **arguments}}
        answer = await asyncio.to_thread(hub.rpc, "tools.invoke", asked | {"sessionKey": "agent:main:main"})
        assert answer["ok"], answer
        return str(answer["output"])

    chromium.allowed.append("/__openclaw__/cap/")
    await canvas("present")
    await expect(phone.frame_locator("#frame").get_by_role("heading", name="Soup")).to_be_visible()
    reached, told = await canvas("eval", script=REACHES), await canvas("snapshot")
    await canvas("a2ui_push", jsonl=SURFACE)
    await canvas("navigate", target="https://93.184.215.14/soup")
    await expect(phone.get_by_role("link", name="https://93.184.215.14/soup")).to_be_visible()
    model_server.queue("At eight, then.")
    await phone.get_by_role("button", name="Book").click()
    await expect(phone.get_by_role("log")).to_contain_text("Sent to the assistant")
    await until(lambda: [each for each in model_server.requests() if "Pressed a button" in str(each["body"])])
    looks = await faults(phone)
    await canvas("hide")
    await expect(phone.get_by_role("button", name="Book")).to_be_hidden()

    assert "SecurityError" in reached
    assert "Soup" in told
    assert looks == []


async def test_a_phone_tells_where_it_is_while_open_and_that_it_is_there_when_a_push_wakes_it(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess, push: PushService
) -> None:
    phone = await pair(chromium, signed_in, push)
    node = max(hub.rpc("node.list")["nodes"], key=lambda each: each.get("connectedAtMs") or 0)
    await switch_on(phone, "Location", "Tell the hub where this phone is, while this page is open")
    await switch_on(phone, "Keep the screen on while it is charged")

    def latitudes() -> list[float]:
        states = hub.rpc("state.list", {"domain": "device_tracker"})["states"]
        return [each["attributes"]["latitude"] for each in states if "latitude" in each["attributes"]]

    def known() -> Any:
        return next(each for each in hub.rpc("node.list")["nodes"] if each["nodeId"] == node["nodeId"])

    await until(lambda: latitudes() == [52.52])
    await phone.context.set_geolocation({"latitude": 48.1, "longitude": 11.6, "accuracy": 20})
    await until(lambda: latitudes() == [48.1])
    beside = await phone.context.new_page()
    await beside.goto("/p/icon.svg")
    await phone.close()
    await until(lambda: not known()["connected"])
    browser = await beside.context.new_cdp_session(beside)
    registered: list[Any] = []
    browser.on("ServiceWorker.workerRegistrationUpdated", lambda said: registered.extend(said["registrations"]))
    await browser.send("ServiceWorker.enable")
    (worker, *_) = await until(lambda: registered)
    pushed = {"origin": hub.url, "registrationId": worker["registrationId"], "data": '{"title": "Tea"}'}
    await browser.send("ServiceWorker.deliverPushMessage", pushed)
    await until(lambda: known()["connected"])
    await until(lambda: not known()["connected"])

    assert known()["approvalState"] == "approved"


async def test_over_plain_http_the_page_says_what_is_missing(chromium: Chromium, hub: HubProcess) -> None:
    context = await chromium.context(**PHONE)
    await context.add_init_script("Object.defineProperty(window, 'isSecureContext', {value: false})")
    phone = await context.new_page()
    chromium.allowed.append("404")

    await phone.goto("/p#code-that-is-not-used")
    await phone.wait_for_selector("html[data-ready]")

    await expect(phone.get_by_role("heading", name="This address is not secure")).to_be_visible()
    await expect(phone.locator("#missing-list li")).to_have_count(4)
    await expect(phone.get_by_role("link", name="iPhone, iPad")).to_have_attribute("href", "/p/ca.mobileconfig")
    assert await phone.evaluate("indexedDB.databases().then(found => found.length)") == 0


async def test_an_address_in_a_code_is_never_connected_to(
    chromium: Chromium, hub: HubProcess, push: PushService
) -> None:
    said = {"url": f"ws://127.0.0.1:{push.server_port}", "bootstrapToken": "not-a-token-of-this-hub"}
    context = await chromium.context(**PHONE)
    phone = await context.new_page()
    sockets: list[str] = []
    phone.on("websocket", lambda socket: sockets.append(socket.url))
    before = len(push.received)

    await phone.goto(f"/p?gatewayUrl={said['url']}#{_text(json.dumps(said).encode())}")
    await expect(phone.locator("#state")).to_contain_text("The hub refused")

    assert {urlsplit(each).port for each in sockets} == {hub.port}
    assert len(push.received) == before
    await expect(phone.get_by_label("Setup code")).to_be_visible()


async def test_what_another_app_shares_waits_in_the_message(
    chromium: Chromium, signed_in: BrowserContext, push: PushService
) -> None:
    phone = await pair(chromium, signed_in, push)

    await phone.goto("/p?title=Recipe&url=https%3A%2F%2Fexample.org%2Fsoup")

    await expect(phone.get_by_label("Message")).to_have_value("Recipe\nhttps://example.org/soup")
    assert phone.url.endswith("/p")


async def test_a_talk_is_held_on_the_phone(
    chromium: Chromium, signed_in: BrowserContext, push: PushService, speech: SpeechServer, model_server: OpenAIServer
) -> None:
    phone = await pair(chromium, signed_in, push)
    speech.texts.append("Is the door locked?")
    model_server.queue("It is locked.")
    await phone.get_by_role("button", name="Talk").click()
    panel = phone.get_by_role("dialog", name="Talk")
    await expect(panel).to_have_attribute("data-state", "listening")
    assert await panel.bounding_box() == {"x": 0, "y": 0, **PHONE["viewport"]}  # type: ignore[dict-item]
    assert await faults(phone) == []

    await panel.get_by_role("switch", name="Hands-free").uncheck()
    await panel.get_by_role("button", name="Hold to talk").focus()
    await phone.keyboard.down("Space")
    await panel.get_by_role("meter").evaluate(LOUD)
    await phone.keyboard.up("Space")

    await expect(panel).to_contain_text("Is the door locked?")
    await expect(panel).to_contain_text("It is locked.")
    await until(lambda: speech.spoken == ["It is locked."])
    await panel.get_by_role("button", name="End the talk").click()
    await expect(phone.locator("#log .mine").last).to_have_text("Is the door locked?")
    await expect(phone.locator("#log .theirs").last).to_have_text("It is locked.")
