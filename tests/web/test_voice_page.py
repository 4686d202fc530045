"""The page *Voice*: satellites as they are now, what was said to them, and a try of each stage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from playwright.async_api import Browser, Page, expect

from hub.core.errors import Unavailable
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import VoiceHome, voice_home
from tests.voice.test_timers import room, timers, told
from tests.web.browser import Chromium
from tests.web.looks import faults
from web.dashboard import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
PATH = "/devices/voice"


@pytest_asyncio.fixture(loop_scope="session")
async def home(tmp_path: Path, model_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    model_server.reset()
    async with voice_home(tmp_path / "home", model_server.base_url) as started:
        dashboard = Dashboard(started)
        yield started
        await dashboard.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, home: VoiceHome) -> AsyncIterator[Page]:
    async with Chromium(browser, home.url) as profiles:
        tab = await (await profiles.context()).new_page()
        await tab.goto((await home.login_link()).url)
        yield tab
        profiles.allowed.append("status of 503")  # of what hears, when a test lets it fail
        assert profiles.unexpected() == []


async def data(home: VoiceHome) -> dict[str, Any]:
    async with ClientSession() as client, client.get(f"{home.url}{PATH}?format=json", headers=home.bearer) as answer:
        assert answer.status == 200
        return dict(await answer.json())


async def test_turns_are_listed_with_where_their_time_went_and_false_wakes_are_counted(
    home: VoiceHome, model_server: OpenAIServer
) -> None:
    kitchen = home.kiosk("kitchen", name="Kitchen")
    home.kiosk("bathroom", name="Bathroom").line.connected(is_connected=False)
    home.ears.hears += ["Turn on the light", ""]
    model_server.queue("It is on.")
    for count in (1, 2):
        kitchen.line.wake("hey_jarvis")
        kitchen.say()
        await home.turn(count)

    shown = await data(home)

    assert [(each["name"], each["word"]) for each in shown["satellites"]] == [
        ("Bathroom", "Away"),
        ("Kitchen", "Ready"),
    ]
    assert (shown["satellites"][1]["false_wakes"], shown["satellites"][1]["wakes"]) == (1, 2)
    assert shown["satellites"][1]["last"] == "Turn on the light"
    (noise, answered) = shown["turns"]
    assert (answered["text"], answered["answer"], answered["word"]) == ("Turn on the light", "It is on.", "Answered")
    stages = home.satellites.turns()[1].stages
    assert answered["ms"] == stages["speech"] - stages["heard"] == sum(each["ms"] for each in answered["bars"])
    assert (noise["text"], noise["word"], noise["bars"]) == ("", "Noise", [])


async def test_without_satellites_it_says_what_to_do(home: VoiceHome, page: Page) -> None:
    home.satellites.configure({})
    await page.goto(PATH)

    await expect(page.get_by_role("heading", name="Three steps to a kitchen that speaks")).to_be_visible()
    await expect(page.get_by_text("Nothing here turns speech into words yet")).to_be_visible()
    assert await faults(page) == []


async def test_it_follows_the_satellites_and_each_stage_is_tried(home: VoiceHome, page: Page) -> None:
    kitchen = home.kiosk("kitchen", name="Kitchen")
    await page.goto(PATH)
    await page.wait_for_selector("html[data-ready][data-live=on]")
    row = page.locator("#satellite-kitchen")
    await expect(row).to_contain_text("Ready")
    kitchen.line.wake("hey_jarvis")
    await expect(row).to_contain_text("Listening")
    assert await faults(page) == []

    home.ears.hears.append("Good morning")
    await page.get_by_role("button", name="Test the microphone").click()
    await expect(page.locator("#try-ear output")).to_contain_text("“Good morning”, in")
    size, _ = home.ears.heard[-1]
    assert size > 3 * 32_000

    await page.get_by_role("button", name="Test the voice").click()
    await until(lambda: any(each[1] == "Good morning. This is how I sound." for each in home.ears.spoken))

    kitchen.line.stop()
    await page.get_by_label("Text to say there").fill("Dinner is ready")
    await page.get_by_role("button", name="Say it there").click()
    await home.passing(lambda: kitchen.played)
    await expect(page.locator("#toasts")).to_contain_text("It was said.")


async def test_what_fails_is_said(home: VoiceHome, page: Page) -> None:
    home.kiosk("kitchen", name="Kitchen").line.connected(is_connected=True)
    await page.goto(PATH)
    await page.wait_for_selector("html[data-ready][data-live=on]")
    home.ears.hears.append(Unavailable("the model is gone"))
    await page.get_by_role("button", name="Test the microphone").click()

    await expect(page.locator("#try-ear output")).to_contain_text("the model is gone")


@pytest.mark.parametrize("body", [b"", b"odd"])
async def test_what_is_no_recording_is_refused(home: VoiceHome, body: bytes) -> None:
    async with (
        ClientSession() as client,
        client.post(f"{home.url}{PATH}/hear", data=body, headers=home.bearer) as answer,
    ):
        assert answer.status == 400


async def test_timers_are_listed_and_put_off_left_out_and_cancelled_there(home: VoiceHome, page: Page) -> None:
    kitchen = room(home, "kitchen", "Kitchen")
    await told(home, "kitchen", action="set", at="7:00", repeat=["weekdays"])
    await told(home, "kitchen", action="set", name="pizza", duration="1m")
    await page.goto(PATH)
    await page.wait_for_selector("html[data-ready][data-live=on]")
    alarm, pizza = (page.locator("[id^=timer-]").filter(has_text=each) for each in ("every weekday at 07:00", "pizza"))

    await page.get_by_role("button", name="Skip the next: alarm").click()
    await until(lambda: any(each.after > home.clock.time() for each in timers(home).all()))
    await home.clock.advance(61)
    await home.passing(lambda: kitchen.begun > 0)
    await expect(pizza).to_contain_text("Rings")
    assert await faults(page) == []
    await page.get_by_role("button", name="Snooze: pizza timer").click()
    await expect(pizza).to_contain_text("Put off")
    await page.get_by_role("button", name="Cancel: pizza timer").click()
    await expect(pizza).to_have_count(0)

    await expect(alarm).to_contain_text("Kitchen · every weekday at 07:00")
    assert len(timers(home).all()) == 1
