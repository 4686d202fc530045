from __future__ import annotations

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def plain(chromium: Chromium, hub: HubProcess) -> Page:
    """A signed-in page in a browser without scripts."""
    page = await (await chromium.context(java_script_enabled=False)).new_page()
    await page.goto("/login")
    await page.get_by_label("Sign-in code").fill(hub.rpc("dashboard.link")["code"])
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/chat")
    return page


async def test_one_can_chat_with_forms_alone(plain: Page, model_server: OpenAIServer, hub: HubProcess) -> None:
    model_server.queue("Hello to you.")

    await plain.get_by_role("textbox", name="Message").fill("hello without script")
    await plain.get_by_role("button", name="Send").click()

    await expect(plain.get_by_text("hello without script")).to_be_visible()
    for _ in range(50):
        if await plain.get_by_text("Hello to you.").count():
            break
        await plain.reload()
    await expect(plain.get_by_text("Hello to you.")).to_be_visible()


async def test_one_can_edit_the_configuration_in_a_plain_text_field(plain: Page, hub: HubProcess) -> None:
    before = (hub.home / "configuration.yaml").read_text()
    await plain.get_by_role("link", name="Configuration").click()
    field = plain.get_by_label("Text of configuration.yaml")
    assert await field.input_value() == before

    await field.fill(before + "# written without script\n")
    await plain.get_by_role("button", name="Save").click()
    await plain.wait_for_url("**/config?file=configuration.yaml")

    assert (hub.home / "configuration.yaml").read_text() == before + "# written without script\n"
    (hub.home / "configuration.yaml").write_text(before)


async def test_preferences_are_a_form(plain: Page) -> None:
    await plain.goto("/overview")
    await plain.get_by_text("Preferences").click()
    await plain.get_by_label("Language").select_option("zh-CN")
    await plain.get_by_role("button", name="Save").click()

    await expect(plain.get_by_role("heading", level=1)).to_have_text("概览")
