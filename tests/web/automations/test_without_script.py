from __future__ import annotations

from collections.abc import Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import BLUEPRINT, furnish

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("plain") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    furnish(home)
    with HubProcess(home) as process:
        yield process


@pytest_asyncio.fixture(loop_scope="session")
async def plain(chromium: Chromium, hub: HubProcess) -> Page:
    """A signed-in page in a browser without scripts."""
    page = await (await chromium.context(java_script_enabled=False)).new_page()
    await page.goto("/login")
    await page.get_by_label("Sign-in code").fill(hub.rpc("dashboard.link")["code"])
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/chat")
    return page


async def test_a_blueprint_is_imported_and_used(plain: Page, hub: HubProcess) -> None:
    await plain.goto("/blueprints")
    await plain.get_by_text("Import a blueprint").click()
    await plain.get_by_label("Or a file").set_input_files(
        {"name": "x.yaml", "mimeType": "application/yaml", "buffer": BLUEPRINT.encode()}
    )
    await plain.get_by_role("button", name="Look at it first").click()
    await plain.get_by_role("button", name="Import it").click()
    await plain.get_by_label("What it tells Required").fill("hello")
    await plain.get_by_role("button", name="Save").click()
    await plain.wait_for_url("**/automations/*")

    found = hub.rpc("automation.list")["automations"]
    assert "Tell when it rings" in [each["alias"] for each in found]


async def test_a_script_is_written_and_run(plain: Page) -> None:
    await plain.goto("/scripts/new")
    text = plain.get_by_label("The script as YAML")
    await text.fill("alias: Plain\nsequence:\n  - event: plainly\n")
    await plain.get_by_role("button", name="Save").click()
    await plain.wait_for_url("**/scripts/show?id=plain")

    await plain.get_by_role("button", name="Run").click()

    await expect(plain.get_by_text("It ran.")).to_be_visible()


async def test_states_events_services_and_templates_are_forms(plain: Page) -> None:
    await plain.goto("/developer/events")
    await plain.get_by_label("Its type").fill("doorbell_rang")
    await plain.get_by_role("button", name="Fire event").click()
    await expect(plain.locator("#events").get_by_role("link", name="doorbell_rang")).to_be_visible()

    await plain.goto("/developer")
    await plain.get_by_label("Entity").fill("sensor.plain")
    await plain.get_by_label("State", exact=True).fill("7")
    await plain.get_by_role("button", name="Set it").click()
    await plain.get_by_label("Words").fill("plain")
    await plain.get_by_role("button", name="Filter").click()
    await expect(plain.locator("#s-sensor-plain")).to_contain_text("7")

    await plain.goto("/developer/services?service=script.greet")
    await plain.get_by_label("Whom Required").fill("all")
    await plain.get_by_role("button", name="Call service").click()
    await expect(plain.get_by_role("region", name="Response")).to_contain_text("Hello all")

    await plain.goto("/developer/templates")
    await plain.get_by_label("Template", exact=True).fill("{{ states('sensor.plain') }}")
    await plain.get_by_role("button", name="Preview").click()
    await expect(plain.locator("#preview pre")).to_have_text("7")
