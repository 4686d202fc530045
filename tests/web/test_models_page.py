"""The pages of models and agents: a server of one's own added, tried and chosen without a file, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import opened
from tests.web.plain_browser import PlainBrowser
from web.agents.models_page import move_fallback


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(make_home(tmp_path_factory.mktemp("models") / "home", "hub: {name: Pier}\n")) as process:
        yield process


def test_fallbacks_are_added_moved_and_removed() -> None:
    assert move_fallback(["a/1", "b/2"], "c/3", "add") == ["a/1", "b/2", "c/3"]
    assert move_fallback(["a/1", "b/2"], "b/2", "up") == ["b/2", "a/1"]
    assert move_fallback(["a/1", "b/2"], "a/1", "down") == ["b/2", "a/1"]
    assert move_fallback(["a/1", "b/2"], "a/1", "remove") == ["b/2"]


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
    assert "Offline assistant answers with the key default" in plain.text("main")

    await plain.goto("/agents")
    await plain.follow("Homarus")
    plain.fill("How it is, speaks and decides", "You are brief.")
    await plain.press("Save")

    assert "The next answer follows it." in plain.text("main [role=status]")
    assert (hub.home / "workspace" / "SOUL.md").read_text() == "You are brief."


async def test_a_provider_is_removed_with_its_key_unless_an_agent_needs_it(
    plain: PlainBrowser, hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.set_default("Hello!")
    await plain.goto("/agents/models/add?provider=spare_server")
    plain.fill("Address", model_server.base_url.replace("127.0.0.1", "localhost"))
    plain.fill("Key", "sk-of-the-spare")
    await plain.press("Connect")
    await plain.press("Use this model")
    assert "sk-of-the-spare" in (hub.home / "secrets.yaml").read_text()
    ref = hub.rpc("models.status")["default"]
    hub.rpc("agents.update", {"agentId": "main", "model": ref})

    await plain.goto("/agents/models")
    await plain.press("Remove", within="#remove-spare_server")
    assert "give it another model first" in plain.text("[role=alert]")

    hub.rpc("agents.update", {"agentId": "main", "model": None})
    await plain.press("Remove", within="#remove-spare_server")
    assert "spare_server" not in (hub.home / "configuration.yaml").read_text()
    assert "sk-of-the-spare" not in (hub.home / "secrets.yaml").read_text()
    assert hub.rpc("models.status")["default"] == "auto"


async def test_one_may_stay_offline(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/agents/models/add")
    await plain.press("Stay offline")

    assert "Offline assistant answers from now on." in plain.text("main [role=status]")
    assert hub.rpc("models.status")["default"] == "offline/homarus"


async def test_an_agent_is_added_set_up_and_removed_in_the_browser(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/agents/new")
    await plain.press("Add")
    assert plain.text(".field .wrong")
    plain.fill("Name", "Cook")
    await plain.press("Add")
    assert "It is there." in plain.text("main [role=status]")

    plain.fill("Symbol", "C")
    plain.fill("Money a day", "0.5")
    plain.field("Web").attrs.pop("checked")
    await plain.press("Save")

    written = (hub.home / "configuration.yaml").read_text()
    assert "name: Cook" in written
    assert "cost_usd: 0.5" in written
    tools = hub.rpc("agents.get", {"agentId": "cook"})["tools"]
    assert {each["on"] for each in tools if each["group"] == "web"} == {False}
    assert {each["on"] for each in tools if each["group"] == "memory"} == {True}

    plain.choose_file("Picture", "cook.png", b"\x89PNG\r\n\x1a\n and the rest")
    await plain.press("Upload")
    assert (hub.home / "workspace-cook" / "avatar.png").is_file()

    await plain.press("Remove the agent")
    assert "Cook" not in plain.text("main")
    assert "id: cook" not in (hub.home / "configuration.yaml").read_text()


async def test_what_is_wrong_with_an_agent_stays_in_the_form_at_its_field(plain: PlainBrowser, hub: HubProcess) -> None:
    before = (hub.home / "configuration.yaml").read_text()
    await plain.goto("/agents/agent?id=main")
    plain.fill("Name", "Nova")
    plain.fill("Money a day", "a lot")
    plain.fill("How it is, speaks and decides", "You are kind.")
    await plain.press("Save")

    assert plain.status == 400
    assert "A number was expected" in plain.text("[data-widget=number] .wrong")
    assert (plain.value("Name"), plain.value("Money a day")) == ("Nova", "a lot")
    assert plain.value("How it is, speaks and decides") == "You are kind."
    assert (hub.home / "configuration.yaml").read_text() == before


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_character_is_previewed_and_groups_of_tools_switch_together(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    page = await opened(signed_in, "/agents/agent?id=main")
    await expect(page.locator("html[data-sets]")).to_be_attached()
    await expect(page.get_by_role("button", name="Save")).to_be_hidden()

    await page.get_by_label("How it is, speaks and decides").fill("You are **brief**.")
    await page.get_by_text("Preview").click()
    await expect(page.locator("#character-preview strong")).to_have_text("brief")

    group = page.locator("li[data-group]").filter(has_text="Files")
    await group.get_by_role("switch", name="Files", exact=True).uncheck()
    await expect(page.locator("input[name='tool.grep']")).not_to_be_checked()
    await page.get_by_role("button", name="Save").click()

    await expect(page.get_by_text("The next answer follows it.")).to_be_visible()
    tools = hub.rpc("agents.get", {"agentId": "main"})["tools"]
    assert {each["on"] for each in tools if each["group"] == "files"} == {False}
