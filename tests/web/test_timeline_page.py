"""The timeline: what did not happen is found at once, one happening tells where its time went and why, and is live."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, StorageState, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium, is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import ON_A_PHONE, faults, misfits, violations
from tests.web.plain_browser import plain_browser

AUTOMATIONS = """\
- id: porch
  alias: Porch light
  trigger: {trigger: event, event_type: dusk}
  condition: {condition: state, entity_id: sensor.porch, state: dark}
  action: {action: event.fire, data: {type: lit}}
"""
MODEL = "models: [{{id: scripted, context_window: 32768}}]"
LIST = {"tool_call": {"name": "ls", "arguments": {"path": "."}}}
SPAWN = {"tool_call": {"name": "sessions_spawn", "arguments": {"task": "Count <all> dogs.", "label": "dogs"}}}
OVERLOADED = {"status": 401, "body": {"error": {"message": "Invalid API key"}}}


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home: Path = tmp_path_factory.mktemp("timeline") / "home"
    home.mkdir(mode=0o700)
    two = CONFIGURATION.replace(MODEL, f"{MODEL[:-1]}, {{{{id: second, context_window: 32768}}}}]")
    two = two.replace("default: my_server/scripted", "default: my_server/scripted\n  fallbacks: [my_server/second]")
    (home / "configuration.yaml").write_text(
        two.format(base_url=model_server.base_url) + "automation: !include a.yaml\n"
    )
    (home / "a.yaml").write_text(AUTOMATIONS)
    with HubProcess(home) as hub:
        hub.rpc("state.set", {"entity_id": "sensor.porch", "state": "bright", "attributes": {"friendly_name": "Porch"}})
        yield hub


def ask(hub: HubProcess, text: str, name: str, *, wait: bool = True) -> str:
    """Write a message into a conversation of this name; return the run."""
    key = f"agent:main:webchat:direct:{name}"
    run_id: str = hub.rpc("chat.send", {"message": text, "sessionKey": key, "idempotencyKey": f"run-{name}"})["runId"]
    if wait:
        hub.rpc("agent.wait", {"runId": run_id})
    return run_id


async def skip(hub: HubProcess) -> None:
    """Set the automation off while its condition does not hold."""
    hub.rpc("event.fire", {"type": "dusk"})
    await until(lambda: hub.rpc("automation.not_run", {"id": "porch"})["entries"])


async def test_a_run_is_shown_from_the_message_to_the_reply(hub: HubProcess, model_server: OpenAIServer) -> None:
    model_server.reset()
    model_server.queue(LIST, "There are files.")
    run = ask(hub, "what is <there>?", "files")

    async with plain_browser(hub) as browser:
        await browser.goto(f"/runs/show?run={run}")
        shown, steps = browser.text("#happening"), browser.texts(".steps > li")
        lanes = browser.texts(".lanes > li")

    assert "Answered" in shown
    assert [each.split("Details")[0] for each in steps if "what is <there>?" in each]
    assert '"path": "."' in shown
    assert "AGENTS.md" in shown
    assert "There are files." in shown
    assert len(lanes) >= 4


async def test_another_model_answers_beside_the_first(hub: HubProcess, model_server: OpenAIServer) -> None:
    model_server.reset()
    model_server.queue("Four.", "It is 4.")
    run = ask(hub, "what is 2 + 2?", "sum")

    async with plain_browser(hub) as browser:
        await browser.goto(f"/timeline/run.{run}")
        browser.fill("Model", "my_server/second")
        await browser.press("Ask it")
        first, other = (browser.region(f"The answer of {name}").get_text(" ") for name in ("scripted", "second"))

    assert "Four." in first
    assert "It is 4." in other
    assert model_server.requests()[-1]["body"]["messages"][-1]["content"].endswith("what is 2 + 2?")


async def test_a_question_is_asked_again(hub: HubProcess, model_server: OpenAIServer) -> None:
    model_server.reset()
    model_server.queue("It is noon.", "It is one.")
    run = ask(hub, "what time is it now?", "again")

    async with plain_browser(hub) as browser:
        await browser.goto(f"/timeline/run.{run}")
        await browser.press("Run again")
        asked = re.search(r"run\.(\w+)", str(browser.url))
        assert asked is not None
        hub.rpc("agent.wait", {"runId": asked[1]})
        await browser.goto(f"/timeline/run.{asked[1]}")
        shown = browser.text("#happening")

    assert asked[1] != run
    assert "It is one." in shown


@pytest.mark.asyncio(loop_scope="session")
async def test_a_change_of_a_device_says_what_it_was_what_it_became_and_what_came_before(hub: HubProcess) -> None:
    for state in ("off", "on"):
        named = {"friendly_name": "Hall lamp", "brightness": 153}
        hub.rpc("state.set", {"entity_id": "light.hall", "state": state, "attributes": named})
    asked = {"kind": ["device"], "entityId": "light.hall"}
    await until(lambda: hub.rpc("timeline.list", asked)["happenings"])
    (change,) = hub.rpc("timeline.list", asked)["happenings"]

    async with plain_browser(hub) as tab:
        await tab.goto(f"/timeline/{change['id']}")

        assert tab.texts("h1") == ["Hall lamp turned on"]
        assert [text.split()[:4] for text in tab.texts(".stat")] == [
            ["It", "was", "Off"],
            ["It", "became", "On", "·"],
        ]
        assert "since then" in tab.texts(".stat")[1]
        assert tab.texts(".rows b") == ["Hall lamp turned on"]


async def test_old_addresses_lead_here_and_what_is_unknown_says_so(hub: HubProcess) -> None:
    async with plain_browser(hub) as browser:
        await browser.goto("/runs")
        assert browser.text("h1") == "Timeline"
        await browser.goto("/automations/history?q=porch")
        assert browser.value("Search the timeline") == "porch"
        await browser.goto("/timeline?kind=nonsense&outcome=nonsense&day=nonsense&cursor=")
        assert browser.status == 200
        await browser.goto("/timeline/run.nobody")

    assert browser.status == 404


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_what_did_not_happen_is_found_in_two_clicks(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.reset()
    model_server.queue(OVERLOADED, "The second answers.")
    ask(hub, "who answers?", "fallback")
    await skip(hub)
    page = await opened(signed_in, "/")

    await page.get_by_role("link", name="Timeline").first.click()
    await page.get_by_role("listitem").filter(has_text="Porch light").get_by_role("link").first.click()
    why = page.get_by_role("region", name="Why")
    await expect(page.get_by_role("region", name="Summary")).to_contain_text("Did not run")
    await expect(why).to_contain_text("Porch is bright, not dark")
    assert await faults(page) == []

    await page.goto("/timeline")
    fallen = page.get_by_role("listitem").filter(has_text="who answers?").filter(has_text="Fell back")
    await fallen.get_by_role("link").first.click()
    await expect(page.get_by_role("list", name="What happened")).to_contain_text("scripted did not answer")
    assert await faults(page) == []


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_denied_command_is_found_in_two_clicks(signed_in: BrowserContext, hub: HubProcess) -> None:
    hub.rpc("exec.approval.request", {"command": "rm -r old", "timeoutMs": 60_000, "twoPhase": True, "id": "denied-1"})
    hub.rpc("exec.approval.resolve", {"id": "denied-1", "decision": "deny"})
    page = await opened(signed_in, "/timeline")

    await page.get_by_role("navigation", name="Timeline").get_by_role("link", name="Approvals").click()
    await page.get_by_role("listitem").filter(has_text="Denied").get_by_role("link").first.click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("rm -r old")
    await expect(page.get_by_role("list", name="What happened")).to_contain_text("It was denied")


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_list_is_live_and_a_subagent_is_followed_and_stopped(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.reset()
    model_server.rule("please", SPAWN)
    model_server.rule("please", "I will let you know.", tool_result="accepted")
    model_server.rule("Count <all> dogs", [{"hold": "dogs"}, {"text": "Two."}])
    page = await opened(signed_in, "/timeline")

    ask(hub, "please have them counted", "dogs")
    child = page.get_by_role("listitem").filter(has_text="Count <all> dogs.").filter(has_text="Running")
    await child.get_by_role("link").first.click()
    await page.get_by_role("button", name="Stop").click()

    stopped = page.get_by_role("listitem").filter(has_text="Count <all> dogs.").filter(has_text="Stopped")
    await expect(stopped).to_be_visible()


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_lane_tells_its_start_and_length_by_the_keyboard(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.reset()
    model_server.queue(LIST, "Files.")
    run = ask(hub, "and what is here?", "lanes")
    page = await opened(signed_in, f"/timeline/run.{run}")
    lane = page.get_by_role("img", name=re.compile("^Model: begins after")).first

    await lane.focus()

    await expect(lane.locator(".tip")).to_be_visible()
    await expect(lane.locator(".tip")).to_contain_text("tokens")


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_it_fits_a_phone_and_is_in_chinese(chromium: Chromium, cookies: StorageState, hub: HubProcess) -> None:
    await skip(hub)
    context = await chromium.context(storage_state=cookies, **ON_A_PHONE, locale="zh-CN")
    page = await context.new_page()
    await page.goto("/timeline")
    await is_ready(page)
    found = [*await violations(page), *await misfits(page)]
    await page.get_by_role("button", name="筛选").click()
    await page.get_by_role("combobox").last.select_option(label="没有运行")
    await page.locator("#filters").get_by_role("button", name="筛选").click()
    await expect(page.get_by_role("listitem").filter(has_text="Porch light").first).to_contain_text("没有运行")
    await page.get_by_role("listitem").filter(has_text="Porch light").first.get_by_role("link").click()
    await expect(page.get_by_role("heading", name="原因")).to_be_visible()

    assert [*found, *await violations(page), *await misfits(page)] == []


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_all_that_the_model_was_sent_can_be_read(signed_in: BrowserContext, hub: HubProcess) -> None:
    run = ask(hub, "What is in the cellar?", "sent")
    page = await opened(signed_in, f"/timeline/run.{run}")
    step = page.get_by_role("list", name="What happened").get_by_role("listitem").filter(has_text="What the model")
    await step.locator("summary").first.click()

    await step.get_by_role("link", name="All that the model was sent").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("What the model was sent")
    await page.get_by_text("rules", exact=True).click()
    await expect(page.locator("details[open] pre").first).to_be_visible()
    await expect(page.locator("main")).to_contain_text("What is in the cellar?")
    await expect(page.get_by_role("heading", name="Tools")).to_be_visible()
    assert await faults(page) == []
