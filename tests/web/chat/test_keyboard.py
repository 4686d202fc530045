"""A conversation without a mouse, and in the order in which it is read aloud."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.servers.openai_server import OpenAIServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
STEPS = 60
"""Presses of Tab that reach anything on the page."""


async def tab_to(page: Page, role: str, name: str, key: str = "Tab") -> None:
    """Press Tab until an element has the focus."""
    goal = page.get_by_role(role, name=name)  # type: ignore[arg-type]
    for _ in range(STEPS):
        await page.keyboard.press(key)
        if await goal.last.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError(f"{key} does not reach the {role} {name}")


async def test_a_conversation_is_held_by_the_keyboard_alone(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue("It was serviced on 12 May.", "Once more: 12 May.")
    await page.evaluate("document.activeElement?.blur()")
    await tab_to(page, "link", "Skip to content")
    await page.keyboard.press("Enter")
    await tab_to(page, "textbox", "Message")
    await page.keyboard.type("When was the boiler serviced?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log").get_by_text("It was serviced on 12 May.")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()

    await tab_to(page, "button", "Retry", "Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log").get_by_text("Once more: 12 May.")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()

    await tab_to(page, "button", "Model: scripted")
    await page.keyboard.press("Enter")
    await expect(page.locator("#model-menu")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#model-menu")).to_be_hidden()
    await expect(page.get_by_role("button", name="Model: scripted")).to_be_focused()

    await page.keyboard.press("Control+.")
    await expect(page.get_by_role("dialog", name="Details")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Details")).to_be_hidden()


async def test_it_is_read_aloud_in_the_order_in_which_it_was_said(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue("It was serviced on 12 May.")
    await page.get_by_role("textbox", name="Message").fill("When was the boiler serviced?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log").get_by_text("It was serviced on 12 May.")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()

    heard = await page.get_by_role("main").aria_snapshot()

    said = [
        *('complementary "Conversations"', "heading", 'heading "You"', "When was the boiler serviced?"),
        *('heading "Homarus"', "It was serviced on 12 May.", 'textbox "Message"', 'button "Send"'),
    ]
    places = [heard.find(each, heard.find("log")) if at > 1 else heard.find(each) for at, each in enumerate(said)]
    assert -1 not in places, heard
    assert places == sorted(places), heard
    await expect(page.locator("#announcer")).to_have_text("It was serviced on 12 May.")
