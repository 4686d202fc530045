"""The web chat page in a browser: a guest is let in, talks, comes back, and may do so in a frame of an allowed page."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium
from tests.web.conftest import CONFIGURATION
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PAGE = """\
people: [{{id: ada, name: Ada, owner: true}}, {{id: grace, name: Grace Hopper}}]
messages: {{inbound: {{debounce_ms: 0}}, queue: {{debounce_ms: 0}}}}
webchat_page:
  - {{account: lan, title: Ask the house, greeting: Hello guest, frame_ancestors: ["http://127.0.0.1:{panel}"]}}
"""


class Panel(BaseHTTPRequestHandler):
    """A page of the LAN that shows what its query names in a frame."""

    def do_GET(self) -> None:
        body = f'<title>A panel</title><iframe title="chat" src="{self.path.partition("?")[2]}"></iframe>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture(scope="module")
def panel() -> Iterator[int]:
    """The port of the other page's server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Panel) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, panel: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("webchat") / "home"
    home.mkdir(mode=0o700)
    configured = (CONFIGURATION + PAGE).format(base_url=model_server.base_url, panel=panel)
    (home / "configuration.yaml").write_text(configured)
    with HubProcess(home) as process:
        yield process


async def visit(chromium: Chromium, **options: str) -> Page:
    page = await (await chromium.context(**options)).new_page()
    await page.goto("/webchat/lan")
    await page.wait_for_selector("html[data-ready]")
    return page


async def let_in(page: Page, hub: HubProcess, **more: str) -> None:
    """Write as a stranger, and be approved with the code that the page shows."""
    await page.get_by_label("Your name").fill("Grace")
    await page.get_by_label("Message").fill("May I?")
    await page.keyboard.press("Enter")
    offer = page.get_by_role("log").locator(".ours")
    await expect(offer).to_contain_text("Give this code to the owner")
    code = re.search(r"[A-Z2-9]{4}-?[A-Z2-9]{4}", await offer.inner_text())
    assert code
    asked = {"channel": "webchat_page", "code": code[0], "idempotencyKey": code[0], **more}
    approved = hub.rpc("pairing.approve", asked)
    assert approved["name"] == "Grace"
    await expect(page.get_by_role("log").locator(".ours")).to_have_count(2)


async def test_a_guest_is_let_in_is_answered_as_it_is_written_and_finds_it_again(
    chromium: Chromium, hub: HubProcess, model_server: OpenAIServer
) -> None:
    page = await visit(chromium)
    await let_in(page, hub)
    assert model_server.requests() == []

    model_server.queue([{"text": "The **door"}, {"hold": "rest"}, {"text": "** is [open](https://example.org)."}])
    await page.get_by_label("Message").fill("Is the door open?")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("#draft")).to_contain_text("The")
    model_server.release("rest")
    answer = page.get_by_role("log").locator(".ours").last
    await expect(answer.locator("strong")).to_have_text("door")
    await expect(page.locator("#draft")).to_be_hidden()
    assert await answer.locator("a").get_attribute("rel") == "noopener noreferrer"
    assert await faults(page) == []

    await page.reload()
    shown = page.get_by_role("log").locator("div > p")
    await expect(shown.filter(has_text="Is the door open?")).to_be_visible()
    await expect(shown.filter(has_text="The door is open.")).to_be_visible()
    await expect(page.get_by_label("Your name")).to_be_hidden()


async def test_a_stranger_is_let_in_as_somebody_of_this_home(
    chromium: Chromium, hub: HubProcess, model_server: OpenAIServer
) -> None:
    page = await visit(chromium)

    await let_in(page, hub, person="grace")

    people = {each["id"]: each for each in hub.rpc("pairing.list", {"all": True})["people"]}
    (identity,) = people["grace"]["identities"]
    assert identity in (hub.home / "configuration.yaml").read_text()
    assert people["ada"]["identities"] == []
    model_server.queue("Hello Grace.")
    await page.get_by_label("Message").fill("Do you know me?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log").locator(".ours").last).to_have_text("Hello Grace.")
    told = hub.rpc("route.explain", {"channel": "webchat_page", "account": "lan", "peer": "x", "sender": identity})
    assert told["access"]["person"] == "grace"


async def test_what_is_written_while_the_hub_is_away_is_sent_when_it_is_back(
    chromium: Chromium, hub: HubProcess, model_server: OpenAIServer
) -> None:
    page = await visit(chromium)
    await let_in(page, hub)
    model_server.set_default("I am back.")

    await page.context.set_offline(True)
    chromium.allowed.append("ERR_INTERNET_DISCONNECTED")
    hub.rpc("integration.reload", {"domain": "webchat_page", "idempotencyKey": "reload"})
    await expect(page.get_by_text("Connecting…")).to_be_visible()
    await page.get_by_label("Message").fill("Are you there?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Not sent yet")).to_be_visible()
    await page.context.set_offline(False)

    await expect(page.get_by_role("log")).to_contain_text("I am back.")
    await expect(page.get_by_text("Not sent yet")).to_have_count(0)


async def test_only_the_pages_that_are_named_may_show_it_in_a_frame(
    chromium: Chromium, hub: HubProcess, panel: int
) -> None:
    chromium.allowed += ["request to the outside: http://(127.0.0.1|localhost):", "frame-ancestors"]
    page = await (await chromium.context()).new_page()
    query = f"?{hub.url}/webchat/lan"

    await page.goto(f"http://127.0.0.1:{panel}/{query}")
    await expect(page.frame_locator("iframe").get_by_role("heading", name="Ask the house")).to_be_visible()
    await page.frame_locator("iframe").locator("html[data-ready]").wait_for()
    await page.goto(f"http://localhost:{panel}/{query}")
    await expect(page.locator("iframe")).to_be_visible()

    await until(lambda: any("frame-ancestors" in fault for fault in chromium.faults))
    await expect(page.frame_locator("iframe").get_by_role("heading")).to_have_count(0)


async def test_a_guest_sends_a_picture_a_document_and_a_voice_message(
    chromium: Chromium, hub: HubProcess, model_server: OpenAIServer
) -> None:
    page = await visit(chromium)
    png = base64.b64decode(PIXEL)
    early: FilePayload = {"name": "early.png", "mimeType": "image/png", "buffer": png}
    await page.locator("#picker").set_input_files(early)
    await let_in(page, hub)
    log = page.get_by_role("log")
    await expect(log.locator(".refused")).to_contain_text("once you are let in")
    assert not list((hub.home / ".storage" / "integrations" / "webchat_page").glob("uploads/lan/*"))

    model_server.queue("Nice.")
    files: list[FilePayload] = [
        {"name": "garden.png", "mimeType": "image/png", "buffer": png},
        {"name": "plan.pdf", "mimeType": "application/pdf", "buffer": b"%PDF" + bytes(200_000)},
        {"name": "taken-back.txt", "mimeType": "text/plain", "buffer": b"no"},
        {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""},
    ]
    await page.locator("#picker").set_input_files(files)
    await page.get_by_role("button", name="Remove taken-back.txt").click()
    await page.get_by_label("Message").fill("Look at this")
    assert await faults(page) == []
    await page.keyboard.press("Enter")
    await expect(log.locator(".ours").last).to_have_text("Nice.")
    sent = log.locator(".mine").last
    await expect(sent.locator("li")).to_have_count(3)
    await expect(sent.locator("li.refused")).to_contain_text("empty")
    await expect(sent.locator("li:not(.refused) img")).to_have_count(1)
    asked = json.dumps(model_server.requests()[-1])
    assert "[attached image: media/" in asked
    assert ".pdf, 200004 bytes]" in asked

    model_server.queue("I hear you.")
    await page.get_by_role("button", name="Record your voice").click()
    await expect(page.get_by_text("Recording… 0:01")).to_be_visible()
    await page.get_by_role("button", name="Stop recording").click()
    await expect(page.locator("#chosen li")).to_contain_text("Voice message")
    await page.get_by_role("button", name="Send").click()
    await expect(log.locator(".ours").last).to_have_text("I hear you.")
    assert await faults(page) == []
    await page.reload()
    await expect(log.locator(".mine").last).to_contain_text("Voice message")


async def test_it_speaks_the_language_of_the_browser(chromium: Chromium) -> None:
    page = await visit(chromium, locale="zh-CN")

    await expect(page.get_by_role("button", name="发送")).to_be_visible()
    assert await page.locator("html").get_attribute("lang") == "zh-CN"
