"""A browser hears what its person chose while the dashboard is closed, and keeps a page for when the hub is away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from threading import Thread

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, Worker, expect

from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.servers.push_service import PushService
from tests.until import until
from tests.web.browser import Chromium, is_ready
from tests.web.chat.test_approvals_page import WANTS, wants_to_unlock
from tests.web.conftest import CONFIGURATION, sign_in
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HOME = """\
doorbell: {{place: front door}}
network: {{allow_private: ["127.0.0.1:{push}"]}}
"""
# Chromium subscribes at a service of its maker's, which is not there; the subscription is the double's.
SUBSCRIBED = """
const forget = async () => localStorage.removeItem("double");
const made = () => ({...SUBSCRIPTION, toJSON: () => (SUBSCRIPTION), unsubscribe: forget});
PushManager.prototype.subscribe = async () => { localStorage.setItem("double", 1); return made(); };
PushManager.prototype.getSubscription = async () => localStorage.getItem("double") ? made() : null;
Notification.requestPermission = async () => "granted";
"""


@pytest.fixture(scope="module")
def push() -> Iterator[PushService]:
    with PushService() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def hub(
    model_server: OpenAIServer, push: PushService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HubProcess]:
    configured = (CONFIGURATION + HOME).format(base_url=model_server.base_url, push=push.server_port)
    home = make_home(tmp_path_factory.mktemp("told") / "home", configured, own=("doorbell",))
    with HubProcess(home) as process:
        yield process


@pytest_asyncio.fixture(loop_scope="session")
async def signed_in(chromium: Chromium, hub: HubProcess, push: PushService) -> AsyncIterator[BrowserContext]:
    context = await sign_in(chromium, hub, permissions=["notifications"])
    await context.add_init_script(SUBSCRIBED.replace("SUBSCRIPTION", json.dumps(push.subscription())))
    yield context


async def shown(context: BrowserContext) -> Page:
    page = await context.new_page()
    await page.goto("/notifications")
    await page.wait_for_selector("html[data-push]")
    return page


async def choose(page: Page, *topics: str) -> None:
    for topic in topics:
        await page.get_by_role("switch", name=topic).or_(page.get_by_label(topic, exact=True)).first.click()
        await expect(page.locator("#push input:disabled")).to_have_count(0)


async def worker_of(context: BrowserContext, page: Page) -> Worker:
    """Wait until a page has its service worker."""
    await page.evaluate(
        "navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller ?? new Promise("
        "(ok) => navigator.serviceWorker.addEventListener('controllerchange', ok)))"
    )
    return context.service_workers[0] if context.service_workers else await context.wait_for_event("serviceworker")


async def pushed(push: PushService, before: int, body: str) -> tuple[dict[str, str], dict[str, str]]:
    """Wait for what says this, and return its headers and what it says; a run of another test may tell of its end."""

    def found() -> tuple[dict[str, str], dict[str, str]] | None:
        told = ((headers, push.opened(sealed)) for headers, sealed in push.received[before:])
        return next((each for each in told if each[1]["body"] == body), None)

    return await until(found) or pytest.fail("until returns what is found")


async def test_what_was_chosen_is_pushed_and_leads_to_its_page(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer, push: PushService
) -> None:
    page = await shown(signed_in)
    assert await faults(page) == []
    await choose(page, "Approvals")
    await expect(page.get_by_text("Notifications come to this browser.")).to_be_visible()

    before = len(push.received)
    await page.get_by_role("button", name="Send a test").click()
    await pushed(push, before, "This is how the assistant tells you something.")
    before = len(push.received)
    await wants_to_unlock(hub, model_server, "told")
    headers, told = await pushed(push, before, "doorbell.unlock")
    assert told["title"] == WANTS
    assert told["path"] == "/chat?session=agent%3Amain%3Adirect%3Atold"
    assert headers["urgency"] == "high"
    assert int(headers["ttl"]) < 86_400

    worker = await worker_of(signed_in, page)
    await worker.evaluate("""() => {
      registration.showNotification = async (title, {data}) => { self.said = [title, data.path]; };
    }""")
    await worker.evaluate("(told) => shown(told)", told)
    assert await worker.evaluate("self.said") == [WANTS, told["path"]]
    await worker.evaluate("(path) => opened(path).catch(() => null)", told["path"])  # a real press may focus the tab
    await page.wait_for_url(f"**{told['path']}")

    await page.get_by_role("button", name="Deny").click()
    await expect(page.locator(".approval")).to_contain_text("Denied by you")


async def test_a_choice_is_kept_and_taken_back(signed_in: BrowserContext, hub: HubProcess, push: PushService) -> None:
    page = await shown(signed_in)
    await choose(page, "Reminders", "Answers")
    await page.reload()
    await page.wait_for_selector("html[data-push]")
    await expect(page.get_by_label("Reminders")).to_be_checked()
    await expect(page.get_by_label("Approvals")).not_to_be_checked()

    before = len(push.received)
    data = json.dumps({"channel": "webchat", "to": "agent:main:main", "text": "Tea is **ready**."})
    await asyncio.to_thread(hub.cli, "service", "call", "message.send", "--data", data)
    _, told = await pushed(push, before, "Tea is **ready**.")
    assert told["title"] == "Reminder"

    await choose(page, "Reminders", "Answers")
    await expect(page.get_by_text("No notifications come to this browser yet.")).to_be_visible()
    assert await page.evaluate("localStorage.getItem('double')") is None


async def test_signing_out_ends_it_until_the_same_person_signs_in_again(
    signed_in: BrowserContext, hub: HubProcess, push: PushService, chromium: Chromium
) -> None:
    page = await shown(signed_in)
    await choose(page, "Reminders")
    chromium.allowed.append("WebSocket.*no valid credentials|401")  # the tab asks for its live socket again

    await page.evaluate("fetch('/logout', {method: 'POST'}).then((found) => found.status)")

    params = {"topic": "reminders", "title": "Tea", "body": "is ready"}
    assert (await asyncio.to_thread(hub.rpc, "push.web.send", params))["results"] == []

    again = await signed_in.new_page()
    await again.goto(hub.rpc("dashboard.link")["url"])
    await until(lambda: hub.rpc("push.web.send", params)["results"])


async def test_without_the_hub_there_is_a_page_and_nothing_private_is_kept(
    signed_in: BrowserContext, chromium: Chromium
) -> None:
    page = await shown(signed_in)
    await choose(page, "Answers")
    await worker_of(signed_in, page)
    await page.goto("/chat")
    await is_ready(page)
    chromium.allowed.append("ERR_INTERNET_DISCONNECTED|WebSocket")

    await signed_in.set_offline(True)
    await page.goto("/timeline")
    await expect(page.get_by_role("heading", name="The hub cannot be reached")).to_be_visible()
    assert await faults(page) == []
    kept = await page.evaluate("""async () => {
      const cache = await caches.open((await caches.keys())[0]);
      return (await cache.keys()).map(({url}) => new URL(url).pathname);
    }""")
    assert sorted(path.rpartition("/")[2] for path in kept) == [
        *("app.css", "icon-192.png", "inter.woff2", "offline", "sprite.svg")
    ]

    await signed_in.set_offline(False)
    await page.get_by_role("link", name="Try again").click()
    await expect(page.get_by_role("heading", level=1, name="Timeline")).to_be_visible()


async def test_it_is_installed_where_the_browser_offers_it(signed_in: BrowserContext) -> None:
    page = await shown(signed_in)
    await expect(page.get_by_role("button", name="Install")).to_be_hidden()
    await page.evaluate("""() => {
      const prompt = async () => { document.body.dataset.prompted = ""; };
      dispatchEvent(Object.assign(new Event("beforeinstallprompt"), {prompt}));
    }""")

    await page.get_by_role("button", name="Install").click()

    await expect(page.locator("body[data-prompted]")).to_be_attached()
    app = await page.evaluate("fetch(document.querySelector('link[rel=manifest]').href).then((found) => found.json())")
    assert (app["start_url"], app["display"]) == ("/", "standalone")
    assert [each["url"] for each in app["shortcuts"]] == ["/chat", "/timeline", "/devices"]
    for icon in app["icons"]:
        assert await page.evaluate("(src) => fetch(src).then((found) => found.status)", icon["src"]) == 200

    await page.goto("/?title=Recipe&url=https%3A%2F%2Fexample.org%2Fsoup")
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("Recipe\nhttps://example.org/soup")


async def test_an_address_that_is_not_secure_says_how_to_mend_it(signed_in: BrowserContext) -> None:
    page = await signed_in.new_page()
    await page.add_init_script("Object.defineProperty(window, 'isSecureContext', {value: false})")

    await page.goto("/notifications")

    await expect(page.get_by_text("Browsers show notifications only at a secure address")).to_be_visible()
    await expect(page.locator("#push-insecure pre")).to_have_text("homarus tls")
    await expect(page.get_by_role("link", name="Make it reachable with a certificate")).to_be_visible()
    assert await faults(page) == []
