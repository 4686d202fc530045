"""`homarus tool run` and `homarus exec`, against a hub that runs commands."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.terminal import Terminal
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess


def run(ask: Terminal, command: str, *options: str, **arguments: Any) -> Any:
    """What `tool run exec` answers."""
    return ask("tool", "run", "exec", "--args", json.dumps({"command": command, **arguments}), "--json", *options).json


def test_a_harmless_command_runs_and_its_output_is_printed(ask: Terminal, hub: HubProcess) -> None:
    answer = run(ask, "pwd")
    shown = ask("tool", "run", "exec", "--args", '{"command": "pwd"}')

    assert (answer["status"], answer["output"]) == ("ok", str(hub.home / "workspace"))
    assert shown.out == f"{hub.home / 'workspace'}\n"


def test_a_command_runs_once_it_is_approved_and_not_when_it_is_denied(ask: Terminal, hub: HubProcess) -> None:
    workspace = hub.home / "workspace"
    first, second = run(ask, "touch one && true", "--no-wait"), run(ask, "touch two", "--no-wait")
    listed = {each["id"]: each for each in ask("approvals", "list", "--json").json}
    ask("approvals", "deny", first["approval_id"], "--json")
    ask("approvals", "approve", second["approval_id"], "--json")
    until((workspace / "two").exists)

    assert first["status"] == second["status"] == "approval_required"
    assert listed[first["approval_id"]]["details"]["shell"] == "touch one && true"
    assert listed[second["approval_id"]]["details"]["argv"] == ["touch", "two"]
    assert not (workspace / "one").exists()


def test_a_command_that_is_allowed_for_good_runs_until_that_is_taken_back(ask: Terminal) -> None:
    asked = run(ask, "basename notes.txt", "--no-wait")
    ask("approvals", "approve", asked["approval_id"], "--always")
    until(lambda: run(ask, "basename notes.txt", "--no-wait")["status"] == "ok")
    (rule,) = ask("exec", "rules", "list", "--json").json
    listed, removed = ask("exec", "rules", "list"), ask("exec", "rules", "remove", rule["id"])
    again = run(ask, "basename notes.txt", "--no-wait")
    wrapper = run(ask, "env ls", "--no-wait")
    never = ask("approvals", "approve", wrapper["approval_id"], "--always")

    assert "basename notes.txt" in listed.out
    assert removed.out == "Asked about again: basename notes.txt\n"
    assert again["status"] == "approval_required"
    assert (never.code, "one time only" in never.err) == (2, True)
    for each in (again, wrapper):
        ask("approvals", "deny", each["approval_id"])


def test_a_group_never_runs_commands_on_the_hub(ask: Terminal, hub: HubProcess) -> None:
    answer = run(ask, "pwd", "--session", "agent:main:telegram:group:-1")

    assert answer["details"].get("host") != "hub"
    assert str(hub.home) not in answer["output"]


def test_what_may_not_run_is_denied_or_an_error(ask: Terminal) -> None:
    wrong, unknown = run(ask, "no-such-program"), ask("tool", "run", "no_such_tool", "--json")

    assert (wrong["status"], unknown.json["status"]) == ("error", "error")
    assert unknown.code == 1


def test_the_log_shows_what_ran(ask: Terminal) -> None:
    run(ask, "uname -s")

    newest = ask("exec", "log", "--limit", "1", "--json").json[0]

    assert (newest["command"], newest["verdict"], newest["exit_code"]) == ("uname -s", "harmless", 0)
    assert "uname -s" in ask("exec", "log").out
