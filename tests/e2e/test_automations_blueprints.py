"""Blueprints and scripts as their owner meets them on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.automating import add, run_json, seeded_home, status, traces, write
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess

BLUEPRINT = """\
blueprint:
  name: Bell
  domain: automation
  input:
    what:
      name: Which event
      selector: {text: {}}
triggers: [{trigger: event, event_type: !input what}]
actions: [{event: rang}]
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(seeded_home(tmp_path_factory.mktemp("blueprints") / "home")) as hub:
        yield hub
    assert "Traceback" not in hub.log.read_text()


def test_a_blueprint_is_imported_used_and_kept_while_it_is_in_use(hub: HubProcess, tmp_path: Path) -> None:
    file = tmp_path / "bell.yaml"
    file.write_text(BLUEPRINT)

    path = run_json(hub, "blueprint", "import", str(file))["path"]
    add(hub, f"- id: ringer\n  use_blueprint: {{path: {path}, input: {{what: ding}}}}")
    hub.rpc("event.fire", {"type": "ding"})
    ran = traces(hub, "ringer")[0]
    refused = hub.cli("blueprint", "remove", path)

    assert ran["outcome"] == "finished"
    assert refused.returncode == 1
    assert "ringer" in refused.stderr
    listed = run_json(hub, "blueprint", "list")
    assert {f"homarus/{name}.yaml" for name in ("heartbeat", "reminder", "morning_briefing")} <= {
        each["path"] for each in listed
    }


def test_a_wrong_input_makes_it_unavailable_with_its_place_until_it_is_mended(hub: HubProcess) -> None:
    add(hub, "- id: reminds\n  use_blueprint:\n    path: homarus/reminder.yaml\n    input: {nope: 1}")
    found = status(hub, "reminds")
    check = hub.cli("check")

    assert found["state"] == "unavailable"
    assert "nope" in found["error"]
    assert check.returncode == 3
    assert "automations.yaml" in check.stdout

    file = hub.home / "automations.yaml"
    file.write_text(file.read_text().replace("{nope: 1}", "{text: Tea, at: '23:59'}"))
    until(lambda: status(hub, "reminds")["state"] == "on")


def test_a_script_runs_by_hand_and_from_an_automation_with_its_answer(hub: HubProcess) -> None:
    (hub.home / "scripts.yaml").write_text(
        "greet:\n  fields: {who: {required: true}}\n  sequence:\n"
        "    - variables: {told: {text: 'Hello {{ who }}'}}\n    - stop: done\n      response_variable: told\n"
    )
    write(hub.home, "# calls a script")
    until(lambda: any("greet" in str(each) for each in run_json(hub, "script", "list")))
    add(
        hub,
        """
        - id: greeter
          triggers: [{trigger: event, event_type: visitor}]
          actions:
            - action: script.greet
              data: {who: Anna}
              response_variable: answer
            - event: greeted
              event_data: {text: "{{ answer.text }}"}
        """,
    )

    hub.rpc("event.fire", {"type": "visitor"})

    told = traces(hub, "greeter")[0]["steps"]["action/1"][0]["result"]
    assert told["event_data"] == {"text": "Hello Anna"}
    assert hub.cli("script", "--help").returncode == 0
