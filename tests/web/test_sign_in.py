from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.servers.hub_process import HubProcess
from tests.web.browser import Chromium, is_ready

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_link_signs_in_and_leaves_no_code_in_the_address(chromium: Chromium, hub: HubProcess) -> None:
    page = await (await chromium.context()).new_page()

    await page.goto(hub.rpc("dashboard.link")["url"])

    await expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^Good "))
    assert page.url == f"{hub.url}/"


async def test_a_code_can_be_typed(chromium: Chromium, hub: HubProcess) -> None:
    page = await (await chromium.context()).new_page()
    await page.goto("/chat")
    await page.wait_for_url("**/login")

    await page.get_by_label("Sign-in code").fill(hub.rpc("dashboard.link")["code"])
    await page.get_by_role("button", name="Sign in").click()

    await page.wait_for_url(f"{hub.url}/")
    await is_ready(page)


async def test_a_code_works_once(chromium: Chromium, hub: HubProcess) -> None:
    chromium.allowed.append("status of 40[013]")
    url = hub.rpc("dashboard.link")["url"]
    first = await (await chromium.context()).new_page()
    await first.goto(url)
    await first.wait_for_url(f"{hub.url}/")

    second = await (await chromium.context()).new_page()
    await second.goto(url)

    await expect(second.get_by_role("status").filter(has_text="This code is invalid")).to_be_visible()
    await second.goto("/chat")
    await second.wait_for_url("**/login")


async def test_a_wrong_code_says_so_and_can_be_mended(chromium: Chromium, hub: HubProcess) -> None:
    chromium.allowed.append("status of 40[013]")
    page = await (await chromium.context()).new_page()
    await page.goto("/login")

    await page.get_by_label("Sign-in code").fill("nonsense")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("status").filter(has_text="This code is invalid")).to_be_visible()
    await page.get_by_label("Sign-in code").fill(hub.rpc("dashboard.link")["code"])
    await page.get_by_role("button", name="Sign in").click()

    await page.wait_for_url(f"{hub.url}/")


async def test_signing_out_closes_the_door_in_all_tabs(chromium: Chromium, hub: HubProcess) -> None:
    chromium.allowed.append("WebSocket|status of 401")
    context = await chromium.context()
    first, second = await context.new_page(), await context.new_page()
    await first.goto(hub.rpc("dashboard.link")["url"])
    await first.wait_for_url(f"{hub.url}/")
    await second.goto("/timeline")
    await is_ready(second)

    await first.get_by_role("button", name="Owner").click()
    await first.get_by_role("button", name="Sign out").click()

    await first.wait_for_url("**/login")
    await second.wait_for_selector("html[data-live=off]")
    await second.goto("/timeline")
    await second.wait_for_url("**/login")


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(chromium: Chromium, hub: HubProcess) -> None:
    context = await chromium.context()
    page = await context.new_page()

    await page.goto(hub.rpc("dashboard.link")["url"])
    await page.wait_for_url(f"{hub.url}/")

    cookies = await context.cookies()
    assert cookies
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in cookies)
    assert await page.evaluate("document.cookie") == ""
