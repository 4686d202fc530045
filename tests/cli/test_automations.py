"""`homarus automation|event|service|state|template|script|blueprint`, against a hub that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess

CONFIGURATION = """\
hub: {time_zone: Europe/Berlin}
automation: !include automations.yaml
script:
  greet:
    alias: Greet
    fields: {who: {required: true}}
    sequence:
      - variables: {greeting: {words: "Hello {{ who }}"}}
      - stop: done
        response_variable: greeting
"""
AUTOMATIONS = """\
- id: bell
  alias: Bell
  triggers:
    - {trigger: event, event_type: bell_pressed, id: pressed}
    - {trigger: time, at: "07:00"}
  actions:
    - action: persistent_notification.create
      data: {message: "The {{ (trigger.event.data if trigger.event is defined else {}).door | default('front') }} door"}
- id: never
  alias: Never
  triggers: {trigger: event, event_type: bell_pressed}
  conditions: "{{ is_state('person.anna', 'home') }}"
  actions: {event: never_heard}
- id: broken
  alias: Broken
  triggers: {trigger: evnt, event_type: x}
  actions: {event: x}
- id: fails
  alias: Fails
  pause_after: 1
  actions: {action: persistent_notification.dismiss}
"""
RING = """\
blueprint:
  name: Ring
  domain: automation
  input:
    door: {name: Door}
triggers: {trigger: event, event_type: bell_pressed}
actions: {event: rung, event_data: {door: !input door}}
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("automations") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION)
    (home / "automations.yaml").write_text(AUTOMATIONS)
    with HubProcess(home) as process:
        yield process


def runs(ask: Terminal, id: str, count: int) -> list[dict[str, Any]]:
    """The finished runs of an automation, once there are so many."""
    found: list[dict[str, Any]] = []

    def enough() -> bool:
        found[:] = [each for each in ask("automation", "trace", id, "--json").json if each["finished"]]
        return len(found) >= count

    until(enough)
    return found


def test_the_list_has_what_scripts_rely_on_and_the_reason_of_a_broken_one(ask: Terminal) -> None:
    listed = {each["id"]: each for each in ask("automation", "list", "--json").json}
    shown = ask("automation", "list")

    keys = {"id", "alias", "state", "mode", "current", "last_triggered", "next_run", "error"}
    assert all(keys <= each.keys() for each in listed.values())
    assert {id: each["state"] for id, each in listed.items()} == {
        "bell": "on",
        "never": "on",
        "broken": "unavailable",
        "fails": "on",
    }
    assert listed["bell"]["next_run"] is not None
    assert "did you mean event?" in listed["broken"]["error"]
    assert "automations.yaml:" in shown.out
    assert shown.code == 0


def test_an_event_sets_one_off_and_the_trace_tells(ask: Terminal) -> None:
    fired = ask("event", "fire", "bell_pressed", "--data", '{"door": "back"}')
    (trace,) = runs(ask, "bell", 1)
    shown = ask("automation", "trace", "bell")
    not_run = ask("automation", "trace", "never", "--not-run", "--json").json
    why = ask("automation", "trace", "never", "--not-run")

    assert (fired.code, fired.out) == (0, "bell_pressed was fired.\n")
    assert {"run_id", "trigger", "started", "finished", "outcome", "steps"} <= trace.keys()
    assert trace["outcome"] == "finished"
    assert trace["steps"]["action/0"][0]["result"]["data"] == {"message": "The back door"}
    assert trace["run_id"] in shown.out
    assert "action/0" in shown.out
    assert not_run[0]["reason"] == "conditions"
    assert "conditions:" in why.out


def test_it_runs_by_hand(ask: Terminal) -> None:
    before = len(ask("automation", "trace", "bell", "--json").json)
    ran = ask("automation", "trigger", "bell", "--variables", '{"x": 1}', "--json")
    traces = runs(ask, "bell", before + 1)
    one = ask("automation", "trace", "bell", "--run", ran.json["run_id"], "--json")
    held_back = ask("automation", "trigger", "never", "--check-conditions")
    missing = ask("automation", "trigger", "bel")
    broken = ask("automation", "trigger", "broken", "--json")

    assert ran.code == 0
    assert ran.json["run_id"] in {each["run_id"] for each in traces}
    assert one.json[0]["variables"]["x"] == 1
    assert (held_back.code, "did not run" in held_back.err) == (1, True)
    assert (missing.code, missing.err.count("\n")) == (1, 1)
    assert (broken.code, broken.json["error"]["code"]) == (1, "UNAVAILABLE")


def test_it_is_tried_and_nothing_is_done(ask: Terminal) -> None:
    told = ask("automation", "test", "bell", "--trigger", "pressed", "--at", "07:00", "--json")
    given = ask("automation", "test", "bell", "--trigger", '{"event": {"data": {"door": "side"}}}')
    never = ask("automation", "test", "never")
    wrong = ask("automation", "test", "bell", "--at", "soon")
    backtest = ask("automation", "backtest", "bell", "--since", "7d")
    explained = ask("automation", "explain", "bell")

    assert told.json["would_run"] is True
    assert [each.keys() >= {"path", "service", "data"} for each in told.json["calls"]] == [True]
    assert told.json["calls"][0]["service"] == "persistent_notification.create"
    assert "The side door" in given.out
    assert never.out.startswith("It would not run:")
    assert wrong.code == 2
    assert backtest.code == 0
    assert "It would have run" in backtest.out
    assert "bell_pressed" in explained.out


def test_it_is_turned_off_and_on_and_resumed(ask: Terminal) -> None:
    off, on = ask("automation", "off", "never"), ask("automation", "on", "never", "--json")
    ask("automation", "trigger", "fails")
    until(lambda: "paused" in ask("automation", "list").out)
    resumed = ask("automation", "resume", "fails")
    again = ask("automation", "resume", "fails", "--json")

    assert off.out == "never is off.\n"
    assert on.json["state"] == "on"
    assert resumed.out == "fails is on.\n"
    assert (again.code, again.json["error"]["code"]) == (1, "CONFLICT")


def test_a_trace_is_exported_and_imported(ask: Terminal, tmp_path: Path) -> None:
    (trace, *_) = runs(ask, "bell", 1)
    exported = ask("automation", "export", trace["run_id"])
    (tmp_path / "trace.json").write_text(exported.out)
    imported = ask("automation", "import", str(tmp_path / "trace.json"), "--json")
    (tmp_path / "odd.json").write_text("[1]")
    odd = ask("automation", "import", str(tmp_path / "odd.json"))

    assert json.loads(exported.out)["homarus_trace"] == 1
    assert imported.json["run_id"].startswith("imported-")
    assert odd.code == 2


def test_the_hubs_own_events_are_refused(ask: Terminal) -> None:
    ran = ask("event", "fire", "state_changed", "--json")

    assert ran.code == 2
    assert "cannot be fired" in ran.json["error"]["message"]


def test_services_are_listed_and_called(ask: Terminal) -> None:
    listed = ask("service", "list")
    called = ask("service", "call", "persistent_notification.create", "--data", '{"message": "Tea"}', "--json")
    silent = ask("service", "call", "persistent_notification.dismiss_all")
    wrong = ask("service", "call", "persistent_notification.create")
    missing = ask("service", "call", "tea.make")

    assert "persistent_notification.create" in listed.out
    assert called.json["service"] == "persistent_notification.create"
    assert called.json["response"].keys() == {"notification_id"}
    assert silent.out == "persistent_notification.dismiss_all was called.\n"
    assert (wrong.code, "message" in wrong.err) == (2, True)
    assert missing.code == 1


def test_states_are_set_and_shown(ask: Terminal) -> None:
    made = ask("state", "set", "sensor.outside", "21.5", "--attributes", '{"unit": "C"}')
    got = ask("state", "get", "sensor.outside", "--json")
    listed = ask("state", "list", "--domain", "sensor", "--json")
    removed = ask("state", "remove", "sensor.outside")
    gone = ask("state", "get", "sensor.outside")
    wrong = ask("state", "set", "sensor", "on")

    assert made.out.startswith("sensor.outside: 21.5")
    assert (got.json["state"], got.json["attributes"]["unit"]) == ("21.5", "C")
    assert [each["entity_id"] for each in listed.json] == ["sensor.outside"]
    assert (removed.code, gone.code, wrong.code) == (0, 1, 2)


def test_a_template_is_rendered(ask: Terminal) -> None:
    text = ask("template", "{{ 6 * 7 }} {{ states('automation.bell') }}")
    number = ask("template", "{{ 6 * x }}", "--variables", '{"x": 7}', "--json")
    wrong = ask("template", "{{ 1 + }}")

    assert text.out == "42 on\n"
    assert number.json == {"result": 42, "type": "int"}
    assert (wrong.code, wrong.out) == (1, "")


def test_a_script_is_listed_and_run(ask: Terminal) -> None:
    listed = ask("script", "list", "--json").json
    ran = ask("script", "run", "greet", "--data", '{"who": "Anna"}', "--json")
    shown = ask("script", "run", "greet", "--data", '{"who": "Ben"}')
    begun = ask("script", "run", "script.greet", "--data", '{"who": "Cy"}', "--no-wait")
    without = ask("script", "run", "greet")

    assert [(each["id"], each["alias"]) for each in listed] == [("greet", "Greet")]
    assert ran.json == {"id": "greet", "response": {"words": "Hello Anna"}}
    assert json.loads(shown.out) == {"words": "Hello Ben"}
    assert begun.out == "greet was begun.\n"
    assert (without.code, "who" in without.err) == (2, True)


def test_blueprints_come_and_go(ask: Terminal, tmp_path: Path) -> None:
    (tmp_path / "ring.yaml").write_text(RING)
    imported = ask("blueprint", "import", str(tmp_path / "ring.yaml"), "--path", "mine/ring.yaml")
    again = ask("blueprint", "import", str(tmp_path / "ring.yaml"), "--path", "mine/ring.yaml")
    listed = ask("blueprint", "list")
    nowhere = ask("blueprint", "update", "mine/ring.yaml")
    removed = ask("blueprint", "remove", "mine/ring.yaml")
    missing = ask("blueprint", "import", str(tmp_path / "none.yaml"))

    assert imported.out == "Ring is at mine/ring.yaml.\n"
    assert (again.code, "already" in again.err) == (1, True)
    assert "mine/ring.yaml" in listed.out
    assert "homarus/heartbeat.yaml" in listed.out
    assert (nowhere.code, "source_url" in nowhere.err) == (2, True)
    assert removed.code == 0
    assert missing.code == 2
