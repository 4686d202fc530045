from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.servers.hub_process import HubProcess
from tests.web.browser import Chromium, opened

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FILE = "configuration.yaml"


@pytest_asyncio.fixture(loop_scope="session")
async def editor(signed_in: BrowserContext, hub: HubProcess) -> AsyncIterator[Page]:
    """The editor on a valid file, which is put back afterwards."""
    before = (hub.home / FILE).read_text()
    page = await opened(signed_in, "/config")
    await page.wait_for_selector("#config-editor[data-ready]")
    yield page
    (hub.home / FILE).write_text(before)


def text_of(page: Page) -> Locator:
    return page.get_by_role("textbox", name=f"Text of {FILE}")


async def add_line(page: Page, line: str) -> None:
    """Write a line at the end of the file."""
    await text_of(page).focus()
    await page.keyboard.press("Control+End")
    await page.keyboard.insert_text(f"\n{line}\n")


async def test_the_file_is_shown_with_its_comments(editor: Page) -> None:
    await expect(text_of(editor)).to_contain_text("# The home of the browser tests.")
    await expect(editor.get_by_role("button", name="Save")).to_be_disabled()


async def test_an_error_is_shown_in_place_and_can_be_mended(editor: Page, hub: HubProcess) -> None:
    await add_line(editor, "htpp: {}")

    problem = editor.get_by_role("list", name="Problems").get_by_role("listitem")
    await expect(problem).to_contain_text("htpp")
    await expect(problem).to_contain_text("http")
    await expect(editor.locator(".cm-lintRange-error")).to_have_text("htpp")
    for _ in range(len("htpp: {}\n")):
        await editor.keyboard.press("Backspace")
    await editor.keyboard.insert_text("http: {allowed_hosts: [homarus.example]}\n")
    await expect(editor.get_by_role("list", name="Problems")).to_be_hidden()
    await editor.keyboard.press("Control+s")

    await expect(editor.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    assert "homarus.example" in (hub.home / FILE).read_text()
    assert "# The home of the browser tests." in (hub.home / FILE).read_text()
    await expect(editor.get_by_role("button", name="Save")).to_be_disabled()


async def test_a_broken_text_is_not_written_and_stays_until_it_is_saved_anyway(
    chromium: Chromium, editor: Page, hub: HubProcess
) -> None:
    chromium.allowed.append("status of 422")
    before = (hub.home / FILE).read_text()
    await add_line(editor, "htpp: {}")
    await editor.keyboard.press("Control+s")
    await expect(editor.get_by_role("status").filter(has_text="Nothing was saved")).to_be_visible()
    assert (hub.home / FILE).read_text() == before

    await editor.reload()
    await editor.wait_for_selector("#config-editor[data-ready]")
    await expect(text_of(editor)).to_contain_text("htpp")
    await editor.get_by_role("button", name="Save", exact=True).click()
    await editor.get_by_role("button", name="Save anyway").click()

    await expect(editor.get_by_role("status").filter(has_text="there are problems")).to_contain_text("Saved")
    assert "htpp" in (hub.home / FILE).read_text()


async def test_a_saved_change_takes_effect_at_once(editor: Page) -> None:
    await editor.locator(".cm-line", has_text="name: Home").click()
    await editor.keyboard.press("End")
    await editor.keyboard.insert_text("stead")
    await editor.get_by_role("button", name="Save").click()
    await expect(editor.get_by_role("status").filter(has_text="Saved")).to_be_visible()

    await editor.goto("/")

    await expect(editor.get_by_role("link", name="Homestead")).to_be_visible()


async def test_keys_are_completed_from_the_schema(editor: Page) -> None:
    await add_line(editor, "")

    await editor.keyboard.type("sess", delay=30)

    await expect(editor.locator(".cm-tooltip-autocomplete").get_by_text("session", exact=True)).to_be_visible()


async def test_a_file_that_changed_meanwhile_is_not_overwritten_and_the_draft_stays(
    editor: Page, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 409")
    await add_line(editor, "# mine")
    (hub.home / FILE).write_text((hub.home / FILE).read_text() + "# theirs\n")

    await editor.get_by_role("button", name="Save").click()

    await expect(editor.get_by_text("The file changed meanwhile")).to_be_visible()
    await expect(text_of(editor)).to_contain_text("# mine")
    assert "# mine" not in (hub.home / FILE).read_text()
    await editor.get_by_role("button", name="Overwrite with mine").click()
    await expect(editor.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    assert "# mine" in (hub.home / FILE).read_text()


async def test_a_draft_survives_a_reload_and_can_be_discarded(editor: Page) -> None:
    await add_line(editor, "# a draft")
    await editor.reload()
    await editor.wait_for_selector("#config-editor[data-ready]")
    await expect(text_of(editor)).to_contain_text("# a draft")

    await editor.get_by_role("button", name="Discard").click()
    await editor.wait_for_selector("#config-editor[data-ready]")

    await expect(text_of(editor)).not_to_contain_text("# a draft")


async def test_an_earlier_version_is_compared_and_restored(editor: Page, hub: HubProcess) -> None:
    before = (hub.home / FILE).read_text()
    await add_line(editor, "# a line to be taken back")
    await editor.get_by_role("button", name="Save").click()
    await expect(editor.get_by_role("status").filter(has_text="Saved")).to_be_visible()

    await editor.get_by_role("link", name="History").click()
    versions = editor.get_by_role("region", name="Versions").first
    await expect(versions.get_by_role("listitem").first).to_contain_text("line added")
    await versions.get_by_role("link").first.click()
    await expect(editor.locator("ins", has_text="# a line to be taken back")).to_be_visible()
    await editor.get_by_role("button", name="Restore this version").click()

    await editor.wait_for_selector("#config-editor[data-ready]")
    await expect(text_of(editor)).not_to_contain_text("# a line to be taken back")
    assert (hub.home / FILE).read_text() == before


async def test_a_problem_on_home_leads_to_its_line(chromium: Chromium, editor: Page) -> None:
    chromium.allowed.append("status of 422")
    await add_line(editor, "memory_typo: {}")
    await editor.get_by_role("button", name="Save").click()
    await editor.get_by_role("button", name="Save anyway").click()
    await expect(editor.get_by_role("status").filter(has_text="Saved, but")).to_be_visible()

    await editor.goto("/")
    await editor.get_by_role("link", name=f"Open {FILE}").first.click()

    await editor.wait_for_selector("#config-editor[data-ready]")
    await expect(editor.locator(".cm-activeLine")).to_contain_text("memory_typo")
