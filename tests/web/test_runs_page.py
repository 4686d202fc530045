"""The pages of runs: a list with filters, and one run step by step, live while it goes on."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import BrowserContext, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import is_ready, opened
from tests.web.looks import faults
from tests.web.plain_browser import plain_browser
from web.runs.run_view import CHART_HEIGHT, CHART_WIDTH, bars

LIST = {"tool_call": {"name": "ls", "arguments": {"path": "."}}}
SPAWN = {"tool_call": {"name": "sessions_spawn", "arguments": {"task": "Count <all> dogs.", "label": "dogs"}}}


def ask(hub: HubProcess, text: str, name: str, *, wait: bool = True) -> str:
    """Write a message into a conversation of this name; return the run."""
    key = f"agent:main:webchat:direct:{name}"
    run_id: str = hub.rpc("chat.send", {"message": text, "sessionKey": key, "idempotencyKey": f"run-{name}"})["runId"]
    if wait:
        hub.rpc("agent.wait", {"runId": run_id})
    return run_id


async def test_a_run_is_shown_from_the_message_to_the_reply(hub: HubProcess, model_server: OpenAIServer) -> None:
    model_server.reset()
    model_server.queue(LIST, "There are files.")
    ask(hub, "what is <there>?", "files")

    async with plain_browser(hub) as browser:
        await browser.goto("/runs")
        assert "✓ answered" in browser.text("#runs-page li")
        await browser.follow("✓ answered")
        names = [each.split()[0] for each in browser.texts("#steps summary")]
        steps = browser.text("#steps")

    assert names == ["Message", "Waited", "my_server/scripted", "ls", "my_server/scripted", "Sent"]
    assert "what is <there>?" in steps
    assert '"path": "."' in steps
    assert "AGENTS.md" in steps
    assert "There are files." in steps
    assert len(browser.page.select("svg rect")) >= 4  # and one more once the reply is sent
    assert not browser.page.select("[data-revision]")


async def test_another_model_answers_beside_the_first(hub: HubProcess, model_server: OpenAIServer) -> None:
    model_server.reset()
    model_server.queue("Four.", "It is 4.")
    run = ask(hub, "what is 2 + 2?", "sum")

    async with plain_browser(hub) as browser:
        await browser.goto(f"/runs/show?run={run}")
        browser.fill("Model", "my_server/scripted")
        await browser.press("Ask it")
        first, other = (browser.region(name).get_text(" ") for name in ("The answer of this run", "The other answer"))

    assert "Four." in first
    assert "It is 4." in other
    assert "my_server/scripted" in other
    assert model_server.requests()[-1]["body"]["messages"][-1]["content"].endswith("what is 2 + 2?")


async def test_runs_are_found_by_how_they_ended_and_by_their_conversation(
    hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.reset()
    model_server.queue("fine", {"status": 401, "body": {"error": {"message": "Invalid API key"}}})
    ask(hub, "one", "good")
    failed = ask(hub, "two", "bad")

    async with plain_browser(hub) as browser:
        await browser.goto("/runs")
        browser.fill("State", "failed")
        await browser.press("Show")
        (only,) = browser.texts("#runs-page li")
        await browser.goto(f"/runs/show?run={failed}")
        shown = browser.text("#run-page")
        await browser.follow("Runs of this conversation")
        of_it = browser.texts("#runs-page li")
        await browser.goto("/runs?session=agent:main:webchat:direct:nobody")
        nothing = browser.text("#runs-page")
        await browser.goto("/runs/show?run=nobody")

    assert only.startswith("✗ failed · two ")
    assert "refused the key" in shown or "MODEL_AUTH" in shown
    assert len(of_it) == 1
    assert "No runs." in nothing
    assert browser.status == 404


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_subagents_are_followed_and_can_be_stopped(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.rule("please", SPAWN)
    model_server.rule("please", "I will let you know.", tool_result="accepted")
    model_server.rule("Count <all> dogs", [{"hold": "dogs"}, {"text": "Two."}])
    page = await opened(signed_in, "/runs")
    listed = page.get_by_role("region", name="Subagents").get_by_role("listitem").filter(has_text="have them counted")

    ask(hub, "please have them counted", "dogs")
    await expect(listed).to_contain_text("running · dogs · please have them counted")
    await expect(listed).to_contain_text("Count <all> dogs.")
    assert await faults(page) == []
    await page.get_by_role("button", name="Stop dogs").click()

    await expect(listed).to_contain_text("stopped · dogs")
    await expect(page.get_by_role("button", name="Stop dogs")).to_have_count(0)


async def test_what_a_subagent_found_is_listed_with_its_model_and_tokens(
    hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.reset()
    model_server.rule("please", SPAWN)
    model_server.rule("please", "I will let you know.", tool_result="accepted")
    model_server.rule("Count <all> dogs", "Two <dogs>.")
    model_server.rule("Subagent results", "Two.")
    ask(hub, "please count them", "result")
    [child] = [each for each in hub.rpc("subagents.list")["subagents"] if "result" in each["requesterKey"]]
    hub.rpc("agent.wait", {"runId": child["runId"]})

    async with plain_browser(hub) as browser:
        async with asyncio.timeout(10):
            while "Two <dogs>." not in browser.text():
                await browser.goto(f"/runs?session={child['requesterKey']}")
        (row,) = [each.get_text(" ", strip=True) for each in browser.region("Subagents").select("li")]
        await browser.goto("/runs?state=failed")

    assert "Two <dogs>." in row
    assert "my_server/scripted" in row
    assert browser.texts("h2") == []


def test_bars_lie_within_their_frame_and_follow_each_other() -> None:
    steps = [
        {"kind": "received", "at": 1_000},
        {"kind": "queued", "at": 1_000, "durationMs": 0},
        {"kind": "model", "at": 1_000, "durationMs": 750.0, "model": "a/b"},
        {"kind": "tool", "at": 1_750, "durationMs": 250.0, "name": "ls"},
        {"kind": "tool", "at": 2_000, "durationMs": None, "name": "still going on"},
    ]

    drawn = bars(steps)

    assert [(each["kind"], each["took"], each["x"], each["width"]) for each in drawn] == [
        ("queued", "0 ms", 0.0, 2.0),
        ("model", "750 ms", 0.0, 450.0),
        ("tool", "250 ms", 450.0, 150.0),
    ]
    assert all(each["x"] + each["width"] <= CHART_WIDTH for each in drawn)
    assert drawn[-1]["y"] + drawn[-1]["height"] <= CHART_HEIGHT
    assert bars([]) == []


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_run_that_goes_on_is_followed_to_its_end(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.queue(LIST, [{"hold": "end"}, {"text": "There are files."}])
    run = ask(hub, "what is there?", "live", wait=False)
    page = await signed_in.new_page()

    await page.goto(f"/runs/show?run={run}")
    await is_ready(page)
    calls = page.locator("#steps summary")
    await expect(calls.last).to_contain_text("running")
    await calls.nth(3).click()
    model_server.release("end")

    await expect(page.get_by_text("✓ answered")).to_be_visible()
    await expect(calls.last).to_contain_text("SentThere are files.")
    await expect(page.get_by_text('"path": "."')).to_be_visible()  # what is open stays open
    assert await faults(page) == []
