"""The pages of models and agents: a server of one's own added, tried and chosen without a file, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import opened
from tests.web.plain_browser import PlainBrowser, plain_browser
from web.agents.models_page import moved


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(make_home(tmp_path_factory.mktemp("models") / "home", "hub: {name: Pier}\n")) as process:
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as browser:
        yield browser


def test_fallbacks_are_added_moved_and_removed() -> None:
    assert moved(["a/1", "b/2"], "c/3", "add") == ["a/1", "b/2", "c/3"]
    assert moved(["a/1", "b/2"], "b/2", "up") == ["b/2", "a/1"]
    assert moved(["a/1", "b/2"], "a/1", "down") == ["b/2", "a/1"]
    assert moved(["a/1", "b/2"], "a/1", "remove") == ["b/2"]


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_server_of_ones_own_is_added_tried_and_chosen(
    signed_in: BrowserContext, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.set_default("Hello! How can I help?")
    page = await opened(signed_in, "/agents/models")

    await page.get_by_role("link", name="Add a model").click()
    await page.get_by_role("link", name="My own server").click()
    await page.get_by_label("Address").fill(model_server.base_url.removesuffix("/v1"))
    await page.get_by_role("button", name="Connect").click()
    await expect(page.get_by_role("radio").first).to_be_checked()
    await page.get_by_role("button", name="Test").click()
    await expect(page.get_by_text("Hello! How can I help?")).to_be_visible()
    await page.get_by_role("button", name="Use this model").click()

    await expect(page.get_by_text("answers from now on.")).to_be_visible()
    assert hub.rpc("models.status")["default"].startswith("my_server/")


async def test_what_does_not_answer_is_said_at_its_field_and_nothing_is_written(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    before = (hub.home / "configuration.yaml").read_text()
    await plain.goto("/agents/models/add?provider=my_server")

    plain.fill("Address", "http://127.0.0.1:9/v1")
    plain.fill("Key", "sk-typed")
    await plain.press("Connect")

    assert plain.status >= 400
    assert plain.text(".field .wrong")
    assert (plain.value("Address"), plain.value("Key")) == ("http://127.0.0.1:9/v1", "sk-typed")
    assert (hub.home / "configuration.yaml").read_text() == before


async def test_a_model_that_fails_is_taken_out_again(
    plain: PlainBrowser, hub: HubProcess, model_server: OpenAIServer
) -> None:
    before = (hub.home / "configuration.yaml").read_text()
    await plain.goto("/agents/models/add?provider=other_server")
    plain.fill("Address", model_server.base_url.replace("127.0.0.1", "localhost"))
    plain.fill("Key", "sk-typed")
    await plain.press("Connect")
    model_server.set_default({"status": 400, "body": {"error": {"message": "it is out of order"}}})

    await plain.press("Use this model")

    assert plain.status >= 400
    assert "it is out of order" in plain.text("[role=alert]")
    assert plain.value("Key") == "sk-typed"
    assert (hub.home / "configuration.yaml").read_text() == before
    assert "other_server" not in str(hub.rpc("models.status")["providers"])


async def test_each_key_can_be_tested_and_the_character_of_an_agent_is_edited(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    await plain.goto("/agents/models")
    await plain.press("Test offline@default")
    assert "offline/homarus answers with the key default" in plain.text("main")

    await plain.goto("/agents")
    await plain.follow("Homarus")
    plain.fill("How it is, speaks and decides", "You are brief.")
    await plain.press("Save")

    assert "The next answer follows it." in plain.text("main [role=status]")
    assert (hub.home / "workspace" / "SOUL.md").read_text() == "You are brief."
