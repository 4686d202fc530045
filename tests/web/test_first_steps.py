"""What a person meets first: a fresh home without any model, and a home whose configuration is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.servers.hub_process import HubProcess
from tests.web.browser import RESTART, Chromium, is_ready
from tests.web.chat.test_chat_page import say
from tests.web.conftest import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def first_page(chromium: Chromium, hub: HubProcess) -> Page:
    page = await (await sign_in(chromium, hub)).new_page()
    await page.goto("/chat")
    await is_ready(page)
    return page


async def test_a_fresh_home_remembers_without_a_model_and_after_a_restart(browser: Browser, tmp_path: Path) -> None:
    with HubProcess(tmp_path / "home") as hub:
        async with Chromium(browser, hub.url) as chromium:
            chromium.allowed.append(RESTART)
            page = await first_page(chromium, hub)
            answers = page.get_by_role("log").locator("[data-role=assistant] .text")

            await say(page, "remember that the boiler was serviced on 12 May")
            await expect(answers).to_have_count(1)
            hub.stop()
            hub.start()
            await is_ready(page)
            await say(page, "when was the boiler serviced?")

            await expect(answers.last).to_contain_text("12 May")
            assert chromium.unexpected() == []


async def test_a_broken_configuration_is_mended_in_the_dashboard(browser: Browser, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("hub:\n  name: Home\nhttp:\n  auth: {mode: nonsense}\n")
    with HubProcess(home) as hub:
        async with Chromium(browser, hub.url) as chromium:
            chromium.allowed.append(RESTART)
            context = await chromium.context()
            page = await context.new_page()
            await page.goto(hub.rpc("dashboard.link")["url"])
            await expect(page.get_by_role("heading", name="Recovery mode")).to_be_visible()

            await page.get_by_role("link", name="Fix the configuration").click()
            await page.wait_for_selector("#config-editor[data-ready]")
            await expect(page.get_by_role("list", name="Problems")).to_contain_text("nonsense")
            await expect(page.get_by_text("The hub is in recovery mode")).to_be_visible()
            await page.locator(".cm-line", has_text="nonsense").click()
            await page.keyboard.press("Home")
            await page.keyboard.press("Control+Shift+End")
            await page.keyboard.insert_text("  auth: {mode: token}")
            await expect(page.get_by_role("list", name="Problems")).to_be_hidden()
            await page.get_by_role("button", name="Save").click()

            await expect(page.get_by_text("The hub is in recovery mode")).to_be_hidden()
            await is_ready(page)
            await page.goto("/chat")
            await expect(page.get_by_role("heading", level=1)).to_have_text("Main conversation")
            assert chromium.unexpected() == []
