"""Automations, blueprints and scripts in a browser without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import AUTOMATIONS, BLUEPRINT, furnish, outcomes
from tests.web.plain_browser import PlainBrowser


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("plain") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    furnish(home)
    with HubProcess(home) as process:
        yield process


async def test_an_automation_is_edited_with_buttons_alone(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/automations/porch/edit")

    plain.fill("Name", "Plain porch")
    await plain.press("Duplicate", within='[data-path="actions.0"]')
    await plain.press("Edit as YAML")
    text = plain.value("The automation as YAML")
    plain.fill("The automation as YAML", text + "# written without script\n")
    await plain.press("Save")

    assert plain.url.endswith("/edit?as=yaml&saved=1")
    written = (hub.home / "automations.yaml").read_text()
    assert "alias: Plain porch\n" in written
    assert "# written without script" in written
    assert written.count("event: porch_lit") == AUTOMATIONS.count("event: porch_lit") + 1


async def test_a_card_is_added_with_the_buttons_of_a_dialog(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/automations/doorbell/edit")

    await plain.press("Add a condition")
    assert plain.page.select_one("dialog[open]")
    await plain.press("It is a certain time or weekday")
    plain.fill("After", "00:00")  # later tests set it off at any hour
    await plain.press("Save")

    assert "after: 00:00" in (hub.home / "automations.yaml").read_text().replace('"', "")


async def test_one_card_is_edited_as_yaml(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/automations/porch/edit")

    await plain.press("Edit as YAML", within='[data-path="actions.0"]')
    assert "event:" in plain.value("YAML")
    plain.fill("YAML", "delay: 5")
    await plain.press("Edit as a form", within='[data-path="actions.0"]')
    await plain.press("Save")

    assert "delay: 5" in (hub.home / "automations.yaml").read_text()


async def test_a_trace_is_a_list_of_steps(plain: PlainBrowser, hub: HubProcess) -> None:
    before = len(outcomes(hub, "doorbell"))
    hub.rpc("event.fire", {"type": "doorbell_rang"})
    await until(lambda: len(outcomes(hub, "doorbell")) > before)

    await plain.goto("/automations/doorbell/traces")

    assert "doorbell_heard" in plain.text("[aria-label='Steps of the run']")


async def test_a_blueprint_is_imported_and_used(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/blueprints")

    plain.choose_file("Or a file", "x.yaml", BLUEPRINT)
    await plain.press("Review it first")
    await plain.press("Import it")
    plain.fill("What it tells", "hello")
    await plain.press("Save")

    assert "/automations/" in plain.url
    found = hub.rpc("automation.list")["automations"]
    assert "Tell when it rings" in [each["alias"] for each in found]


async def test_a_script_is_written_and_run(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/scripts/new")

    plain.fill("Name", "Plain")
    await plain.press("Add a field")
    await plain.press("Number")
    await plain.press("Add an action")
    await plain.press("Fire an event")
    plain.fill("Event", "plainly")
    await plain.press("Save")
    assert "number:" in (hub.home / "scripts.yaml").read_text()
    await plain.follow("Plain")
    await plain.press("Run", within="main")

    assert "It ran." in plain.text()


async def test_a_pasted_blueprint_is_shown_before_it_is_written(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/blueprints")

    plain.fill("Or its text", BLUEPRINT.replace("Tell when it rings", "Pasted"))
    await plain.press("Review it first")
    assert "Pasted" in plain.texts("h1, h2, h3")
    assert "Which event, How loud" in plain.text()
    assert not list(hub.home.glob("blueprints/automation/imported/pasted.yaml"))
    await plain.press("Import it")

    assert plain.url.startswith(f"{hub.url}/blueprints/use?")
    assert "name: Pasted" in (hub.home / "blueprints/automation/imported/pasted.yaml").read_text()


async def test_a_text_that_is_no_blueprint_is_refused_with_its_line(plain: PlainBrowser) -> None:
    await plain.goto("/blueprints")

    plain.fill("Or its text", BLUEPRINT.replace("!input what", "!input waht"))
    await plain.press("Review it first")

    assert re.search(r"Line \d+: there is no input waht.*what", plain.text("[role=alert]"))
    assert "waht" in plain.value("Or its text")


async def test_a_blueprint_that_is_used_is_not_removed(plain: PlainBrowser, hub: HubProcess) -> None:
    text = BLUEPRINT.replace("Tell when it rings", "Needed")
    hub.rpc("blueprint.import", {"text": text, "path": "tests/Needed.yaml"})
    hub.rpc("blueprint.use", {"path": "tests/Needed.yaml", "input": {"what": "x"}, "alias": "It needs it"})
    await plain.goto("/blueprints")
    assert "It needs it" in plain.links("Needed")

    await plain.press("Remove it", within=f"[aria-labelledby='{plain.region('Needed')['aria-labelledby']}']")

    assert "is used by It needs it" in plain.text("[role=alert]")


async def test_a_sentence_becomes_a_draft_in_the_editor(
    plain: PlainBrowser, hub: HubProcess, model_server: OpenAIServer
) -> None:
    drafted = {
        "alias": "Bell",
        "triggers": [{"trigger": "event", "event_type": "doorbell_rang"}],
        "actions": [{"action": "notify.notify", "data": {"message": "Somebody is at the door"}}],
    }
    model_server.queue(json.dumps(drafted))
    await plain.goto("/automations")

    plain.fill("Describe an automation in a sentence", "When the bell rings, tell me that somebody is at the door")
    await plain.press("Send")
    assert "Drafted by my_server/scripted" in plain.text()
    plain.fill("Message", "The bell rang")
    await plain.press("Save")

    assert "message: The bell rang" in (hub.home / "automations.yaml").read_text()


async def test_a_card_is_tried_and_an_action_asks_before_it_is_run(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/automations/doorbell/edit")

    await plain.press("Test", within='[data-path="triggers.0"]')
    assert "doorbell_rang" in plain.text('[data-path="triggers.0"] [role=status]')
    await plain.press("Run just this", within='[data-path="actions.0"]')
    assert plain.page.select_one("dialog[open]")
    await plain.press("Run it")

    assert plain.text('[data-path="actions.0"] [role=status]') == "Done"
