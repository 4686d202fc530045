"""The settings of satellites on the page *Voice*, and its list of what hears and speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from playwright.async_api import Browser, Page, expect

from integrations.models.voice.installed import LOCK, VoiceFolder
from tests.hub_fixture import HubFixture
from tests.integrations.models.voice.conftest import put
from tests.servers.openai_server import OpenAIServer
from tests.voice.kit import VoiceHome
from tests.web.browser import Chromium
from tests.web.looks import faults
from web.dashboard import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
PATH = "/devices/voice"
SETTINGS = f"{PATH}/settings"
WRITTEN = """
voice:
  wake_words: [okay_nabu]  # as the children say it
  satellites:
    - id: kitchen
      silence_ms: 900  # for the slow ones
    - id: attic  # it is in its box
"""


def configuration(home: HubFixture) -> Path:
    return Path(home.home.path) / "configuration.yaml"


@pytest_asyncio.fixture(loop_scope="session")
async def home(tmp_path: Path, model_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    model_server.reset()
    files = {"configuration.yaml": WRITTEN}
    started = VoiceHome(tmp_path / "home", model_server.base_url, None, "voice", files=files)
    async with started:
        started.kiosk("kitchen", name="Kitchen")
        dashboard = Dashboard(started)
        yield started
        await dashboard.close()


async def shown(home: HubFixture, path: str) -> dict[str, Any]:
    joined = f"{path}{'&' if '?' in path else '?'}format=json"
    async with ClientSession() as client, client.get(f"{home.url}{joined}", headers=home.bearer) as answer:
        assert answer.status == 200, await answer.text()
        return dict(await answer.json())


async def save(home: HubFixture, **fields: Any) -> tuple[int, dict[str, Any]]:
    headers = {**home.bearer, "Accept": "application/json"}
    async with (
        ClientSession() as client,
        client.post(f"{home.url}{SETTINGS}", json=fields, headers=headers) as answer,
    ):
        return answer.status, dict(await answer.json())


def fields_of(page: dict[str, Any]) -> dict[str, Any]:
    return {each["spec"]["name"]: each for card in page["cards"] for each in card["fields"]}


async def test_a_satellite_has_its_settings_and_what_counts_without_them(home: VoiceHome) -> None:
    fields = fields_of(await shown(home, f"{SETTINGS}?satellite=kitchen"))

    assert fields["silence_ms"]["value"] == "900"
    assert fields["name"]["spec"]["placeholder"] == "Kitchen"
    assert fields["person"]["spec"]["options"] == [["", "Usual: none"], ["me", "Me"], ["anna", "Anna"]]
    assert fields["wake_words"]["value"] == []
    assert fields["follow_up"]["spec"]["options"][0] == ["", "Usual: On"]
    assert "area" not in fields_of(await shown(home, SETTINGS))


async def test_what_is_saved_is_written_beside_the_comments_and_counts_at_once(home: VoiceHome) -> None:
    room = home.entities.registry.create("area", name="Cellar")

    status, said = await save(
        home, satellite="kitchen", area=room.id, person="anna", sounds="false", sensitivity="0,7", silence_ms=""
    )

    assert (status, said) == (200, {"done": "saved", "changed": 5})
    text = configuration(home).read_text()
    assert "wake_words: [okay_nabu]  # as the children say it" in text
    assert "- id: attic  # it is in its box" in text
    assert "silence_ms" not in text
    view = home.satellites.get("kitchen")
    assert view is not None
    settings = home.satellites.settings.of(view.info)
    assert (settings.person, settings.sounds, settings.sensitivity, view.area_id) == ("anna", False, 0.7, room.id)


async def test_a_satellite_without_settings_gets_an_entry_and_loses_it_again(home: VoiceHome) -> None:
    home.kiosk("hall", name="Hall")

    assert await save(home, satellite="hall", name="Hallway") == (200, {"done": "saved", "changed": 1})
    view = home.satellites.get("hall")
    assert view is not None
    assert view.info.name == "Hallway"
    assert await save(home, satellite="hall", name="") == (200, {"done": "saved", "changed": 1})

    assert configuration(home).read_text().startswith(WRITTEN)


async def test_the_settings_of_all_are_saved_too(home: VoiceHome) -> None:
    assert (await save(home, wake_words=["okay_nabu", "hey_jarvis"], language="de"))[0] == 200

    assert "wake_words: [okay_nabu, hey_jarvis]" in configuration(home).read_text()
    assert home.satellites.settings.general["language"] == "de"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"satellite": "kitchen", "agent": "mian"}, "there is no agent 'mian': did you mean main?"),
        ({"satellite": "attic", "transcription_model": "voice/whisper-bass"}, "did you mean whisper-base?"),
        ({"sensitivity": "7"}, "sensitivity"),
        ({"silence_ms": "long"}, "silence_ms: long is not a number"),
        ({"satellite": "nowhere", "agent": "main"}, "there is no satellite nowhere"),
    ],
)
async def test_what_is_wrong_is_told_at_its_field_and_not_written(
    home: VoiceHome, fields: dict[str, str], why: str
) -> None:
    before = configuration(home).read_text()

    status, said = await save(home, **fields)

    assert status >= 400
    assert why in said["error"]["message"]
    assert configuration(home).read_text() == before


async def test_a_form_is_filled_in_and_says_what_is_wrong(browser: Browser, home: VoiceHome) -> None:
    async with Chromium(browser, home.url) as profiles:
        page: Page = await (await profiles.context()).new_page()
        await page.goto((await home.login_link()).url)
        await page.goto(PATH)
        await expect(page.locator("#satellite-attic")).to_contain_text("Not seen yet")
        await page.locator("#satellite-kitchen").get_by_role("link", name="Set up Kitchen").click()
        await page.wait_for_selector("html[data-ready]")
        assert await faults(page) == []
        await page.get_by_label("Sensitivity").fill("7")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_label("Sensitivity")).to_have_attribute("aria-invalid", "true")
        assert await faults(page) == []
        await page.get_by_label("Sensitivity").fill("0.7")
        await page.get_by_label("Person").select_option(label="Anna")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("status").filter(has_text="The change is in force")).to_be_visible()
        profiles.allowed.append("status of 422")
        assert profiles.unexpected() == []

    assert "person: anna" in configuration(home).read_text()


async def test_it_lists_what_hears_and_speaks_where_it_is_used_and_what_is_missing(
    tmp_path: Path, model_server: OpenAIServer
) -> None:
    voice = {"satellites": [{"id": "kitchen", "speech_model": "voice/en_US-joe-medium"}], "speech_model": "ears/auto"}
    models = {"providers": {"ears": {"api": "wyoming", "base_url": "tcp://127.0.0.1:9"}}}
    home = HubFixture(
        tmp_path / "home",
        model_server.base_url,
        sections={"voice": voice, "models": models},
        integrations=("openai_compatible", "voice", "wyoming"),
    )
    for name, size in (("whisper-base", 1), ("whisper-tiny", 2)):
        put(VoiceFolder(home.home.path), name, size)
    engines = VoiceFolder(home.home.path).engines_path
    (engines / "bin").mkdir(parents=True)
    for name in ("bin/python", LOCK):
        (engines / name).touch()
    async with home:
        dashboard = Dashboard(home)
        page = await shown(home, PATH)
        await dashboard.close()

    listed = {each["ref"]: each for each in page["engines"]}
    assert listed["voice/whisper-tiny"]["used"] == ["voice messages", "talking in the browser"]
    assert (listed["voice/whisper-base"]["used"], listed["voice/whisper-base"]["trouble"]) == ([], "")
    assert listed["ears/auto"]["used"] == ["talking in the browser"]
    assert "cannot be reached" in listed["ears/auto"]["trouble"]
    assert [each["name"] for each in page["silent"]] == ["ears"]
    assert page["missing"] == ["kitchen"]
    assert "homarus voice install wake" in page["wake"][0]["trouble"]


async def test_names_of_satellites_are_not_translated(home: VoiceHome) -> None:
    headers = {**home.bearer, "Accept": "text/html", "Accept-Language": "zh-CN"}
    async with ClientSession() as client, client.get(f"{home.url}{PATH}", headers=headers) as answer:
        text = await answer.text()

    assert "用于 语音消息、浏览器中的对话、Kitchen" in text
