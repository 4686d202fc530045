"""The first steps of a fresh home: to an answer without a file, each step as it looks, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.async_api import Browser, Page, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, is_ready
from tests.web.conftest import sign_in
from tests.web.looks import faults
from tests.web.plain_browser import plain_browser
from web.home.first_steps import is_fresh

CLICKS_LIMIT = 12
STARTER = {"people": [{"id": "me", "name": "Me", "owner": True}], "models": {"default": "auto"}}
PAGES = ["", "/model", "/model?provider=my_server", "/chat", "/phone", "/found", "/from", "/done"]


def test_a_home_is_fresh_until_somebody_a_model_or_a_chat_app_is_named() -> None:
    assert is_fresh(STARTER)
    assert not is_fresh(STARTER | {"people": [{"id": "me", "name": "Anna", "owner": True}]})
    assert not is_fresh(STARTER | {"models": {"providers": {"anthropic": {"api_key": "x"}}}})
    assert not is_fresh(STARTER | {"telegram": [{"token": "x"}]})
    assert not is_fresh({"hub": {"name": "Pier"}})


async def count_clicks(page: Page) -> None:
    """Count from now on how often somebody clicks, on this page and those that follow."""
    await page.evaluate("sessionStorage.clicks = 0")
    await page.context.add_init_script(
        "addEventListener('click', (event) => { if (event.detail) sessionStorage.clicks++ }, true)"
    )
    await page.reload()
    await is_ready(page)


async def walk_to_an_answer(page: Page, model_server: OpenAIServer) -> int:
    """Take the steps with a server of one's own, to the first answer; return the clicks."""
    await page.get_by_label("Name of the home").fill("Harbour")
    await page.get_by_label("Your name").fill("Anna")
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("link", name="My own server").click()
    await page.get_by_label("Address").fill(model_server.base_url)
    await page.get_by_role("button", name="Connect").click()
    await page.get_by_role("button", name="Use this model").click()
    for step in ("chat", "phone", "found", "from"):
        await page.wait_for_url(f"**/welcome/{step}")
        await page.get_by_role("link", name="Skip this step").click()
    await page.get_by_role("button", name="What can you do for me?").click()
    await expect(page.get_by_role("log").get_by_text("Gladly: I can do a lot.")).to_be_visible()
    return int(await page.evaluate("sessionStorage.clicks"))


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_fresh_home_answers_with_a_server_of_ones_own_in_twelve_clicks_without_a_file(
    browser: Browser, model_server: OpenAIServer, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    model_server.set_default("Gladly: I can do a lot.")
    begun = time.monotonic()
    with HubProcess(tmp_path / "home") as hub:
        async with Chromium(browser, hub.url) as chromium:
            page = await (await chromium.context(timezone_id="Asia/Tokyo")).new_page()
            await page.goto(hub.rpc("dashboard.link")["url"])
            await page.wait_for_url("**/welcome")
            await is_ready(page)
            await count_clicks(page)
            await expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")

            clicks = await walk_to_an_answer(page, model_server)

            record_property("clicks", clicks)
            record_property("seconds_from_the_start_of_the_hub", round(time.monotonic() - begun, 1))
            assert 0 < clicks <= CLICKS_LIMIT
            section = hub.rpc("config.get")["config"]["hub"]
            assert (section["name"], section["time_zone"]) == ("Harbour", "Asia/Tokyo")
            assert "name: Anna" in (hub.home / "configuration.yaml").read_text()
            await page.goto("/")
            await expect(page.get_by_role("heading", level=1)).to_contain_text("Anna")
            await expect(page.locator("#card-start")).to_contain_text("2 of 5 done")
            assert chromium.unexpected() == []


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_first_steps_can_be_taken_again_later(
    browser: Browser, model_server: OpenAIServer, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    model_server.set_default("Gladly: I can do a lot.")
    with HubProcess(tmp_path / "home") as hub:
        async with Chromium(browser, hub.url) as chromium:
            page = await (await sign_in(chromium, hub)).new_page()
            await page.goto("/welcome/model")
            await page.get_by_role("button", name="Stay offline").click()
            await page.wait_for_url("**/welcome/chat")
            assert hub.rpc("models.status")["default"] == "offline/homarus"
            await page.get_by_role("button", name="Skip for now").click()
            await page.wait_for_url(f"{hub.url}/")

            begun = time.monotonic()
            await page.goto("/settings")
            await is_ready(page)
            await count_clicks(page)
            await page.get_by_role("link", name="First steps").click()
            await page.wait_for_url("**/welcome")
            clicks = await walk_to_an_answer(page, model_server)

            record_property("clicks", clicks)
            record_property("seconds", round(time.monotonic() - begun, 1))
            assert 0 < clicks <= CLICKS_LIMIT
            assert hub.rpc("models.status")["default"].startswith("my_server/")
            assert chromium.unexpected() == []


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_every_step_is_accessible_and_fits_and_none_leads_back_once_left(
    browser: Browser, tmp_path: Path
) -> None:
    with HubProcess(tmp_path / "home") as hub:
        async with Chromium(browser, hub.url) as chromium:
            page = await (await sign_in(chromium, hub)).new_page()
            found = {}
            for path in PAGES:
                await page.goto(f"/welcome{path}")
                await is_ready(page)
                found[path] = await faults(page)
            assert found == {path: [] for path in PAGES}

            await page.goto("/welcome")
            await page.get_by_role("button", name="Skip for now").click()
            await page.wait_for_url(f"{hub.url}/")
            await page.context.clear_cookies()
            await page.goto(hub.rpc("dashboard.link")["url"])

            await page.wait_for_url(f"{hub.url}/")
            await page.locator("#card-start").get_by_role("link", name="Tell it who you are").click()
            await page.wait_for_url("**/welcome")
            assert chromium.unexpected() == []


async def test_what_is_wrong_is_said_at_its_field_and_nothing_is_written_without_script(tmp_path: Path) -> None:
    with HubProcess(tmp_path / "home") as hub:
        before = (hub.home / "configuration.yaml").read_text()
        async with plain_browser(hub, "zh-CN") as plain:
            assert plain.url == f"{hub.url}/welcome"
            assert plain.value("语言") == "zh-CN"

            plain.fill("您的名字", "A" * 101)
            plain.fill("家的名称", "Harbour")
            await plain.press("继续")

            assert plain.status == 422
            assert plain.text(".field .wrong")
            assert (plain.value("家的名称"), plain.value("您的名字")) == ("Harbour", "A" * 101)
            assert (hub.home / "configuration.yaml").read_text() == before

            plain.fill("您的名字", "安娜")
            await plain.press("继续")

            assert plain.url == f"{hub.url}/welcome/model"
            assert hub.rpc("config.get")["config"]["people"] == [{"id": "me", "name": "安娜", "owner": True}]
            await plain.goto("/channels/add?channel=telegram&back=/welcome/chat")
            assert plain.page.select_one("input[name=back]")["value"] == "/welcome/chat"  # type: ignore[index]


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_memory_of_another_assistant_is_brought_in(browser: Browser, tmp_path: Path) -> None:
    export, workspace = tmp_path / "export.zip", tmp_path / "openclaw"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- The boiler is from 2019.\n")
    (workspace / "SOUL.md").write_text("Be a pirate.\n")
    with ZipFile(export, "w") as file:
        file.writestr("memories.json", json.dumps([{"conversations_memory": "Likes green tea."}]))
    with HubProcess(tmp_path / "home") as hub:
        async with Chromium(browser, hub.url) as chromium:
            chromium.allowed.append("status of 4")
            page = await (await sign_in(chromium, hub)).new_page()
            await page.goto("/welcome/from")
            await page.get_by_label("The export").set_input_files(tmp_path / "home" / "configuration.yaml")
            await page.get_by_role("button", name="Bring it in").first.click()
            await expect(page.locator(".field .wrong")).to_be_visible()

            await page.get_by_label("The export").set_input_files(export)
            await page.get_by_role("button", name="Bring it in").first.click()
            await expect(page.get_by_role("status").filter(has_text="1 file was brought in.")).to_be_visible()
            await page.get_by_label("Its folder on the computer of the hub").fill(str(workspace))
            await page.get_by_role("button", name="Bring it in").last.click()
            await expect(page.get_by_text("SOUL.md")).to_be_visible()
            assert await faults(page) == []

            files = {each["path"] for each in hub.rpc("memory.list")["files"]}
            texts = "".join(hub.rpc("memory.read", {"path": path})["text"] for path in files)
            assert "green tea" in texts
            assert "from 2019" in texts
            assert "pirate" not in texts
            assert chromium.unexpected() == []
