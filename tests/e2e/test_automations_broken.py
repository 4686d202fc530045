"""Automations that are broken, fail, wait for a word or do not run: nothing else stops, and the reason is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.automating import add, listed, not_run, run_json, seeded_home, status, traces, write
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(seeded_home(tmp_path_factory.mktemp("broken") / "home")) as hub:
        yield hub
    assert "Traceback" not in hub.log.read_text()


def test_a_broken_automation_is_unavailable_with_its_line_and_stops_nothing_else(hub: HubProcess) -> None:
    before = (hub.home / "automations.yaml").read_text()
    add(
        hub,
        """
        - id: good_neighbour
          triggers: [{trigger: event, event_type: neighbour}]
          actions: [{event: told}]
        """,
    )
    add(
        hub,
        """
        - id: broken
          alias: Broken
          triggers:
            - trigger: evnt
              event_type: x
          actions: [{event: told}]
        """,
    )
    lines = (hub.home / "automations.yaml").read_text().splitlines()
    line = lines.index("    - trigger: evnt") + 1
    found = status(hub, "broken")
    hub.rpc("event.fire", {"type": "neighbour"})

    assert found["state"] == "unavailable"
    assert "event" in found["error"]
    assert str(line) in json.dumps([found["location"], found["error"]])
    assert run_json(hub, "state", "get", "automation.broken")["state"] == "unavailable"
    assert traces(hub, "good_neighbour")
    check = hub.cli("check")
    assert check.returncode == 3
    assert f"automations.yaml:{line}" in check.stdout + check.stderr

    (hub.home / "automations.yaml").write_text("\n".join(lines).replace("trigger: evnt", "trigger: event") + "\n")
    until(lambda: status(hub, "broken")["state"] == "on")
    assert hub.cli("check").returncode == 0
    (hub.home / "automations.yaml").write_text(before)
    until(lambda: status(hub, "broken") == {} and not hub.rpc("status")["repairs"])


def test_a_file_that_cannot_be_read_changes_nothing_until_it_is_mended(hub: HubProcess) -> None:
    file = hub.home / "automations.yaml"
    before, known = file.read_text(), {each["id"] for each in listed(hub)}

    file.write_text(before + "\n- id: x\n  triggers: [\n")
    until(lambda: hub.rpc("status")["repairs"])
    during = {each["id"] for each in listed(hub)}
    hub.rpc("event.fire", {"type": "parcel"})
    file.write_text(before)
    until(lambda: not hub.rpc("status")["repairs"])

    assert during == known
    assert {each["id"] for each in listed(hub)} == known


def test_a_hub_starts_with_a_broken_automation_and_runs_the_others(tmp_path: Path) -> None:
    home = seeded_home(tmp_path / "home")
    write(
        home,
        """
        - id: bad
          triggers: [{trigger: state}]
          actions: [{event: told}]
        """,
        """
        - id: good
          triggers: [{trigger: hub, event: start}]
          actions: [{event: told}]
        """,
    )

    with HubProcess(home) as hub:
        found = {each["id"]: each for each in run_json(hub, "automation", "list")}
        ran = traces(hub, "good")
        repairs = hub.rpc("status")["repairs"]

    assert found["bad"]["state"] == "unavailable"
    assert "entity_id" in found["bad"]["error"]
    assert found["good"]["state"] == "on"
    assert ran[0]["trigger"]["platform"] == "hub"
    assert any("automations.yaml" in json.dumps(repair["location"]) for repair in repairs)


def test_one_that_fails_again_and_again_pauses_itself_and_goes_on_when_told(hub: HubProcess) -> None:
    id = add(
        hub,
        """
        - id: failing
          pause_after: 2
          triggers: [{trigger: event, event_type: fail}]
          actions: [{action: nothing.at_all}]
        """,
    )
    for count in (1, 2):
        hub.rpc("event.fire", {"type": "fail"})
        traces(hub, id, count)

    until(lambda: status(hub, id)["paused"])
    hub.rpc("event.fire", {"type": "fail"})

    assert not_run(hub, id)[0]["reason"] == "paused"
    assert any("failing" in json.dumps(repair) for repair in hub.rpc("status")["repairs"])
    assert hub.cli("automation", "resume", id).returncode == 0
    assert status(hub, id)["paused"] is None
    assert not any("failing" in json.dumps(repair) for repair in hub.rpc("status")["repairs"])


def test_a_mode_and_a_rate_limit_say_why_nothing_ran(hub: HubProcess) -> None:
    for id, limit in (("at_once", "mode: single"), ("seldom", "rate_limit: {runs: 1, per: 1h}\n  mode: parallel")):
        write(hub.home, f"- id: {id}\n  {limit}\n  triggers: [{{trigger: event, event_type: {id}}}]\n  actions: []")
    add(
        hub,
        """
        - id: busy
          triggers: [{trigger: event, event_type: busy}]
          actions: [{wait_for_trigger: [{trigger: event, event_type: free}], timeout: 60}]
        """,
    )
    for type in ("seldom", "seldom", "busy", "busy"):
        hub.rpc("event.fire", {"type": type})

    assert not_run(hub, "seldom")[0]["reason"] == "rate_limit"
    assert not_run(hub, "busy")[0]["reason"] == "mode"
    until(lambda: hub.rpc("event.fire", {"type": "free"}) and status(hub, "busy")["current"] == 0)
    assert traces(hub, "busy")[0]["outcome"] == "finished"


def test_an_approval_is_asked_and_given_on_the_command_line(hub: HubProcess) -> None:
    id = add(
        hub,
        """
        - id: careful
          approval: required
          triggers: [{trigger: event, event_type: careful}]
          actions: [{event: told}]
        """,
    )
    hub.rpc("event.fire", {"type": "careful"})
    waiting = until(lambda: [each for each in run_json(hub, "approvals", "list") if "careful" in json.dumps(each)])

    given = hub.cli("approvals", "approve", str(waiting[0]["code"]))
    ran = traces(hub, id)[0]
    hub.rpc("event.fire", {"type": "careful"})
    waiting = until(lambda: [each for each in run_json(hub, "approvals", "list") if "careful" in json.dumps(each)])
    hub.cli("approvals", "deny", str(waiting[0]["code"]))

    assert given.returncode == 0, given.stderr
    assert ran["outcome"] == "finished"
    assert traces(hub, id, 2)[0]["outcome"] == "denied"
