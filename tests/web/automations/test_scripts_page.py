from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, another_page, is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import SCRIPTS, furnish
from tests.web.looks import faults
from tests.web.plain_browser import plain_browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("scripts") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    furnish(home)
    with HubProcess(home) as process:
        yield process


async def written(page: Page, text: str) -> None:
    """Put a text in place of what the editor holds."""
    await page.wait_for_selector("#yaml-editor[data-ready]")
    await page.get_by_role("textbox", name="The script as YAML").focus()
    await page.keyboard.press("Control+a")
    await page.keyboard.insert_text(text)


async def saved(page: Page) -> None:
    await expect(page.locator("#toasts")).to_contain_text("Saved. The change is in force.")


async def test_a_script_is_run_with_its_fields_and_answers(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/scripts")
    await page.get_by_role("link", name="Greet somebody").click()

    await page.get_by_label("Whom").fill("the neighbours")
    await page.get_by_role("slider", name="How often").fill("3")
    await page.get_by_role("button", name="Run", exact=True).click()

    answer = page.locator(".code", has_text="Response").first
    await expect(answer).to_contain_text('"greeting": "Hello the neighbours, 3 times"')
    await expect(page.locator("#runs").get_by_role("listitem")).to_have_count(1)
    await expect(page.get_by_role("list", name="Steps of the run").get_by_role("listitem").first).to_be_visible()
    await page.goto("/scripts")
    await expect(page.locator("#scripts").get_by_text("Stopped early")).to_be_visible()


async def test_a_field_that_is_needed_is_asked_for(signed_in: BrowserContext, chromium: Chromium) -> None:
    chromium.allowed.append("status of 422")
    page = await opened(signed_in, "/scripts/show?id=greet")

    await page.get_by_role("button", name="Run", exact=True).click()

    await expect(page.get_by_role("alert")).to_contain_text("Some fields have errors")
    await expect(page.get_by_label("Whom")).to_have_attribute("aria-invalid", "true")


async def test_a_script_is_edited_as_a_form_and_keeps_its_comments(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/scripts/show?id=greet")
    async with another_page(page):
        await page.get_by_role("link", name="Edit", exact=True).click()
    await page.locator("#f-description").fill("It greets.")
    field, step = page.locator('[data-path="fields.times"]'), page.locator('[data-path="sequence.1"]')

    await field.get_by_text("How often").click()
    await field.get_by_label("Highest").fill("9")
    await step.locator("> .line").click()
    await step.get_by_label("Reason").fill("greeted")
    await page.get_by_role("button", name="Save", exact=True).click()
    await saved(page)

    assert (hub.home / "scripts.yaml").read_text() == (
        SCRIPTS.replace("max: 5", "max: 9")
        .replace("stop: done", "stop: greeted")
        .replace(
            "    - stop: greeted\n      response_variable: answer\n",
            "    - stop: greeted\n      response_variable: answer\n  description: It greets.\n",
        )
    )
    (hub.home / "scripts.yaml").write_text(SCRIPTS)
    hub.rpc("service.call", {"service": "script.reload"})


async def test_a_new_script_is_made_with_the_form_and_asks_for_its_field(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 400")
    page = await opened(signed_in, "/scripts")
    async with another_page(page):
        await page.get_by_role("link", name="New script").click()
    await page.get_by_label("Name", exact=True).first.fill("Call everyone")

    await page.get_by_role("button", name="Add a field").click()
    await page.get_by_role("dialog").get_by_role("button", name="One of several").click()
    field = page.locator('[data-path="fields.select"]')
    await expect(field.get_by_label("Name optional")).to_be_focused()
    await page.keyboard.type("How loud")
    await field.get_by_label("ID", exact=True).fill("1st")
    await page.keyboard.press("Tab")
    await expect(field.get_by_text("letters, digits and _ only")).to_be_visible()
    await field.get_by_label("ID", exact=True).fill("how_loud")
    await page.keyboard.press("Tab")
    renamed = page.locator('[data-path="fields.how_loud"]')
    await renamed.get_by_label("Choices").fill("quiet\nloud")
    await renamed.get_by_label("Must be given").select_option("Yes")
    await page.get_by_role("button", name="Add an action").click()
    await page.get_by_role("dialog").get_by_role("searchbox").fill("fire event")
    await page.keyboard.press("Enter")
    await page.locator('[data-path="sequence.0"]').get_by_role("textbox", name="Event", exact=True).fill("called")
    await page.keyboard.press("Control+s")
    await saved(page)

    written = hub.rpc("script.list")["scripts"]
    (made,) = [each for each in written if each["id"] == "call_everyone"]
    assert made["fields"]["how_loud"]["selector"] == {"select": {"options": ["quiet", "loud"]}}
    await page.get_by_role("link", name="Call everyone").click()
    await expect(page.get_by_label("How loud")).to_contain_text("quiet")
    await page.get_by_role("button", name="More about Call everyone").click()
    await page.get_by_role("link", name="Delete…").click()
    await page.get_by_role("button", name="Delete it").click()
    await page.wait_for_url("**/scripts")
    await expect(page.get_by_role("link", name="Call everyone")).to_have_count(0)


async def test_a_script_is_edited_as_yaml_with_its_comments(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/scripts/edit?id=greet&as=yaml")
    await page.wait_for_selector("#yaml-editor[data-ready]")
    await page.locator(".cm-line", has_text="Greet somebody").click()
    await page.keyboard.press("Home")

    await page.keyboard.insert_text("description: It greets.  # new\n")
    await page.keyboard.press("Control+s")
    await saved(page)

    text = (hub.home / "scripts.yaml").read_text()
    assert text == SCRIPTS.replace("  alias: Greet", "  description: It greets.  # new\n  alias: Greet")


async def test_what_is_wrong_is_told_with_its_line_while_one_types(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 400")
    before = (hub.home / "scripts.yaml").read_text()
    page = await opened(signed_in, "/scripts/edit?id=greet&as=yaml")

    await written(page, "alias: Broken\nsequence:\n  - deelay: 5\n")

    await expect(page.get_by_role("list", name="Problems").get_by_text("3: sequence[0]")).to_be_visible()
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#edit-state")).to_contain_text("Nothing is saved yet")
    assert (hub.home / "scripts.yaml").read_text() == before


async def test_a_new_script_is_written_as_yaml_under_an_id_of_ones_own(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    page = await opened(signed_in, "/scripts/new")
    await page.get_by_text("Advanced settings").click()
    await page.get_by_label("ID", exact=False).fill("tell_them")
    await page.keyboard.press("Control+Shift+Y")
    await written(page, "# mine\nalias: Tell all\nsequence:\n- event: told_all  # everyone\n")
    await page.get_by_role("button", name="Save", exact=True).click()
    await saved(page)
    assert "event: told_all  # everyone" in (hub.home / "scripts.yaml").read_text()
    assert "tell_them:" in (hub.home / "scripts.yaml").read_text()

    await page.get_by_role("link", name="Tell all").click()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("status").get_by_text("It ran.")).to_be_visible()


async def test_a_change_made_meanwhile_is_not_overwritten(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 409")
    file = hub.home / "scripts.yaml"
    page = await opened(signed_in, "/scripts/edit?id=greet&as=yaml")
    await written(page, "alias: Mine\nsequence: []\n")
    theirs = file.read_text().replace("Greet somebody", "Greet everybody")
    file.write_text(theirs)

    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.locator("#edit-state")).to_contain_text("It was changed meanwhile")
    async with page.expect_response(lambda answer: "do=state" in (answer.request.post_data or "")) as looked:
        await page.dispatch_event("#automation-edit", "change")
    await (await looked.value).finished()
    await page.evaluate("new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)))")
    await expect(page.locator("#edit-state")).to_contain_text("It was changed meanwhile")
    await expect(page.get_by_role("textbox", name="The script as YAML")).to_contain_text("alias: Mine")
    assert file.read_text() == theirs
    await page.get_by_role("button", name="Overwrite with mine").click()
    await saved(page)
    assert "alias: Mine" in file.read_text()


async def test_the_first_script_of_a_home_gets_a_file_of_its_own(
    model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("no-scripts") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    with HubProcess(home) as hub:
        async with plain_browser(hub) as plain:
            await plain.goto("/scripts")
            assert "There are no scripts yet." in plain.text()
            await plain.follow("New script")
            await plain.press("Edit as YAML")
            await plain.press("Save")
            assert plain.url == f"{hub.url}/scripts/edit?id=say_hello&as=yaml&saved=1"

    assert "say_hello:" in (home / "scripts.yaml").read_text()
    assert "script: !include scripts.yaml" in (home / "configuration.yaml").read_text()


async def test_the_pages_are_accessible_and_fit(signed_in: BrowserContext, hub: HubProcess) -> None:
    places = [
        "/scripts",
        "/scripts/show?id=greet",
        "/scripts/edit?id=greet",
        "/scripts/edit?id=greet&as=yaml",
        "/scripts/new",
    ]
    hub.rpc("script.run", {"id": "greet", "data": {"who": "x"}})
    page = await signed_in.new_page()
    found = {}

    for place in places:
        await page.goto(place)
        await is_ready(page)
        found[place] = await faults(page)

    assert found == {place: [] for place in places}
