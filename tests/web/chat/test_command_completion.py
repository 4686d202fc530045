"""Slash commands are completed in the composer."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.web.looks import violations

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_command_is_completed_by_keys_and_by_a_finger(page: Page) -> None:
    box = page.get_by_role("textbox", name="Message")
    options = page.locator("#completions").get_by_role("option")

    await box.press_sequentially("/")
    await expect(options.filter(has_text="/status")).to_be_visible()
    assert await violations(page) == []
    await box.press_sequentially("verb")
    await expect(options).to_have_text([re.compile(r"^/verbose .*\S")])
    await page.keyboard.press("Tab")
    await expect(box).to_have_value("/verbose ")
    choices = await options.all_text_contents()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await expect(box).to_have_attribute("aria-activedescendant", "completion-1")
    await page.keyboard.press("Enter")
    await expect(box).to_have_value(f"/verbose {choices[1].strip()}")
    await expect(options).to_have_count(0)

    await box.fill("/who")
    await options.filter(has_text="/whoami").click()
    await expect(box).to_have_value("/whoami")
    await expect(box).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log")).to_contain_text("/whoami")

    await box.press_sequentially("/mod")
    await expect(options.first).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(options).to_have_count(0)
    await expect(box).to_have_value("/mod")
    await box.fill("/etc/hosts")
    await expect(options).to_have_count(0)
