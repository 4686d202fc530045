"""Approvals on Home in a real browser: an agent wants to open the door, the owner decides."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
from aiohttp import ClientSession
from playwright.async_api import BrowserContext, Page, expect

from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import opened
from tests.web.chat.test_chat_page import say
from tests.web.conftest import CONFIGURATION
from tests.web.plain_browser import plain_browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

UNLOCK = {
    "tool_call": {"name": "call_service", "arguments": {"domain": "doorbell", "service": "unlock"}, "id": "call-1"}
}
WANTS = "Let the assistant do this at home?"


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    configuration = CONFIGURATION.format(base_url=model_server.base_url) + "doorbell:\n  place: front door\n"
    with HubProcess(make_home(tmp_path_factory.mktemp("inbox") / "home", configuration, own=("doorbell",))) as process:
        yield process


async def wants_to_unlock(hub: HubProcess, server: OpenAIServer, run_id: str) -> None:
    """Have the agent ask for the door; the run then waits."""
    server.queue(UNLOCK, "done")
    params = {"sessionKey": run_id, "message": "unlock", "idempotencyKey": run_id}
    await asyncio.to_thread(hub.rpc, "chat.send", params)


async def ended(hub: HubProcess, run_id: str) -> list[str]:
    """Wait for the end of a run; return what its tools answered."""
    await asyncio.to_thread(hub.rpc, "agent.wait", {"runId": run_id, "timeoutMs": 50_000})
    entries = (await asyncio.to_thread(hub.rpc, "sessions.transcript", {"key": run_id}))["entries"]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    return [each["content"][0]["text"] for each in messages if each["role"] == "toolResult"]


@pytest.mark.parametrize(
    ("button", "state", "answer"), [("Allow", "Allowed by you", "front door"), ("Deny", "Denied by you", "no")]
)
async def test_what_waits_appears_by_itself_and_is_answered_with_a_button(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer, button: str, state: str, answer: str
) -> None:
    page = await opened(signed_in, "/")

    await wants_to_unlock(hub, model_server, f"press-{button}")
    card = page.locator(".approval[data-state=pending]")
    await expect(card.get_by_role("heading")).to_have_text(WANTS)
    await expect(card.locator("pre").first).to_have_text("doorbell.unlock")
    await expect(card).to_contain_text(re.compile(r"\d+:\d\d left"))
    answered = page.locator(f"#{await card.get_attribute('id')}")
    await card.get_by_role("button", name=button).click()

    await expect(answered).to_contain_text(state)
    await expect(page.locator(".approval[data-state=pending]")).to_have_count(0)
    assert answer in (await ended(hub, f"press-{button}"))[0]


async def test_it_goes_by_itself_when_it_was_answered_elsewhere(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    page = await opened(signed_in, "/")
    await wants_to_unlock(hub, model_server, "elsewhere")
    await expect(page.locator(".approval[data-state=pending]")).to_have_count(1)

    (waiting,) = hub.rpc("approval.list")["approvals"]
    in_chinese = await signed_in.request.get("/", headers={"Accept-Language": "zh-CN"})
    assert "助手想调用此服务，每次都需要您的批准。" in await in_chinese.text()
    hub.rpc("approval.resolve", {"id": waiting["id"], "decision": "deny"})

    await expect(page.locator(".approval[data-state=pending]")).to_have_count(0)
    await ended(hub, "elsewhere")


async def test_a_question_of_an_agent_is_answered_with_a_button_or_in_words(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    day = {"question": "Which day?", "choices": ["Saturday", "<b>Sunday</b>"]}
    model_server.queue({"tool_call": {"name": "ask_user", "arguments": {"questions": [day, day]}, "id": "q"}}, "done")
    page = await opened(signed_in, "/")

    params = {"sessionKey": "ask", "message": "plan", "idempotencyKey": "ask"}
    await asyncio.to_thread(hub.rpc, "chat.send", params)
    card = page.locator(".approval[data-state=pending]")
    await expect(card.get_by_role("heading")).to_have_text("Which day?")
    (first,) = (await asyncio.to_thread(hub.rpc, "question.list"))["questions"]
    await card.get_by_role("button", name="<b>Sunday</b>").click()
    await expect(page.locator(f"#a-{first['id']}")).to_have_count(0)
    await card.get_by_role("textbox").fill("on Monday")
    await card.get_by_role("button", name="Answer", exact=True).click()

    (told,) = await ended(hub, "ask")
    assert "<b>Sunday</b>" in told
    assert "on Monday" in told
    await expect(card).to_have_count(0)


async def test_a_secret_is_given_in_a_masked_field(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    ask = {"name": "BIKE_KEY", "why": "to open the bike"}
    model_server.queue({"tool_call": {"name": "ask_secret", "arguments": ask, "id": "s"}}, "done")
    page = await opened(signed_in, "/")

    params = {"sessionKey": "secret", "message": "open", "idempotencyKey": "secret"}
    await asyncio.to_thread(hub.rpc, "chat.send", params)
    card = page.locator(".approval[data-state=pending]")
    await expect(card.get_by_role("heading")).to_have_text("BIKE_KEY: to open the bike")
    field = card.get_by_label("BIKE_KEY")
    await expect(field).to_have_attribute("type", "password")
    await field.fill("a bicycle lock opens")
    await card.get_by_role("button", name="Keep it").click()

    (told,) = await ended(hub, "secret")
    assert "$BIKE_KEY" in told
    await expect(card).to_have_count(0)


@pytest.mark.parametrize(
    ("button", "ended_as", "told"), [("Allow once", "Allowed by", "front door"), ("Deny", "Denied by", "no")]
)
async def test_the_conversation_shows_a_card_that_is_answered_there(
    page: Page, hub: HubProcess, model_server: OpenAIServer, button: str, ended_as: str, told: str
) -> None:
    model_server.queue(UNLOCK, f"That was {button}.")

    await say(page, "open the door")
    card = page.get_by_role("group", name=WANTS)
    await expect(card.locator("pre").first).to_have_text("doorbell.unlock")
    await card.get_by_role("button", name=button).click()

    await expect(card).to_contain_text(f"{ended_as} you, ")
    await expect(card.get_by_role("button", name=button)).to_have_count(0)
    answer = page.get_by_role("log").get_by_text(f"That was {button}.")
    await expect(answer).to_be_visible()
    await page.reload()
    await expect(card).to_contain_text(f"{ended_as} you, ")
    assert await card.evaluate(
        "(card) => Boolean(card.compareDocumentPosition([...document.querySelectorAll('.text')].at(-1)) & 4)"
    )


async def test_a_card_is_answered_by_its_code_in_words_too(
    page: Page, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.queue(UNLOCK, "The door is open.")

    await say(page, "open the door")
    await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
    (waiting,) = hub.rpc("approval.list")["approvals"]
    await say(page, f"/approve {waiting['code']}")

    await expect(page.get_by_role("log").get_by_text("Approved: doorbell.unlock")).to_be_visible()
    await expect(page.get_by_role("log").get_by_text("The door is open.")).to_be_visible()
    await expect(page.get_by_role("group", name=WANTS)).to_contain_text("Allowed by")


async def test_a_question_and_a_secret_are_cards_of_the_conversation(page: Page, model_server: OpenAIServer) -> None:
    day = {"question": "Which day?", "choices": ["Saturday", "Sunday"]}
    ask = {"name": "CAR_KEY", "why": "to open the car"}
    model_server.queue(
        {"tool_call": {"name": "ask_user", "arguments": {"questions": [day]}, "id": "q"}},
        {"tool_call": {"name": "ask_secret", "arguments": ask, "id": "s"}},
        "Both are known.",
    )

    await say(page, "plan the trip")
    await page.get_by_role("group", name="Which day?").get_by_role("button", name="Sunday").click()
    await expect(page.get_by_role("group", name="Which day?")).to_contain_text("Answered by you")
    await page.get_by_label("CAR_KEY", exact=True).fill("a key of a car")
    await page.get_by_role("button", name="Keep it").click()

    await expect(page.get_by_role("log").get_by_text("Both are known.")).to_be_visible()
    await expect(page.get_by_role("group", name="CAR_KEY: to open the car")).to_contain_text("Answered by you")


async def test_it_works_without_script_and_in_chinese(hub: HubProcess, model_server: OpenAIServer) -> None:
    await wants_to_unlock(hub, model_server, "plain")
    (waiting,) = await until(lambda: hub.rpc("approval.list")["approvals"])

    async with plain_browser(hub, language="zh-CN") as plain:
        await plain.goto("/")
        await plain.press("拒绝")
        answered = plain.texts(f"#a-{waiting['id']}")

    assert any("已拒绝" in each for each in answered)
    assert "said no" in (await ended(hub, "plain"))[0]


async def test_the_form_refuses_whoever_may_not_answer(hub: HubProcess, model_server: OpenAIServer) -> None:
    await wants_to_unlock(hub, model_server, "refused")
    await until(lambda: hub.rpc("approval.list")["approvals"])
    (waiting,) = hub.rpc("approval.list")["approvals"]
    reader = hub.rpc("token.create", {"name": "reader", "scopes": ["operator.write"]})["token"]
    answer = {"id": waiting["id"], "answer": "once"}
    bearer = {"Authorization": f"Bearer {reader}", "Accept": "application/json"}

    async with ClientSession(hub.url) as client:
        nobody = await client.post("/approvals/answer", json=answer)
        writer = await client.post("/approvals/answer", json=answer, headers=bearer)
        seen = await (await client.get("/", headers=bearer)).text()

    assert (nobody.status, writer.status) == (401, 403)
    assert waiting["code"] not in seen
    assert [each["id"] for each in hub.rpc("approval.list")["approvals"]] == [waiting["id"]]
    hub.rpc("approval.resolve", {"id": waiting["id"], "decision": "deny"})
    await ended(hub, "refused")
