"""Editing a memory file in a real browser: what is typed is not lost, whatever happens on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Route, StorageState, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import ON_A_PHONE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("editing") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    files = {
        "MEMORY.md": b"# What counts\n",
        "memory/2026-05-11.md": b"# 2026-05-11\n\n- Sun all day\n",
        "memory/2026-05-12.md": b"# 2026-05-12\n\n- Rain all day\n",
        "memory/windows.md": b"# Windows\r\n\r\n- One\r\n",
        "memory/latin.md": b"# Latin\n\n- caf\xe9\n",
        "memory/long.md": b"# Long\n\n" + b"- A line of many\n" * 200,
    }
    for name, content in files.items():
        path = home / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with HubProcess(home) as process:
        yield process


def file_of(hub: HubProcess, name: str) -> Path:
    return hub.home / "workspace" / name


async def test_a_second_press_while_it_is_saved_is_one_change(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess
) -> None:
    chromium.allowed.append("Transition was")  # by the browser, when pages follow each other at once
    page = await opened(signed_in, "/memory/edit?path=memory/2026-05-11.md")
    asked: list[str] = []
    may_go_on = asyncio.Event()

    async def hold(route: Route) -> None:
        asked.append(route.request.url)
        await may_go_on.wait()
        await route.continue_()

    await page.route("**/memory/save", hold)
    await page.get_by_label("Content", exact=True).fill("# 2026-05-11\n\n- Twice\n")
    await page.keyboard.press("Control+s")
    await expect(page.get_by_text("Saving…")).to_be_visible()
    await page.keyboard.press("Control+s")
    may_go_on.set()
    await page.wait_for_url("**/memory/file?**told=saved**")

    assert len(asked) == 1


async def test_what_was_typed_outlives_a_session_that_ended(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess
) -> None:
    chromium.allowed += ["status of 401", "WebSocket"]
    page = await opened(signed_in, "/memory/edit?path=memory/2026-05-12.md")
    await page.get_by_label("Content", exact=True).fill("# 2026-05-12\n\n- Late\n")
    await signed_in.clear_cookies()
    await page.keyboard.press("Control+s")

    await expect(page.get_by_text("You are signed out.")).to_be_visible()
    await expect(page.get_by_role("link", name="Sign in")).to_have_attribute("target", "_blank")
    other = await signed_in.new_page()
    await other.goto(hub.rpc("dashboard.link")["url"])
    await other.wait_for_url(f"{hub.url}/")
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/memory/file?**told=saved**")

    assert file_of(hub, "memory/2026-05-12.md").read_text() == "# 2026-05-12\n\n- Late\n"


@pytest.mark.parametrize("look", [{}, ON_A_PHONE])
async def test_what_saving_came_to_is_seen_without_scrolling(
    chromium: Chromium, cookies: StorageState, look: dict[str, object]
) -> None:
    chromium.allowed.append("ERR_FAILED")
    page = await opened(await chromium.context(storage_state=cookies, **look), "/memory/edit?path=memory/long.md")
    await page.route("**/memory/save", lambda route: route.abort())
    await page.get_by_label("Content", exact=True).press("Control+s")

    await expect(page.get_by_text("The hub cannot be reached right now.")).to_be_in_viewport()
    await expect(page.get_by_role("button", name="Save")).to_be_in_viewport()


async def test_the_draft_of_a_new_file_keeps_its_path(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/memory/new?path=memory/2026-07-01.md")
    await page.get_by_label("Path", exact=True).fill("memory/garden.md")
    await page.get_by_label("Content", exact=True).fill("# Beans\n")

    await page.reload()

    await expect(page.get_by_label("Content", exact=True)).to_have_value("# Beans\n")
    await expect(page.get_by_label("Path", exact=True)).to_have_value("memory/garden.md")
    await page.get_by_role("link", name="Cancel").click()
    await page.wait_for_url("**/memory/files")
    await page.goto("/memory/new?path=memory/2026-07-01.md")
    await expect(page.get_by_label("Path", exact=True)).to_have_value("memory/2026-07-01.md")


async def test_a_new_file_where_one_is_says_so_and_leaves_no_draft_behind(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess
) -> None:
    chromium.allowed.append("status of 409")
    page = await opened(signed_in, "/memory/new?path=memory/2026-07-02.md")
    await page.get_by_label("Path", exact=True).fill("MEMORY.md")
    await page.get_by_label("Content", exact=True).fill("# Mine\n")
    await page.get_by_role("button", name="Save").click()

    await expect(page.get_by_role("heading", name="It exists already")).to_be_visible()
    assert file_of(hub, "MEMORY.md").read_text() == "# What counts\n"
    await page.get_by_role("link", name="Discard mine and load the file").click()
    await page.wait_for_url("**/memory/file?path=MEMORY.md")
    await page.goto("/memory/new?path=memory/2026-07-02.md")
    await expect(page.get_by_label("Content", exact=True)).to_have_value("# 2026-07-02\n\n")


async def test_the_ends_of_lines_stay_as_they_were(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/memory/edit?path=memory/windows.md")
    await page.get_by_label("Content", exact=True).press("Control+End")
    await page.keyboard.type("- Two\n")
    await page.keyboard.press("Control+s")
    await page.wait_for_url("**/memory/file?**told=saved**")

    assert file_of(hub, "memory/windows.md").read_bytes() == b"# Windows\r\n\r\n- One\r\n- Two\r\n"
