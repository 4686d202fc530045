"""The log in a browser: new lines come in by themselves, until it is paused, and files that are taken along."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import BrowserContext, expect

from hub import __version__
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import opened

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_new_lines_come_in_until_it_is_paused_and_are_downloaded(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    page = await opened(signed_in, "/settings/logs")
    lines = page.locator("#log")

    hub.rpc("agents.create", {"name": "Live"})
    await expect(lines).to_contain_text("of agent live")

    await page.get_by_role("button", name="Pause").click()
    hub.rpc("agents.create", {"name": "Paused"})
    await expect(page.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "true")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download").click()
    path = await (await download.value).path()
    told = path.read_text(encoding="utf-8")
    await page.get_by_role("button", name="Pause").click()

    await expect(lines).to_contain_text("of agent paused")
    assert "of agent live" in told
    assert "of agent paused" not in told


async def test_diagnostics_are_downloaded_without_what_is_private(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    page = await opened(signed_in, "/settings/status")

    async with page.expect_download() as download:
        await page.get_by_role("link", name="Diagnostics").click()
    file = await download.value
    text = (await file.path()).read_text(encoding="utf-8")

    assert file.suggested_filename == "homarus-diagnostics.json"
    assert json.loads(text)["versions"]["homarus"] == __version__
    assert "test-key-of-a-scripted-server" in (hub.home / "configuration.yaml").read_text()
    for private in ("test-key-of-a-scripted-server", hub.token, model_server.base_url, "my_server"):
        assert private not in text
