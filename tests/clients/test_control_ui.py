"""OpenClaw's Control UI, unchanged, in a real browser before a real hub; and its recorded requests in every run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.clients.control_ui import ControlUi
from tests.clients.npm import installed
from tests.gateway.rig import client_of, connect_params
from tests.lengths import LONG
from tests.security_review.besieged import besieged
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
DAYS = {"MONTH AGO": -30, "TOMORROW": 1}
RECORDED = json.loads(
    re.sub(
        "|".join(DAYS),
        lambda day: (datetime.now(UTC) + timedelta(days=DAYS[day[0]])).date().isoformat(),
        (Path(__file__).parent / "control_ui_requests.json").read_text(),
    )
)
"""What its pages ask, each method with each set of keys once; `connect` is below."""
CONNECT: dict[str, Any] = {
    "client": {"id": "openclaw-control-ui", "version": "2026.9.6", "platform": "Linux x86_64", "mode": "webchat"},
    "scopes": [
        *("operator.admin", "operator.read", "operator.write"),
        *("operator.approvals", "operator.questions", "operator.pairing"),
    ],
    "caps": ["agent-kind", "approvals", "task-suggestions", "tool-events", "inline-widgets", "ui-commands"],
    "locale": "en-US",
}
NOT_HERE = {"sessions.branches.list", "sessions.companion.state"}
"""What it asks for and lives without."""
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
def model_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("control-ui") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    with HubProcess(home) as process:
        process.rpc("cron.add", JOB)
        process.rpc("sessions.create", {"key": "agent:main:before", "label": "said before"})
        before = {"sessionKey": "agent:main:before", "message": "what is 2 + 3?", "idempotencyKey": "b"}
        process.rpc("chat.send", before)
        process.rpc("agent.wait", {"runId": "b", "timeoutMs": 30_000})
        yield process


async def test_what_its_pages_ask_is_answered(tmp_path: Path, model_server: OpenAIServer) -> None:
    async with besieged(tmp_path / "home", model_server) as house, client_of(house) as client:  # type: ignore[arg-type]
        await house.run("hello")
        await house.rpc("cron.add", JOB)
        token = house.owner["Authorization"].split()[1]
        hello = await client.call("connect", connect_params(token=token, **CONNECT))
        answers = [(each, await client.call(each["method"], each["params"])) for each in RECORDED]

    assert set(CONNECT["scopes"]) <= set(hello["payload"]["auth"]["scopes"])
    refused = {each["method"]: answer["error"] for each, answer in answers if not answer["ok"]}
    assert {name: error["message"] for name, error in refused.items()} == {
        name: f"unknown method: {name}" for name in NOT_HERE
    }
    shown: dict[str, Any] = {each["method"]: answer.get("payload") for each, answer in answers}
    assert [job["name"] for job in shown["cron.list"]["jobs"]] == ["Water the plants"]
    assert shown["chat.startup"]["messages"]
    assert shown["sessions.list"]["sessions"]
    assert shown["sessions.usage"]["aggregates"]["byModel"]


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
        await expect(page.get_by_role("link", name="Automations")).to_be_visible(timeout=WAIT_LIMIT_MS)
        yield page


@pytest.mark.skipif(not LONG, reason="script/test --long installs OpenClaw by npm")
async def test_the_chat_streams_an_answer(page: Page, ui: ControlUi, model_server: OpenAIServer) -> None:
    model_server.queue([{"text": "It begins here"}, {"hold": "rest"}, {"text": " and it ends here."}])
    await page.goto(f"{ui.url}/chat")
    box = page.get_by_placeholder(re.compile("Message"))
    await box.fill("Tell me a story")
    await box.press("Enter")

    await expect(page.get_by_text("It begins here").last).to_be_visible(timeout=WAIT_LIMIT_MS)
    await expect(page.get_by_text("and it ends here")).to_have_count(0)
    model_server.release("rest")
    await expect(page.get_by_text("It begins here and it ends here.").last).to_be_visible(timeout=WAIT_LIMIT_MS)
    await expect(page.get_by_text("Tell me a story").first).to_be_visible()
    assert not FAULT.search(await page.inner_text("body"))


@pytest.mark.skipif(not LONG, reason="script/test --long installs OpenClaw by npm")
async def test_the_owner_approves_a_command_in_the_chat(page: Page, ui: ControlUi, hub: HubProcess) -> None:
    await page.goto(f"{ui.url}/chat")
    await expect(page.get_by_placeholder(re.compile("Message"))).to_be_visible(timeout=WAIT_LIMIT_MS)
    request = {"command": "rm -r old", "agentId": "main", "sessionKey": "agent:main:main"}
    asking = asyncio.create_task(asyncio.to_thread(hub.rpc, "exec.approval.request", request))

    await expect(page.get_by_text("rm -r old").last).to_be_visible(timeout=WAIT_LIMIT_MS)
    await page.get_by_role("button", name="Allow once").last.click()

    assert (await asking)["decision"] == "allow-once"


@pytest.mark.skipif(not LONG, reason="script/test --long installs OpenClaw by npm")
@pytest.mark.parametrize("path", list(PAGES))
async def test_a_page_shows_the_data_of_the_hub(page: Page, ui: ControlUi, path: str) -> None:
    ui.requests.clear()
    await page.goto(f"{ui.url}{path}")

    await expect(page.get_by_text(PAGES[path]).first).to_be_visible(timeout=WAIT_LIMIT_MS)
    await page.wait_for_load_state("networkidle")
    assert not FAULT.search(await page.inner_text("body"))
    assert [each for each in ui.refused() if each["method"] not in NOT_HERE] == []
    assert {each["method"] for each in ui.requests} <= {each["method"] for each in RECORDED} | {"connect"}
