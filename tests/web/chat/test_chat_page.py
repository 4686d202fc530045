from __future__ import annotations

import asyncio
import json
import re
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from playwright.async_api import BrowserContext, FilePayload, Locator, Page, Response, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import RESTART, Chromium, another_page, is_ready
from tests.web.conftest import home_file
from tests.web.looks import DESKTOP, faults
from tests.web.test_pages import signed_in as client

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ANSWERED = re.compile(r"^scripted · [\d.]+ s$")


async def say(page: Page, text: str) -> None:
    await page.get_by_role("textbox", name="Message").fill(text)
    await page.keyboard.press("Enter")


async def say_until_taken(page: Page, text: str) -> None:
    """Say something and wait for the hub to take it; what was said before may be answered in between."""

    def takes_it(response: Response) -> bool:
        return response.url.endswith("/chat/send") and text in (response.request.post_data or "")

    async with page.expect_response(takes_it):
        await say(page, text)


async def test_an_answer_streams_in_and_is_rendered_as_markdown(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue([{"text": "First **bold** words.\n\n"}, {"hold": "rest"}, {"text": "- one\n- two"}])

    await say(page, "tell me")

    conversation = page.get_by_role("log")
    await expect(conversation.locator("strong")).to_have_text("bold")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await expect(conversation.get_by_role("listitem")).to_have_count(0)
    model_server.release("rest")
    await expect(conversation.get_by_role("listitem")).to_have_text(["one", "two"])
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(conversation.get_by_text("tell me")).to_have_count(1)


async def test_a_question_stands_above_its_answer(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue("An answer.")

    await say(page, "A question?")

    turns = page.get_by_role("log").get_by_role("article")
    await expect(turns).to_have_text([re.compile("A question"), re.compile("An answer")])


async def test_a_tool_call_is_a_card_that_opens_and_stays_open(page: Page, model_server: OpenAIServer) -> None:
    call = {"name": "ls", "arguments": {"path": "."}}
    model_server.queue([{"text": "I look."}, {"tool_call": call}], [{"hold": "end"}, {"text": "There are files."}])

    await say(page, "what is there?")

    card = page.get_by_role("log").locator("details.group")
    await expect(card.locator("summary")).to_have_text(re.compile(r"^Looked into the folder \.( · [\d.]+ s)?$"))
    await card.locator("summary").click()
    await expect(card.get_by_text('"path": "."')).to_be_visible()
    await expect(card.get_by_text("AGENTS.md")).to_be_visible()
    model_server.release("end")
    await expect(page.get_by_role("log").get_by_text("There are files.")).to_be_visible()
    await expect(card.get_by_text("AGENTS.md")).to_be_visible()


@pytest.mark.parametrize(("where", "key"), [("#run-state button", "Enter"), ("#message", "Escape")])
async def test_a_run_can_be_stopped(page: Page, model_server: OpenAIServer, where: str, key: str) -> None:
    model_server.queue([{"text": "I begin to"}, {"hold": "never"}])
    await say(page, "write a book")
    await expect(page.get_by_role("log").get_by_text("I begin to")).to_be_visible()

    await page.locator(where).press(key)

    await expect(page.get_by_role("log").get_by_text("Stopped")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


async def test_one_can_write_on_while_the_agent_works(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue([{"text": "One "}, {"hold": "first"}, {"text": "done."}], "Two done.")
    await say(page, "first")
    await expect(page.get_by_role("log").get_by_text("One")).to_be_visible()

    await say(page, "second")
    await expect(page.get_by_role("list", name="Waiting to be sent").get_by_text("second")).to_be_visible()
    model_server.release("first")

    await expect(page.get_by_role("log").get_by_text("Two done.")).to_be_visible()
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()
    await expect(page.get_by_role("log").get_by_text("second", exact=True)).to_have_count(1)


def bubbles(page: Page) -> Locator:
    """What was said, in order, by both sides."""
    return page.get_by_role("log").locator("article .text")


async def test_messages_of_one_turn_are_shown_as_they_were_written(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue([{"text": "One "}, {"hold": "first"}, {"text": "done."}], "Both done.")
    await say(page, "first")
    await expect(page.get_by_role("log").get_by_text("One")).to_be_visible()

    for text in ("second", "third"):
        await say_until_taken(page, text)
    model_server.release("first")

    shown = ["first", "One done.", "second", "third", "Both done."]
    await expect(bubbles(page)).to_have_text(shown)
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()
    await page.reload()
    await expect(bubbles(page)).to_have_text(shown)
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()


async def test_a_message_steers_the_turn_that_goes_on(page: Page, model_server: OpenAIServer) -> None:
    await say(page, "/queue steer")
    await expect(page.get_by_role("log").get_by_text("steer").last).to_be_visible()
    called = {"tool_call": {"name": "ls", "arguments": {}}}
    model_server.queue([{"text": "I look."}, {"hold": "look"}, called], "Not the kitchen, then.")
    await say(page, "turn on the lights")
    await expect(page.get_by_role("log").get_by_text("I look.")).to_be_visible()

    await say_until_taken(page, "not in the kitchen")
    await expect(page.get_by_role("list", name="Waiting to be sent").get_by_text("kitchen")).to_be_visible()
    model_server.release("look")

    answer = page.get_by_role("log").locator("article[data-role=assistant]").last
    await expect(answer).to_contain_text("Not the kitchen, then.")
    await expect(answer).to_contain_text("I look.")
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()
    said = ["turn on the lights", "not in the kitchen", "I look.", "Not the kitchen, then."]
    shown: list[str | re.Pattern[str]] = [re.compile("steer"), re.compile("steer"), *said]
    await expect(bubbles(page)).to_have_text(shown)
    await page.reload()
    await expect(bubbles(page)).to_have_text(shown)


async def test_stop_ends_the_turn_and_puts_what_waits_back_into_the_box(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue([{"text": "I begin to"}, {"hold": "never"}])
    await say(page, "write a book")
    await expect(page.get_by_role("log").get_by_text("I begin to")).to_be_visible()
    await say_until_taken(page, "a poem instead")
    await expect(page.get_by_role("list", name="Waiting to be sent").get_by_text("a poem")).to_be_visible()

    await say(page, "or a song")
    await expect(page.get_by_role("button", name="Take back: or a song")).to_be_visible()

    await page.get_by_role("button", name="Stop").click()

    await expect(page.get_by_role("textbox", name="Message")).to_have_value("a poem instead\nor a song")
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()
    await expect(page.get_by_role("log").get_by_text("Stopped")).to_be_visible()


async def test_a_message_that_waits_is_taken_back(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue([{"text": "I begin to"}, {"hold": "poem"}, {"text": " rhyme."}])
    await say(page, "write a poem")
    await expect(page.get_by_role("log").get_by_text("I begin to")).to_be_visible()

    await page.get_by_role("textbox", name="Message").fill("and another")
    await page.keyboard.press("Alt+Enter")
    await page.get_by_role("button", name="Take back: and another").click()
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()
    model_server.release("poem")

    await expect(page.get_by_role("log").get_by_text("I begin to rhyme.")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    await expect(page.get_by_role("log").get_by_text("and another")).to_have_count(0)


async def test_a_picture_and_a_text_file_are_attached(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue("A nice picture.")
    picture: FilePayload = {"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"}
    notes: FilePayload = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"buy milk"}
    await page.set_input_files("#files", files=[picture, notes])
    await expect(page.get_by_role("list", name="Attached")).to_contain_text("photo.png")
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("notes.md:\n```\nbuy milk\n```")

    await page.keyboard.press("Enter")

    await expect(page.get_by_role("log").get_by_text("[a picture]")).to_be_visible()
    await expect(page.get_by_role("log").get_by_text("A nice picture.")).to_be_visible()
    await expect(page.get_by_role("list", name="Attached")).to_be_hidden()


async def test_the_model_of_a_new_conversation_is_picked_before_its_first_message(page: Page) -> None:
    await page.get_by_role("button", name="Model: scripted").click()
    async with another_page(page):
        await page.get_by_role("button", name="Offline sentences").click()

    await expect(page.get_by_role("button", name="Model: Offline sentences")).to_be_visible()
    await say(page, "What time is it?")
    await expect(page.get_by_role("log").get_by_role("article").filter(has_text=":").last).to_be_visible()


async def test_one_goes_on_from_an_earlier_turn_in_a_copy(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue("First answer.", "Second answer.")
    for words, answer in (("one", "First answer."), ("two", "Second answer.")):
        await say(page, words)
        await expect(page.get_by_role("log").get_by_text(answer)).to_be_visible()
    before = page.url

    first = page.get_by_role("log").get_by_role("article").filter(has_text="First answer.")
    await first.hover()
    await first.get_by_role("button", name="Fork from here").click()

    await page.wait_for_url(lambda url: url != before)
    await expect(bubbles(page)).to_have_text(["one", "First answer."])


async def test_what_a_command_drops_comes_back_into_the_box(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue([{"text": "I begin to"}, {"hold": "never"}])
    await say(page, "write a book")
    await expect(page.get_by_role("log").get_by_text("I begin to")).to_be_visible()
    await say_until_taken(page, "a poem instead")
    await expect(page.get_by_role("list", name="Waiting to be sent").get_by_text("a poem")).to_be_visible()

    await say(page, "/stop")

    await expect(page.get_by_role("textbox", name="Message")).to_have_value("a poem instead")
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()


async def test_a_message_that_was_dropped_does_not_wait_after_a_restart(
    hub: HubProcess, model_server: OpenAIServer
) -> None:
    key, as_json = f"agent:main:webchat:direct:{uuid4().hex}", {"Accept": "application/json"}
    model_server.queue([{"text": "I begin to"}, {"hold": "never"}])
    states = []

    async def send(text: str, id: str) -> None:
        async with client(hub) as session:
            body = {"session": key, "key": f"{id}-{key[-32:]}", "text": text}
            async with session.post("/chat/send", json=body, headers=as_json) as answer:
                states.append((await answer.json())["state"])

    await send("write a book", "first")
    await send("a poem instead", "second")
    await send("/stop", "third")
    hub.stop()
    hub.start()
    await send("a poem instead", "second")

    assert states == ["waits", "waits", "done", "dropped"]


async def test_what_is_being_written_survives_a_reload(page: Page) -> None:
    await page.get_by_role("textbox", name="Message").fill("half a thou")

    await page.reload()

    await expect(page.get_by_role("textbox", name="Message")).to_have_value("half a thou")


async def test_a_page_opened_in_the_middle_of_a_run_shows_it_and_goes_on(
    page: Page, signed_in: BrowserContext, model_server: OpenAIServer
) -> None:
    model_server.queue([{"text": "Half of it, "}, {"hold": "half"}, {"text": "and the rest."}])
    await say(page, "go")
    await expect(page.get_by_role("log").get_by_text("Half of it,")).to_be_visible()

    other = await signed_in.new_page()
    await other.goto(page.url)
    await expect(other.get_by_role("log").get_by_text("Half of it,")).to_be_visible()
    await is_ready(other)
    model_server.release("half")

    await expect(other.get_by_role("log").get_by_text("Half of it, and the rest.")).to_be_visible()
    await expect(page.get_by_role("log").get_by_text("Half of it, and the rest.")).to_be_visible()


async def test_an_error_of_the_model_is_shown_and_can_be_retried(page: Page, model_server: OpenAIServer) -> None:
    model_server.set_default({"status": 401, "body": {"error": {"message": "Incorrect API key provided."}}})

    await say(page, "hello?")

    await expect(page.get_by_role("log").locator(".notice.danger")).to_be_visible()
    model_server.set_default("Now I hear you.")
    await page.get_by_role("button", name="Retry").first.click()
    await expect(page.get_by_role("log").get_by_text("Now I hear you.")).to_be_visible()
    await expect(page.get_by_role("log").get_by_text("hello?")).to_have_count(2)
    await expect(page.get_by_role("log").get_by_text(ANSWERED)).to_be_visible()


async def test_a_change_of_files_is_taken_back_by_a_button(
    page: Page, model_server: OpenAIServer, hub: HubProcess
) -> None:
    call = {"name": "write", "arguments": {"path": "inbox/undo_me.md", "content": "x"}, "id": "call-undo"}
    model_server.queue({"tool_call": call}, "It is written.")
    await say(page, "write it")
    await expect(page.get_by_role("log").get_by_text("It is written.")).to_be_visible()
    file = home_file(hub, "workspace/inbox/undo_me.md")
    assert file.read_text() == "x"

    await page.get_by_role("button", name="Undo the latest change of files").click()

    await expect(page.get_by_role("log").get_by_text("Taken back: inbox/undo_me.md")).to_be_visible()
    assert not file.exists()


async def test_hostile_words_of_a_model_stay_words(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue("<img src=x onerror=alert(1)> <script>alert(1)</script> [go](javascript:alert(1)) done")

    await say(page, "be evil")

    await expect(page.get_by_role("log").get_by_text("<script>alert(1)</script>")).to_be_visible()
    await expect(page.get_by_role("log").locator(".text :is(script, img, a)")).to_have_count(0)


async def test_a_conversation_is_named_by_its_first_words_and_can_be_renamed_and_deleted(
    page: Page, model_server: OpenAIServer
) -> None:
    model_server.queue("Yes.")
    await say(page, "Is the boiler on?")
    sessions = page.get_by_role("complementary", name="Conversations")
    await expect(sessions.get_by_role("link", name="Is the boiler on?")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Is the boiler on?")

    await page.get_by_role("button", name="Details").click()
    await page.get_by_label("Name").fill("Boiler")
    await page.get_by_role("button", name="Rename").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Boiler")
    await page.get_by_text("Delete conversation…").click()
    await page.get_by_role("button", name="Delete", exact=True).click()

    await page.wait_for_url("**/chat/sessions")
    await expect(page.get_by_role("link", name="Boiler")).to_have_count(0)


async def test_the_details_stay_beside_the_conversation_and_follow_it(page: Page, model_server: OpenAIServer) -> None:
    await page.get_by_role("button", name="Details").click()
    details = page.get_by_role("dialog", name="Details")
    await expect(details).to_contain_text("0 of")
    model_server.queue("Yes.")

    await say(page, "Is the boiler on?")

    await expect(details).to_be_visible()
    await expect(details).not_to_contain_text(re.compile(r"(?<![\d.,])0 of"))
    box, panel = await page.locator("#composer").bounding_box(), await details.bounding_box()
    assert box
    assert panel
    assert box["x"] + box["width"] <= panel["x"]
    await page.reload()
    await is_ready(page)
    await expect(details).to_be_visible()
    assert await faults(page) == []  # on a phone it is a sheet, and the page is looked at without it
    await page.set_viewport_size(DESKTOP)
    await expect(details).to_be_visible()
    await page.keyboard.press("Control+.")
    await expect(details).to_be_hidden()
    await page.reload()
    await is_ready(page)
    await expect(details).to_be_hidden()


async def test_a_suggestion_is_said_with_one_click(page: Page, model_server: OpenAIServer) -> None:
    model_server.queue("A lot.")

    await page.get_by_role("button", name="What can you do?").click()

    await expect(page.get_by_role("log").get_by_text("A lot.")).to_be_visible()
    await expect(page.get_by_text("Ask something")).to_have_count(0)


async def test_a_message_written_while_the_hub_is_away_is_sent_when_it_is_back(
    page: Page, signed_in: BrowserContext, model_server: OpenAIServer, chromium: Chromium
) -> None:
    chromium.allowed.append("ERR_INTERNET_DISCONNECTED|WebSocket")
    model_server.queue("Here again.")
    await signed_in.set_offline(True)

    await say(page, "are you there?")
    await expect(page.get_by_role("list", name="Waiting to be sent").get_by_text("are you there?")).to_be_visible()
    await signed_in.set_offline(False)

    await expect(page.get_by_role("log").get_by_text("Here again.")).to_be_visible()
    await expect(page.get_by_role("log").get_by_text("are you there?")).to_have_count(1)


async def test_two_tabs_recover_by_themselves_when_the_hub_restarts(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer, chromium: Chromium
) -> None:
    chromium.allowed.append(RESTART)
    first, second = await signed_in.new_page(), await signed_in.new_page()
    for tab in (first, second):
        await tab.goto("/chat")
        await is_ready(tab)
    model_server.queue("Before.", "After.")
    await say(first, "one")
    await expect(second.get_by_role("log").get_by_text("Before.")).to_be_visible()
    await second.get_by_role("textbox", name="Message").fill("a draft")

    hub.stop()
    for tab in (first, second):
        await tab.wait_for_selector("html[data-live=off]")
    await expect(first.get_by_role("status").filter(has_text="Reconnecting…")).to_be_visible()
    await say(first, "two")
    hub.start()

    for tab in (first, second):
        await is_ready(tab)
        await expect(tab.get_by_role("log").get_by_text("After.")).to_be_visible()
        await expect(tab.get_by_role("log").get_by_text("Before.")).to_have_count(1)
        await expect(tab.get_by_role("log").get_by_text("two", exact=True)).to_have_count(1)
        await expect(tab.locator("#link-state")).to_be_hidden()
    await expect(second.get_by_role("textbox", name="Message")).to_have_value("a draft")


async def test_a_new_conversation_has_an_address(page: Page) -> None:
    before = page.url

    await page.get_by_role("button", name="New conversation").click()

    await page.wait_for_url(lambda url: url != before)
    key = parse_qs(urlsplit(page.url).query)["session"][0]

    assert key.startswith("agent:main:webchat:direct:")


async def test_a_command_is_answered_beside_the_conversation(page: Page) -> None:
    await say(page, "/help")

    await expect(page.get_by_role("log").locator(".turn.note")).to_contain_text("/status")
    await expect(page.get_by_role("list", name="Waiting to be sent")).to_be_hidden()
    await page.reload()
    await expect(page.get_by_role("log").get_by_role("article")).to_have_text(
        [re.compile("/help"), re.compile("/status")]
    )


async def test_what_an_automation_says_comes_into_the_open_conversation(page: Page, hub: HubProcess) -> None:
    to = parse_qs(urlsplit(page.url).query).get("session", ["agent:main:main"])[0]
    data = json.dumps({"channel": "webchat", "to": to, "text": "Tea is ready."})

    await asyncio.to_thread(hub.cli, "service", "call", "message.send", "--data", data)

    await expect(page.get_by_role("log").get_by_text("Tea is ready.")).to_be_visible()
