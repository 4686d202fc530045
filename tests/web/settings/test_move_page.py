"""The page of moving in, without script: a plan, what it brings, and the way back, in a real hub."""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import expect

from tests.migrate.homes import home_assistant
from tests.servers.hub_process import HubProcess
from tests.web.browser import Chromium, is_ready, launched
from tests.web.conftest import sign_in
from tests.web.looks import faults
from tests.web.plain_browser import PlainBrowser, plain_browser

PATH = "/settings/move"
DROPPED = """(bytes) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "ha.tar.gz"));
  return data;
}"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("hub: {name: Elm Street}\nmemory: {embeddings: {provider: none}}\n")
    with HubProcess(home) as hub:
        yield hub


@pytest.fixture
async def tab(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as tab:
        yield tab


async def test_a_plan_is_shown_carried_out_and_taken_back(hub: HubProcess, tab: PlainBrowser, tmp_path: Path) -> None:
    theirs = home_assistant(tmp_path / "ha")
    before = (hub.home / "configuration.yaml").read_bytes()
    await tab.goto(f"{PATH}?source=home-assistant&off=on&path={quote(str(theirs))}")

    assert "Near home" in tab.text(), tab.text()
    assert "Near home" in tab.text("#plan-refused")
    assert "automations.yaml:22" in tab.text("#plan-refused")
    assert "light.stove" in tab.text("#plan-waits")
    assert (hub.home / "configuration.yaml").read_bytes() == before

    await tab.press("Bring it over")
    assert "It is here." in tab.text("main [role=status]")
    assert (hub.home / "packages" / "home_assistant.yaml").is_file()
    assert str(theirs) in tab.text("#moves")

    await tab.press("Take it back")
    assert "It is taken back." in tab.text("main [role=status]")
    assert "Taken back" in tab.text("#moves")
    assert (hub.home / "configuration.yaml").read_bytes() == before


async def test_what_is_no_such_folder_says_so(hub: HubProcess, tab: PlainBrowser, tmp_path: Path) -> None:
    await tab.goto(f"{PATH}?source=openclaw&path={quote(str(tmp_path))}")

    assert "there is no openclaw.json in it" in tab.text("main [role=alert]")


async def test_a_folder_is_sent_as_an_archive_and_is_gone_when_it_was_brought_over(
    hub: HubProcess, tab: PlainBrowser, tmp_path: Path
) -> None:
    upload = hub.home / ".storage" / "moving_in" / "upload"
    await tab.goto(f"{PATH}?source=home-assistant")
    tab.choose_file("A file from this device", "ha.tar.gz", packed(home_assistant(tmp_path / "ha")))
    await tab.press("Show the plan")

    assert "Near home" in tab.text("#plan-refused"), tab.text()
    assert (upload.stat().st_mode & 0o777, [each.name for each in upload.iterdir()]) == (0o700, ["upload.zip"])
    assert [*upload.parent.glob("unpacked-*")] == []

    await tab.press("Bring it over")
    assert "It is here." in tab.text("main [role=status]")
    assert (hub.home / "packages" / "home_assistant.yaml").is_file()
    assert "A file from a browser" in tab.text("#moves")
    assert not upload.exists()

    await tab.press("Take it back")
    assert not (hub.home / "packages" / "home_assistant.yaml").exists()


async def test_what_was_sent_and_is_not_what_was_said_is_told_in_the_form_and_deleted(
    hub: HubProcess, tab: PlainBrowser, tmp_path: Path
) -> None:
    upload = hub.home / ".storage" / "moving_in" / "upload"
    await tab.goto(f"{PATH}?source=openclaw")
    await tab.press("Show the plan")
    assert (tab.status, "Choose a file, or name a folder." in tab.text("main [role=alert]")) == (400, True)

    tab.choose_file("A file from this device", "ha.tar.gz", packed(home_assistant(tmp_path / "ha")))
    await tab.press("Show the plan")
    assert "there is no openclaw.json in the archive" in tab.text("main [role=alert]")
    assert tab.value("From") == "openclaw"
    assert not upload.exists()

    tab.choose_file("A file from this device", "chats.json", b'[{"mapping": {}}]')
    await tab.press("Show the plan")
    assert "cannot be read as an archive" in tab.text("main [role=alert]")
    assert not (tmp_path / "home" / ".storage" / "moving_in" / "upload").exists()


async def test_what_was_sent_can_be_deleted_before_it_is_brought_over(hub: HubProcess, tab: PlainBrowser) -> None:
    upload = hub.home / ".storage" / "moving_in" / "upload"
    chats = b'[{"uuid": "a1", "name": "Tea", "chat_messages": [{"sender": "human", "text": "Which tea?"}]}]'
    await tab.goto(f"{PATH}?source=claude")
    tab.choose_file("A file from this device", "conversations.json", chats)
    await tab.press("Show the plan")
    assert "Tea" in tab.text("#plan-taken")
    assert [each.name for each in upload.iterdir()] == ["upload.json"]

    await tab.press("Delete it")
    assert tab.status == 200
    assert not upload.exists()


@pytest.mark.browser
async def test_a_file_is_dropped_on_the_form(hub: HubProcess, tmp_path: Path) -> None:
    data = list(packed(home_assistant(tmp_path / "ha")))
    async with launched() as browser, Chromium(browser, hub.url) as chromium:
        page = await (await sign_in(chromium, hub)).new_page()
        await page.goto(PATH)
        await is_ready(page)
        files = await page.evaluate_handle(DROPPED, data)
        await page.locator("#from form").dispatch_event("drop", {"dataTransfer": files})
        assert await faults(page) == []
        await page.get_by_role("button", name="Show the plan").click()

        await expect(page.locator("#plan-refused")).to_contain_text("Near home")
        await expect(page.get_by_text("The file that you sent lies in the home")).to_be_visible()
        assert await faults(page) == []
        assert chromium.unexpected() == []


def packed(folder: Path) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as made:
        made.add(folder, "config")
    return data.getvalue()
