"""Pages that integrations bring: MQTT hears and says, MCP shows the hub's own address, and an app is added there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MORE = """\
mqtt:
  port: 0
mcp:
  server: {enabled: true}
"""


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("integrations") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(f"{CONFIGURATION.format(base_url=model_server.base_url)}{MORE}")
    with HubProcess(home) as process:
        yield process


async def test_what_is_published_is_heard(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/settings/mqtt")
    publish = page.locator("#mqtt-publish")
    heard = page.locator("#mqtt-messages > li")

    await page.get_by_role("textbox", name="Topic").first.fill("hall/#")
    await page.get_by_role("button", name="Listen").click()
    await publish.get_by_role("textbox", name="Topic").fill("hall/lamp")
    await publish.get_by_role("textbox", name="Payload").fill('{"state": "ON"}')
    await publish.get_by_role("switch", name="Keep it at the broker").check()
    await publish.get_by_role("button", name="Publish").click()

    await expect(publish.get_by_role("status")).to_have_text("Published.")
    await expect(heard).to_have_count(1)
    await expect(heard).to_contain_text("hall/lamp")
    await expect(heard).to_contain_text('"state": "ON"')
    assert await faults(page) == []


async def test_the_hub_is_a_server_of_its_own_and_another_is_added(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/tools/mcp")
    await expect(page.get_by_role("main")).to_contain_text(f"{hub.url}/mcp")

    await page.get_by_role("button", name="Add a server").click()
    dialog = page.get_by_role("dialog", name="Add a server")
    await expect(dialog.get_by_role("textbox", name="Name")).to_be_focused()
    await page.keyboard.type("tools")
    await dialog.get_by_role("textbox", name="Command of a program").fill("no-such-program --serve")
    await dialog.get_by_role("button", name="Add").click()
    await is_ready(page)

    await expect(page.get_by_role("main")).to_contain_text("no-such-program")
    assert await faults(page) == []
