"""OpenClaw's Control UI, unchanged, in a real browser before a real hub; and its recorded requests in every run."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.clients.control_ui import ControlUi
from tests.clients.npm import installed
from tests.lengths import LONG
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import launched
from tests.web.conftest import CONFIGURATION

pytestmark = pytest.mark.asyncio(loop_scope="module")
WAIT_LIMIT_MS = 30_000
JOB = {
    "name": "Water the plants",
    "schedule": {"kind": "every", "everyMs": 3_600_000},
    "sessionTarget": "isolated",
    "payload": {"kind": "agentTurn", "message": "say hi"},
}
FAULT = re.compile(r"unknown method|extra keys|INVALID_REQUEST|missing scope|invalid inventory|not a valid")
PAGES = {
    "/sessions": "said before",
    "/agents": "Homarus",
    "/automations": "Water the plants",
    "/usage": "Daily Token Usage",
    "/logs": "hub.",
}
"""Pages with data, and words of it that are seen on each."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("control-ui") / "home"
    home.mkdir(mode=0o700)
    with OpenAIServer() as server:
        (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=server.base_url))
        with HubProcess(home) as process:
            process.rpc("cron.add", JOB)
            process.rpc("sessions.create", {"key": "agent:main:before", "label": "said before"})
            process.rpc(
                "chat.send", {"sessionKey": "agent:main:before", "message": "what is 2 + 3?", "idempotencyKey": "b"}
            )
            process.rpc("agent.wait", {"runId": "b", "timeoutMs": 30_000})
            yield process


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ui(hub: HubProcess) -> AsyncIterator[ControlUi]:
    static = installed("openclaw", "2026.9.6") / "dist" / "control-ui"
    async with ControlUi(static, hub.url).running() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(hub: HubProcess, ui: ControlUi) -> AsyncIterator[Page]:
    async with launched() as browser:
        page = await browser.new_page()
        page.set_default_timeout(WAIT_LIMIT_MS)
        await page.goto(f"{ui.url}/chat#token={hub.token}")
        yield page


@pytest.mark.skipif(not LONG, reason="script/test --long installs OpenClaw by npm")
async def test_the_chat_streams_an_answer(page: Page, ui: ControlUi) -> None:
    await page.goto(f"{ui.url}/chat")
    box = page.get_by_role("textbox", name=re.compile("Message"))
    await box.fill("what is 3 + 4?")
    await box.press("Enter")

    await expect(page.get_by_text("what is 3 + 4?").first).to_be_visible(timeout=WAIT_LIMIT_MS)
    await expect(page.get_by_text("7", exact=True).last).to_be_visible(timeout=WAIT_LIMIT_MS)
    assert not FAULT.search(await page.inner_text("body"))


@pytest.mark.skipif(not LONG, reason="script/test --long installs OpenClaw by npm")
@pytest.mark.parametrize("path", list(PAGES))
async def test_a_page_shows_the_data_of_the_hub(page: Page, ui: ControlUi, path: str) -> None:
    ui.requests.clear()
    await page.goto(f"{ui.url}{path}")

    await expect(page.get_by_text(PAGES[path]).first).to_be_visible(timeout=WAIT_LIMIT_MS)
    await page.wait_for_load_state("networkidle")
    assert not FAULT.search(await page.inner_text("body"))
    others = [each for each in ui.refused() if "unknown method" not in each["answer"]["error"]["message"]]
    assert others == []
