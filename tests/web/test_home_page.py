"""Home of the made-up home, in a browser: what one does there without leaving it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, FilePayload, Page, expect

from tests.servers.demo_process import DemoProcess
from tests.web.browser import Chromium, another_page, is_ready
from tests.web.conftest import sign_in
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    with DemoProcess(tmp_path_factory.mktemp("home-page") / "home") as process:
        yield process


@pytest_asyncio.fixture(loop_scope="session")
async def home(browser: Browser, demo: DemoProcess) -> AsyncIterator[Page]:
    async with Chromium(browser, demo.url) as profiles:
        page = await (await sign_in(profiles, demo)).new_page()
        await page.goto("/")
        await is_ready(page)
        yield page
    assert profiles.unexpected() == []


async def test_it_greets_and_shows_what_matters(home: Page) -> None:
    await expect(home.get_by_role("heading", level=1)).to_contain_text(", Ada")
    for card in ("Run this command on this machine?", "Latest answers", "Favourite devices", "Next up", "This week"):
        await expect(home.get_by_role("heading", name=card)).to_be_visible()
    await expect(home.locator(".page-head")).to_contain_text("3 things need you")
    await expect(home.locator("#waiting-count")).to_have_text("3 waiting for you")
    assert await faults(home) == []


async def test_an_approval_is_answered_in_place(home: Page) -> None:
    card = home.locator(".approval").filter(has_text="ls -la /etc")
    await expect(card.locator("code")).to_have_text("ls -la /etc")
    await card.get_by_text("Details").click()
    await expect(card.get_by_text("Program", exact=True)).to_be_visible()
    await expect(card.get_by_text("Fingerprint", exact=True)).to_be_visible()

    await card.get_by_role("button", name="Allow once").click()

    await expect(card).to_contain_text("Allowed by you")
    await expect(card.get_by_role("button")).to_have_count(0)


async def test_a_device_is_switched_by_its_tile(home: Page) -> None:
    tile = home.locator("#card-devices .tile").first
    switch = tile.get_by_role("button", pressed=None).first
    was = await switch.get_attribute("aria-pressed")

    await switch.click()

    await expect(switch).to_have_attribute("aria-pressed", "false" if was == "true" else "true")


async def test_a_reminder_comes_an_hour_later_or_is_done(home: Page) -> None:
    row = home.locator("#card-next li").filter(has_text="Get up")
    before = await row.locator("time").inner_text()

    await row.get_by_role("button", name="Get up: done or later").click()
    await home.get_by_role("button", name="An hour later").and_(home.locator(":visible")).click()
    await expect(row.locator("time")).not_to_have_text(before)
    await row.get_by_role("button", name="Get up: done or later").click()
    await home.get_by_role("button", name="Done", exact=True).and_(home.locator(":visible")).click()

    await expect(row).to_have_count(0)


async def test_what_is_written_is_answered_in_a_new_conversation(home: Page) -> None:
    await home.get_by_role("textbox", name="Message").fill("When is the boiler due?")
    await home.keyboard.press("Enter")

    await home.wait_for_url("**/chat?session=*")
    await expect(home.get_by_role("log").get_by_text("serviced on 12 May").last).to_be_visible()


async def test_files_a_model_and_an_agent_go_with_what_is_written(home: Page) -> None:
    await home.get_by_role("button", name="Model: ").click()
    models = home.get_by_role("radiogroup", name="Model").get_by_role("radio")
    other = models.and_(home.locator(":not(:checked)")).first
    name = await other.get_attribute("data-name") or ""
    await other.check()
    await expect(home.get_by_role("button", name=f"Model: {name}")).to_be_visible()
    notes: FilePayload = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"buy milk"}
    picture: FilePayload = {"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"}
    await home.set_input_files("#files", files=[picture, notes])
    await expect(home.get_by_role("list", name="Attached")).to_contain_text("photo.png")
    await expect(home.get_by_role("textbox", name="Message")).to_have_value("notes.md:\n```\nbuy milk\n```")

    await home.get_by_role("button", name="Send").click()

    await home.wait_for_url("**/chat?session=*")
    await expect(home.get_by_role("log").get_by_text("[a picture]")).to_be_visible()
    await expect(home.get_by_role("button", name=f"Model: {name}")).to_be_visible()


async def mark_order(page: Page) -> None:
    """Mark the list of cards, so that the one which replaces it when the order is kept differs."""
    await page.locator("#order").evaluate("(list) => { list.dataset.seen = ''; }")


async def test_a_card_is_put_elsewhere_by_hand_and_by_the_keyboard(home: Page) -> None:
    await home.goto("/customise")
    await is_ready(home)
    grip = home.get_by_role("button", name="Move: This week")
    left, right = (home.locator(f"[data-sort={side}]") for side in ("Left", "Right"))
    start = await grip.bounding_box()
    goal = await left.locator("li").nth(1).bounding_box()
    assert start
    assert goal
    await home.mouse.move(start["x"] + 9, start["y"] + 9)
    await home.mouse.down()
    await home.mouse.move(goal["x"] + 60, goal["y"] + 4, steps=6)
    await mark_order(home)
    await home.mouse.up()
    await expect(home.locator("#order:not([data-seen])")).to_be_visible()
    await expect(left.locator("li").nth(1)).to_contain_text("This week")
    await expect(grip).to_be_focused()

    for key in ("ArrowUp", "ArrowRight"):
        await mark_order(home)
        await home.keyboard.press(key)
        await expect(home.locator("#order:not([data-seen])")).to_be_visible()
        await expect(grip).to_be_focused()
    await expect(right.locator("li").first).to_contain_text("This week")
    await expect(home.locator("#announcer")).to_have_text("This week: place 1 of 3, Right")
    assert await faults(home) == []
    await home.goto("/")
    await expect(home.locator("#home .cols").last.locator("> .stack").nth(1).locator("section").first).to_have_id(
        "card-week"
    )


async def test_cards_are_put_in_order_on_home_itself(home: Page) -> None:
    async with another_page(home):
        await home.get_by_role("link", name="Customise").click()
    left, right = (home.locator(f"[data-sort={side}] > section") for side in ("Left", "Right"))
    grip = home.get_by_role("button", name="Move: This week")
    start, goal = await grip.bounding_box(), await left.first.bounding_box()
    assert start
    assert goal
    await home.mouse.move(start["x"] + 9, start["y"] + 9)
    await home.mouse.down()
    await home.mouse.move(goal["x"] + 60, goal["y"] + 4, steps=6)
    async with home.expect_response("**/customise/order"):
        await home.mouse.up()
    await expect(left.first).to_have_id("card-week")
    await expect(grip).to_be_focused()
    assert await faults(home) == []
    await home.goto("/")
    await expect(home.locator("#home .cols").last.locator("> .stack").first.locator("section").first).to_have_id(
        "card-week"
    )

    await home.goto("/?customise=1")
    await is_ready(home)
    await grip.focus()
    async with home.expect_response("**/customise/order"):
        await home.keyboard.press("ArrowRight")
    await expect(right.first).to_have_id("card-week")
    await home.goto("/?customise=1")
    await expect(right.first).to_have_id("card-week")


async def test_a_right_click_or_a_long_press_on_a_tile_opens_the_device(home: Page) -> None:
    tile = home.locator("#card-devices .tile").first
    name = await tile.locator("b").inner_text()
    await tile.click(button="right")
    await expect(home.get_by_role("heading", level=1)).to_have_text(name)
    await home.goto("/")
    await is_ready(home)

    await tile.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})

    await expect(home.get_by_role("heading", level=1)).to_have_text(name)


async def test_a_card_is_hidden_for_the_person_alone(home: Page) -> None:
    await home.get_by_role("link", name="Customise").click()
    await home.locator("#card-week").get_by_role("button", name="Hide").click()
    await expect(home.locator("#card-week")).to_have_count(0)
    await home.get_by_role("link", name="Done").click()
    await expect(home.get_by_role("heading", name="This week")).to_have_count(0)

    await home.goto("/customise")
    await home.locator("#move-week").get_by_role("button", name="Show").click()
    await home.goto("/")

    await expect(home.get_by_role("heading", name="This week")).to_be_visible()


async def test_the_palette_finds_devices_agents_and_pages_and_asks(home: Page) -> None:
    await home.keyboard.press("Control+k")
    box = home.get_by_role("combobox", name="Search or do")
    await box.fill("sofa")
    await expect(home.get_by_role("option", name="Sofa lamp").filter(has_text="Device")).to_be_visible()
    await box.fill("study")
    await expect(home.get_by_role("option").filter(has_text="Agent").first).to_be_visible()
    await box.fill("usage")
    await expect(home.get_by_role("option").filter(has_text="Usage").first).to_be_visible()

    await box.fill("time zone")
    await expect(home.get_by_role("option", name="Time zone").filter(has_text="Setting")).to_be_visible()

    await box.fill("what is the time")
    await home.get_by_role("option", name="Ask: what is the time").click()

    await home.wait_for_url("**/chat?session=*")
