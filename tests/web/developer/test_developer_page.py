from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from playwright.async_api import BrowserContext, StorageState, expect

from tests.lengths import some
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium, another_page, is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import furnish, outcomes
from tests.web.looks import ON_A_PHONE, faults, misfits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGES = (
    "/settings/developer",
    "/settings/developer?q=automation.&entity_id=automation.porch_light",
    "/settings/developer/events",
    "/settings/developer/services",
    "/settings/developer/services?service=agent.run",
    "/settings/developer/services?service=script.greet&as=yaml",
    "/settings/developer/templates",
)
OPEN = "document.querySelectorAll('.rows details').forEach((each) => { each.open = true; })"


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("developer") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    furnish(home)
    with HubProcess(home) as process:
        yield process


async def test_a_state_that_is_set_sets_an_automation_off(signed_in: BrowserContext, hub: HubProcess) -> None:
    watching = await opened(signed_in, "/settings/developer/events?type=porch_lit")
    page = await opened(signed_in, "/settings/developer")

    await page.get_by_label("Entity").fill("sensor.porch")
    await page.get_by_label("State", exact=True).fill("dark")
    await page.get_by_label("Attributes, as YAML").fill("lux: 3\nfriendly_name: Porch")
    await page.get_by_role("button", name="Set it").click()
    await page.wait_for_url("**/developer?entity_id=sensor.porch")

    row = page.locator("#s-sensor-porch")
    await expect(row).to_contain_text("dark")
    await expect(row).to_contain_text("Porch")
    await expect(page.locator("#s-automation-porch_light")).to_be_visible()
    await expect(watching.locator("#events li")).to_contain_text("porch_lit")
    assert (await until(lambda: outcomes(hub, "porch")))[0] == "finished"


async def test_states_are_filtered_and_change_before_ones_eyes(signed_in: BrowserContext, hub: HubProcess) -> None:
    hub.rpc("state.set", {"entity_id": "sensor.cellar", "state": "9"})
    page = await opened(signed_in, "/settings/developer")

    await page.get_by_label("Words").fill("Sensor Cell")
    await expect(page.locator("#states li")).to_have_count(1)
    hub.rpc("state.set", {"entity_id": "sensor.cellar", "state": "12"})
    await expect(page.locator("#s-sensor-cellar .state")).to_have_text("12")
    async with another_page(page):
        await page.get_by_role("link", name="sensor.cellar").click()

    await expect(page.get_by_label("Entity")).to_have_value("sensor.cellar")
    await page.get_by_role("button", name="Remove sensor.cellar").click()
    await page.get_by_role("button", name="Remove it").click()
    await page.wait_for_url("**/developer")
    await expect(page.locator("#s-sensor-cellar")).to_have_count(0)


async def test_an_event_is_fired_heard_and_sets_an_automation_off(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/settings/developer/events")

    await page.get_by_label("Its type").fill("doorbell_rang")
    await page.get_by_label("Data (JSON or YAML)").fill('{"button": "<b onclick=x>front</b>"}')
    await page.get_by_role("button", name="Fire event").click()

    await expect(page.get_by_role("status").get_by_text("The event was fired.")).to_be_visible()
    heard = page.locator("#events li", has=page.get_by_role("link", name="doorbell_heard"))
    await expect(heard).to_be_visible()
    fired = page.locator("#events li", has=page.get_by_role("link", name="doorbell_rang", exact=True))
    await fired.locator("summary").click()
    await expect(fired.locator("code")).to_contain_text("<b onclick=x>front</b>")
    assert (await until(lambda: outcomes(hub, "doorbell")))[0] == "finished"


async def test_listening_can_be_paused(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/settings/developer/events?type=counted")
    hub.rpc("event.fire", {"type": "counted", "data": {"n": 1}})
    await expect(page.locator("#events li details")).to_have_count(1)

    await page.get_by_role("button", name="Pause").click()
    hub.rpc("event.fire", {"type": "counted", "data": {"n": 2}})
    other = await opened(signed_in, "/settings/developer/events?type=counted")
    await expect(other.locator("#events li details")).to_have_count(2)
    await expect(page.locator("#events li details")).to_have_count(1)
    await page.get_by_role("button", name="Pause").click()

    await expect(page.locator("#events li details")).to_have_count(2)


async def test_a_service_is_called_with_a_form_and_answers(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/settings/developer/services")
    await page.get_by_label("Words").fill("script.gr")
    await expect(page.locator("#services li:visible")).to_have_count(1)
    await page.get_by_role("link", name="script.greet").click()

    await page.get_by_label("Whom").fill("you")
    await page.get_by_role("button", name="As YAML").click()
    await expect(page.get_by_label("Data (JSON or YAML)")).to_have_value("who: you\n")
    await page.get_by_label("Data (JSON or YAML)").fill('{"who": "them", "times": 2}')
    await page.get_by_role("button", name="As a form").click()
    await expect(page.get_by_label("Whom")).to_have_value("them")
    await page.get_by_role("button", name="Call service").click()

    await expect(page.get_by_role("status").get_by_text("The service was called.")).to_be_visible()
    await expect(page.get_by_role("region", name="Response")).to_contain_text("Hello them, 2 times")


async def test_a_template_is_shown_as_it_is_written(signed_in: BrowserContext, hub: HubProcess) -> None:
    hub.rpc("state.set", {"entity_id": "sensor.attic", "state": "21"})
    page = await opened(signed_in, "/settings/developer/templates")
    preview = page.locator("#preview")
    await expect(preview).to_contain_text("Porch light is on.")

    await page.get_by_label("Variables, as YAML").fill("more: 2")
    await page.get_by_label("Template", exact=True).fill("{{ states('sensor.attic') | int + more }}")

    await expect(preview.locator("pre")).to_have_text("23")
    await expect(preview.get_by_text("int", exact=True)).to_be_visible()
    await expect(preview.get_by_role("listitem")).to_have_text("sensor.attic")
    await page.get_by_label("Template", exact=True).fill("{% set x = 1 %}\n{{ x }}\n{{ (1 / (x - 1)) }}")
    await expect(preview).to_contain_text(re.compile("Line 3: .*zero"))
    await page.get_by_label("Template", exact=True).fill("{{ 1 | no_such_filter }}")
    await expect(preview).to_contain_text("no_such_filter")
    await page.get_by_label("Template", exact=True).fill("{{ memory_search('boiler') | count }}")
    await expect(preview.locator("pre")).to_have_text("0")


async def test_only_an_administrator_sees_them(hub: HubProcess) -> None:
    token = hub.rpc("token.create", {"name": "reader", "scopes": ["operator.read", "operator.write"]})["token"]
    async with ClientSession(hub.url, headers={"Authorization": f"Bearer {token}"}) as client:
        answers = {path: (await client.get(f"{path}", allow_redirects=False)).status for path in PAGES}
        forms = {path: (await client.post(path, json={})).status for path in ("/developer/set", "/developer/fire")}

    assert answers | forms == dict.fromkeys([*PAGES, "/developer/set", "/developer/fire"], 403)


@pytest_asyncio.fixture(loop_scope="session")
async def full(hub: HubProcess) -> None:
    """Make the pages show words that are as long as they come."""
    hub.rpc("state.set", {"entity_id": "sensor.long", "state": "x" * 200, "attributes": {"y": "z" * 300}})
    async with ClientSession(hub.url, headers={"Authorization": f"Bearer {hub.token}"}) as client:
        await client.get("/settings/developer/events")  # whoever looks makes the page listen
    hub.rpc("event.fire", {"type": "looked_at", "data": {"long": "w" * 300}})


@pytest.mark.usefixtures("full")
async def test_the_pages_are_accessible_and_fit(signed_in: BrowserContext) -> None:
    page = await signed_in.new_page()
    found = {}

    for path in PAGES:
        await page.goto(path)
        await is_ready(page)
        await page.evaluate(OPEN)
        found[path] = await faults(page)

    assert found == {path: [] for path in PAGES}


@pytest.mark.usefixtures("full")
async def test_the_pages_fit_a_phone_in_chinese(chromium: Chromium, cookies: StorageState) -> None:
    page = await (await chromium.context(storage_state=cookies, locale="zh-CN", **ON_A_PHONE)).new_page()
    places = some(PAGES, one_of=2)
    found = {}

    for path in places:
        await page.goto(path)
        await is_ready(page)
        await page.evaluate(OPEN)
        found[path] = await misfits(page)

    assert found == {path: [] for path in places}
