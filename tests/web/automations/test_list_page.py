"""Automations in a real browser: made by a form, edited as YAML, run, read, tried out, broken and mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, Locator, Page, StorageState, expect

from tests.lengths import in_long_runs
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium, is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import outcomes
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FILE = "automations.yaml"
AUTOMATIONS = """\
# The automations of the browser tests.
- id: lamp
  alias: Lamp  # the one in the hall
  description: Tells when the door opens.
  triggers:
    # the door
    - trigger: event
      event_type: door
    - trigger: every
      every: 2h
  actions:
    - choose:
        - alias: by the door
          conditions: "{{ trigger.platform == 'event' }}"
          sequence:
            - event: rang
      default:
        - event: by_hand
          event_data: {who: "{{ who | default('nobody') }}"}
    - repeat: {count: 3, sequence: [{event: tick}]}
- id: never
  alias: Never
  triggers: [{trigger: event, event_type: door}]
  conditions:
    - condition: state
      entity_id: automation.lamp
      state: "off"
  actions: [{event: x}]
- id: broken
  alias: Broken
  triggers:
    - trigger: evnt
      event_type: door
  actions: [{event: x}]
"""
READY = "html[data-ready][data-live=on]"
EDITOR = "#yaml-editor[data-ready]"
PAGES = {
    "/automations": READY,
    "/automations/new": READY,
    "/automations/reminders": READY,
    "/automations/lamp?test=0": READY,
    "/automations/lamp/edit": READY,
    "/automations/lamp/edit?as=yaml": EDITOR,
    "/automations/lamp/traces": READY,
    "/automations/broken": READY,
} | dict.fromkeys(
    in_long_runs(
        "/automations?q=nothing+like+that",
        "/automations/lamp",
        "/automations/lamp?since=1d",
        "/automations/broken/edit",
        "/automations/never/traces",
    ),
    READY,
)


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("automations") / "home"
    home.mkdir(mode=0o700)
    text = CONFIGURATION.format(base_url=model_server.base_url) + f"automation: !include {FILE}\n"
    (home / "configuration.yaml").write_text(text)
    (home / FILE).write_text(AUTOMATIONS)
    with HubProcess(home) as process:
        yield process


@pytest.fixture(autouse=True)
def files_as_before(hub: HubProcess) -> Iterator[None]:
    yield
    if (hub.home / FILE).read_text() != AUTOMATIONS:
        (hub.home / FILE).write_text(AUTOMATIONS)
        reload(hub)


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def reload(hub: HubProcess) -> None:
    hub.rpc("service.call", {"service": "automation.reload"})


async def saved(page: Page) -> None:
    await expect(page.locator("#edit-state")).to_have_text("Saved. The change is in force.")


async def test_the_list_tells_what_each_automation_is_about(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/automations")

    await expect(page.get_by_role("row")).to_have_count(4)
    await expect(row(page, "Lamp")).to_contain_text(
        "When the event “door” happens or every 2 h: something that depends"
    )
    await expect(row(page, "Lamp").locator("[data-label='Next run'] time")).to_be_visible()
    broken = row(page, "Broken")
    await expect(broken).to_contain_text("Unavailable")
    await expect(broken).to_contain_text("there is no trigger 'evnt'; did you mean event?")
    await broken.get_by_role("link", name="Open the file").click()
    await page.wait_for_selector("#config-editor[data-ready]")
    await expect(page.locator(".cm-activeLine")).to_contain_text("evnt")


async def test_an_automation_is_made_with_the_form(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/automations/new")

    await page.get_by_label("Name", exact=True).first.fill("Good night")
    await page.get_by_role("button", name="Add a trigger").click()
    await page.get_by_role("button", name="An event happens").click()
    await page.get_by_label("Event type").fill("bedtime")
    await page.get_by_role("button", name="Add an action").click()
    await page.get_by_role("button", name="If … then").click()
    inner = page.locator('[data-path="actions.0"]')
    await inner.get_by_role("button", name="Add a condition").click()
    await page.get_by_role("button", name="A template is true").click()
    await page.locator('[data-path="actions.0.if.0"]').get_by_role("textbox", name="Template").fill("{{ true }}")
    await inner.locator('[id="f-actions-0-then"]').get_by_role("button", name="Add an action").click()
    await page.get_by_role("dialog").get_by_role("searchbox").fill("fire event")
    await page.keyboard.press("Enter")
    await page.locator('[data-path="actions.0.then.0"]').get_by_role("textbox", name="Event").first.fill("lights_out")
    await page.keyboard.press("Control+s")
    await saved(page)

    assert "/automations/good_night/edit" in page.url
    text = (hub.home / FILE).read_text()
    assert text.startswith(AUTOMATIONS)
    assert "- alias: Good night\n" in text
    assert "lights_out" in text
    await page.goto("/automations")
    await expect(row(page, "Good night").get_by_role("switch")).to_be_checked()


async def test_what_is_wrong_stands_at_its_field_and_nothing_is_lost(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 400")
    page = await opened(signed_in, "/automations/lamp/edit")
    card = page.locator('[data-path="triggers.1"]')
    await card.get_by_text("Every 2 h").click()

    await card.get_by_label("Interval, hours").fill("0")
    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.locator("#edit-state")).to_contain_text("Nothing is saved yet")
    await expect(page.locator('[aria-invalid="true"]').first).to_have_value("0")
    assert (hub.home / FILE).read_text() == AUTOMATIONS
    await page.locator('[aria-invalid="true"]').first.fill("3")
    await page.get_by_role("button", name="Save", exact=True).click()
    await saved(page)
    assert (hub.home / FILE).read_text() == AUTOMATIONS.replace("every: 2h", 'every: "03:00:00"')


async def test_form_and_yaml_are_the_same_draft_and_comments_are_kept(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    page = await opened(signed_in, "/automations/lamp/edit")
    await page.get_by_label("Name", exact=True).first.fill("Hall lamp")

    await page.keyboard.press("Control+Shift+Y")
    editor = page.get_by_role("textbox", name="The automation as YAML")
    await expect(editor).to_contain_text("alias: Hall lamp  # the one in the hall")
    await page.wait_for_selector("#yaml-editor[data-ready]")
    await editor.focus()
    await page.keyboard.press("Control+Home")
    await page.keyboard.insert_text("# mine, and I keep it\n")
    await page.keyboard.press("Control+Shift+Y")
    await expect(page.get_by_label("Name", exact=True).first).to_have_value("Hall lamp")
    await page.locator('[data-path="triggers.0"]').get_by_role("button", name="More about When the event").click()
    await page.get_by_role("button", name="Move down").click()
    await expect(page.locator('[data-path="triggers.1"]')).to_contain_text("When the event “door” happens")
    await page.keyboard.press("Control+s")
    await saved(page)

    text = (hub.home / FILE).read_text()
    assert "alias: Hall lamp  # the one in the hall" in text
    assert "# mine, and I keep it" in text
    assert text.index("every: 2h") < text.index("# the door") < text.index("event_type: door")


async def test_yaml_is_checked_while_one_types(signed_in: BrowserContext, chromium: Chromium) -> None:
    page = await opened(signed_in, "/automations/lamp/edit?as=yaml")
    await page.wait_for_selector("#yaml-editor[data-ready]")
    editor = page.get_by_role("textbox", name="The automation as YAML")

    await editor.focus()
    await page.keyboard.press("Control+End")
    await page.keyboard.insert_text("\nmod: single\n")

    await expect(page.get_by_role("list", name="Problems")).to_contain_text("mod")
    await expect(page.locator(".cm-lintRange-error")).to_have_text("mod")


async def test_a_change_made_meanwhile_keeps_the_draft(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 409")
    page = await opened(signed_in, "/automations/lamp/edit")
    await page.get_by_label("Name", exact=True).first.fill("Mine")
    (hub.home / FILE).write_text(AUTOMATIONS.replace("alias: Lamp", "alias: Theirs"))
    reload(hub)

    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.locator("#edit-state")).to_contain_text("It was changed meanwhile")
    await expect(page.get_by_label("Name", exact=True).first).to_have_value("Mine")
    assert "Theirs" in (hub.home / FILE).read_text()
    await page.get_by_role("button", name="Overwrite with mine").click()
    await saved(page)
    assert "alias: Mine  # the one in the hall" in (hub.home / FILE).read_text()


async def test_it_is_run_and_its_trace_is_read_with_the_keyboard(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/automations/lamp")
    await page.get_by_text("Run it with variables").click()
    await page.locator("#run-variables").fill('{"who": "Anna"}')
    await page.get_by_role("button", name="Run it").click()
    await expect(page.locator("#automation-runs")).to_contain_text("Done")

    await page.get_by_role("link", name="All runs").click()
    graph = page.get_by_role("group", name="Steps of the run")
    await expect(graph.get_by_role("link", name="Fire the event “by_hand”: done")).to_be_visible()
    await is_ready(page)
    await expect(graph.get_by_role("link", name="by the door: did not hold")).to_be_visible()
    await expect(graph.get_by_role("link", name="Fire the event “rang”: not reached")).to_be_visible()
    await expect(graph.get_by_role("link", name="Fire the event “tick” ×3: done")).to_be_visible()
    await graph.get_by_role("link", name="Fire the event “by_hand”: done").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#step-action-0-default-0")).to_contain_text("Anna")
    await page.keyboard.press("ArrowDown")
    await expect(graph.locator("[data-step='step-action-1']")).to_be_focused()


async def test_a_trace_is_downloaded_and_looked_at_again(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/automations/lamp")
    before = len(outcomes(hub, "lamp"))
    await page.get_by_role("button", name="Run now").click()
    await until(lambda: len(outcomes(hub, "lamp")) > before)
    await page.goto("/automations/lamp/traces")

    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download as JSON").click()
    path = await (await download.value).path()
    await page.get_by_text("Look at a trace from a file").click()
    await page.get_by_label("File of a trace").set_input_files(path)
    await page.get_by_role("button", name="Show it").click()

    await expect(page.get_by_text("imported").first).to_be_visible()
    await expect(page.get_by_role("link", name="Fire the event “tick” ×3: done")).to_be_visible()


async def test_the_list_changes_while_one_looks(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/automations")

    hub.rpc("event.fire", {"type": "door"})
    await expect(row(page, "Lamp")).to_contain_text("Done")
    (hub.home / FILE).write_text(AUTOMATIONS.replace("alias: Never", "alias: Now and then"))
    reload(hub)

    await expect(row(page, "Now and then")).to_be_visible()


async def test_it_is_paused_and_resumed(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/automations")
    lamp = page.get_by_role("switch", name="Lamp")

    await lamp.click()
    await expect(lamp).not_to_be_checked()
    await lamp.click()

    await expect(lamp).to_be_checked()


async def test_a_broken_one_is_mended_in_the_editor(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    page = await opened(signed_in, "/automations/broken/edit")
    await expect(page.get_by_text("there is no trigger 'evnt'")).to_be_visible()

    await page.get_by_role("button", name="Edit as YAML").click()
    await page.wait_for_selector("#yaml-editor[data-ready]")
    await page.locator(".cm-line", has_text="trigger: evnt").click()
    await page.keyboard.press("End")
    await page.keyboard.press("Backspace")
    await page.keyboard.press("Backspace")
    await page.keyboard.insert_text("ent")
    await page.keyboard.press("Control+s")
    await saved(page)

    await page.goto("/automations")
    await expect(page.get_by_role("switch", name="Broken")).to_be_checked()


async def test_a_copy_is_made_turned_off_and_deleted_after_one_question(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    page = await opened(signed_in, "/automations/lamp")
    await page.get_by_role("button", name="More about Lamp").click()
    await page.get_by_role("button", name="Duplicate").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Lamp (copy)")
    assert "Lamp (copy)" in (hub.home / FILE).read_text()

    await page.get_by_role("link", name="Lamp (copy)").click()
    await page.get_by_role("button", name="More about Lamp (copy)").click()
    await page.get_by_role("link", name="Delete…").click()
    await page.get_by_role("button", name="Delete", exact=True).click()

    await page.wait_for_url("**/automations")
    assert (hub.home / FILE).read_text() == AUTOMATIONS


async def test_every_page_of_automations_is_accessible_and_fits(signed_in: BrowserContext, hub: HubProcess) -> None:
    hub.rpc("event.fire", {"type": "door"})
    page = await signed_in.new_page()
    found = {}

    for path, what_is_there in PAGES.items():
        await page.goto(path)
        await page.wait_for_selector(what_is_there)
        found[path] = await faults(page)

    assert found == {path: [] for path in PAGES}


async def test_a_chinese_browser_is_answered_in_chinese(chromium: Chromium, cookies: StorageState) -> None:
    page = await (await chromium.context(storage_state=cookies, locale="zh-CN")).new_page()

    await page.goto("/automations")
    await is_ready(page)
    await page.get_by_role("button", name="“Lamp”的更多操作").click()
    await page.get_by_role("button", name="立即运行").click()

    await expect(row(page, "Lamp")).to_contain_text("完成")
    await page.goto("/automations/lamp/edit")
    await expect(page.get_by_role("button", name="以 YAML 编辑", exact=True)).to_be_visible()
