"""Fields for templates: what a template says now stands below it while one writes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Route, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BLUEPRINT = """\
blueprint:
  name: When something is so
  domain: automation
  input:
    what:
      name: What must be true
      selector: {template: {}}
triggers:
  - {trigger: template, value_template: !input what}
actions: []
"""
AUTOMATIONS = """\
- id: so
  alias: So
  triggers: [{trigger: event, event_type: so}]
  conditions: [{condition: template, value_template: "{{ 1 < 2 }}"}]
  actions: [{event: was_so}]
"""


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home: Path = tmp_path_factory.mktemp("templates") / "home"
    (home / "blueprints" / "automation").mkdir(parents=True)
    home.chmod(0o700)
    (home / "blueprints" / "automation" / "so.yaml").write_text(BLUEPRINT)
    (home / "automations.yaml").write_text(AUTOMATIONS)
    sections = "automation: !include automations.yaml\n"
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url) + sections)
    with HubProcess(home) as process:
        yield process


async def test_the_result_of_a_template_is_shown_while_it_is_written(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/blueprints/use?domain=automation&path=so.yaml")
    field = page.get_by_label("What must be true")
    result = page.locator("hm-template output")
    await expect(result).to_be_hidden()

    await field.fill("{{ 20 + 1 }} lamps")
    await expect(result).to_have_text("21 lamps")
    assert await faults(page) == []

    await field.fill("{{ nonsense( }}")
    await expect(result).to_have_class("danger")
    await field.fill("")
    await expect(result).to_be_hidden()


async def test_in_the_editor_of_an_automation_it_is_a_line_of_code(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/automations/so/edit")
    card = page.locator(".step-card").filter(has=page.locator("hm-template"))
    await card.locator("> .line").click()

    await card.get_by_label("Template", exact=True).focus()
    await expect(card.locator(".cm-content")).to_be_focused()
    await page.keyboard.press("Control+A")
    await page.keyboard.type("{{ 2 < 1 }}")
    await expect(card.locator("hm-template output")).to_have_text("false")
    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.locator("#toasts")).to_contain_text("Saved")
    assert "{{ 2 < 1 }}" in (hub.home / "automations.yaml").read_text()


async def test_the_line_of_code_leaves_no_dead_field_behind(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await signed_in.new_page()
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await page.route(re.compile(r"/codemirror[^/]*\.js"), hold)
    await page.goto("/automations/so/edit")
    await is_ready(page)
    card = page.locator(".step-card").filter(has=page.locator("hm-template"))
    await card.locator("> .line").click()
    plain = await card.locator("textarea[name='conditions.0.value_template']").element_handle()
    assert plain is not None
    await plain.fill("{{ 3 < 4 }}")

    held.set()
    line = card.get_by_role("textbox", name="Template", exact=True)
    await expect(line).to_have_class(re.compile("cm-content"))
    assert not await plain.evaluate("field => field.isConnected")
    await expect(line).to_be_focused()
    await page.get_by_label("Name", exact=True).first.focus()
    await card.locator("label", has_text="Template").click()
    await expect(line).to_be_focused()
    await line.press_sequentially("{# even so #}")
    await page.keyboard.press("Control+s")

    await expect(page.locator("#edit-state")).to_have_text("Saved. The change is in force.")
    written = (hub.home / "automations.yaml").read_text()
    assert "{{ 3 < 4 }}" in written
    assert "{# even so #}" in written
