"""`homarus automation`: list, run, try and explain automations."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from hub.automation.cli.traces import print_backtest, print_not_run, print_test, print_traces, when
from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.json_argument import as_object, json_object
from hub.cli.options import WholeNumber, home_option, json_option, print_json, print_table
from hub.cli.verbs import Answer, verb

BACKTEST_LIMIT_S = 180.0
FILE_LIMIT_BYTES = 4 * 1024 * 1024
LISTED = ("id", "alias", "state", "mode", "current", "last_triggered", "next_run", "error")
"""The keys of `list --json`; `show` prints all of them."""

_VARIABLES = click.option(
    "--variables", metavar="JSON", default="{}", callback=as_object, help="Variables over its own, a JSON object."
)


@click.group("automation", cls=Group)
def command() -> None:
    """List, run, try and understand automations.

    Example:
      homarus automation list
      homarus automation trace morning
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the automations: whether they are on, when they ran, when they run next.

    Example:
      homarus automation list
    """
    found = HubClient(home).call("automation.list")["automations"]
    if as_json:
        print_json([{key: each[key] for key in LISTED} for each in found])
        return
    if not found:
        click.echo("No automations yet. Write one into automations.yaml, or make one in the dashboard.")
        return
    print_table(
        [
            (each["id"], _state(each), when(each["last_triggered"]), when(each["next_run"]), each["alias"])
            for each in found
        ],
        ("id", "state", "last run", "next run", "name"),
    )
    for each in found:
        if each["error"]:
            click.echo(f"\n{each['id']}: {each['error']}{_place(each)}")


@command.command("show")
@click.argument("name", metavar="ID")
@home_option
@json_option
def show(name: str, home: Path, as_json: bool) -> None:
    """Show the automation ID: its state, its place and its YAML.

    Example:
      homarus automation show morning
    """
    told = HubClient(home).call("automation.get", {"id": name})
    if as_json:
        print_json(told)
        return
    click.echo(f"{told['id']} ({told['entity_id']}) is {_state(told)}{_place(told)}")
    click.echo(
        f"last run: {when(told['last_triggered']) or 'never'}, next: {when(told['next_run']) or 'not by the clock'}"
    )
    for key in ("paused", "error"):
        if told[key]:
            click.echo(f"{key}: {told[key]}")
    click.echo(told["source"] if isinstance(told["source"], str) else json.dumps(told["source"], indent=2, default=str))


@verb(command)
@click.argument("name", metavar="ID")
@_VARIABLES
@click.option("--check-conditions", is_flag=True, help="Run only if its conditions hold.")
def trigger(client: HubClient, name: str, variables: dict[str, Any], check_conditions: bool) -> Answer:
    """Run the automation ID now, regardless of its triggers and conditions.

    Example:
      homarus automation trigger morning --variables '{"who": "Anna"}'
    """
    params = {"id": name, "variables": variables, "skip_conditions": not check_conditions}
    answer = client.call("automation.trigger", params)
    if answer["run_id"] is None and answer["reason"] is not None:
        raise CommandFailed(f"{answer['id']} did not run: {answer['text']}", Exit.FINDINGS, answer)
    return answer, f"{answer['id']} runs: {answer['run_id']}" if answer[
        "run_id"
    ] else f"{answer['id']}: {answer['text']}"


@verb(command)
@click.argument("name", metavar="ID")
@click.option("--not-run", is_flag=True, help="Triggers that fired while nothing ran, and why.")
@click.option("--run", "run_id", metavar="RUN", help="Only this run, with everything that is kept of it.")
@click.option("--limit", type=WholeNumber(1, 500), default=20, show_default=True, help="How many, newest first.")
def trace(client: HubClient, name: str, not_run: bool, run_id: str | None, limit: int) -> Answer:
    """Show the latest runs of the automation ID, step by step; a script is `script.NAME`.

    Example:
      homarus automation trace morning --not-run
    """
    if not_run:
        entries = client.call("automation.not_run", {"id": name, "limit": limit})["entries"]
        return entries, partial(print_not_run, entries)
    if run_id is not None:
        traces = [client.call("automation.trace.get", {"run_id": run_id})]
    else:
        traces = client.call("automation.trace", {"id": name, "limit": limit})["traces"]
    return traces, partial(print_traces, traces)


@verb(command)
@click.argument("name", metavar="ID")
@click.option(
    "--trigger", "trigger_", metavar="WHICH", help="The trigger that fires: its id, its index, or its data as JSON."
)
@click.option("--at", metavar="TIME", help="As if it were then, for example 2026-05-01T07:00 or 07:00.")
@_VARIABLES
def test(client: HubClient, name: str, trigger_: str | None, at: str | None, variables: dict[str, Any]) -> Answer:
    """Run the automation ID dry: every service call is shown, and none is made.

    Example:
      homarus automation test morning --at 07:00
    """
    params: dict[str, Any] = {"id": name, "variables": variables}
    if trigger_ is not None:
        params["trigger"] = json_object(trigger_, "--trigger") if trigger_.lstrip().startswith("{") else trigger_
    if at is not None:
        params["at"] = at
    answer = client.call("automation.test", params)
    return answer, partial(print_test, answer)


@verb(command)
@click.argument("name", metavar="ID")
@click.option("--since", metavar="TIME", default="7d", show_default=True, help="A time, or how long ago.")
@click.option("--until", metavar="TIME", help="A time, or how long ago; now without it.")
def backtest(client: HubClient, name: str, since: str, until: str | None) -> Answer:
    """Show from recorded history when the automation ID would have run, and what it would have done.

    Example:
      homarus automation backtest morning --since 7d
    """
    params = {"id": name, "since": since} | ({"until": until} if until else {})
    answer = client.call("automation.backtest", params, timeout_s=BACKTEST_LIMIT_S)
    return answer, partial(print_backtest, answer)


@verb(command)
@click.argument("name", metavar="ID")
def explain(client: HubClient, name: str) -> Answer:
    """Explain the automation ID in plain words; a script is `script.NAME`.

    Example:
      homarus automation explain morning
    """
    answer = client.call("automation.explain", {"id": name})
    return answer, answer["text"]


@verb(command)
@click.argument("name", metavar="ID")
def on(client: HubClient, name: str) -> Answer:
    """Turn the automation ID on; a pause ends.

    Example:
      homarus automation on morning
    """
    return _told(client.call("automation.on", {"id": name}))


@verb(command)
@click.argument("name", metavar="ID")
@click.option("--keep-runs", is_flag=True, help="Let what runs come to its end.")
def off(client: HubClient, name: str, keep_runs: bool) -> Answer:
    """Turn off the automation ID and stop its runs.

    Example:
      homarus automation off morning
    """
    return _told(client.call("automation.off", {"id": name, "stop_runs": not keep_runs}))


@verb(command)
@click.argument("name", metavar="ID")
def resume(client: HubClient, name: str) -> Answer:
    """Resume the automation ID after it paused itself for failing repeatedly.

    Example:
      homarus automation resume morning
    """
    return _told(client.call("automation.resume", {"id": name}))


@verb(command)
@click.argument("run_id", metavar="RUN")
def export(client: HubClient, run_id: str) -> Answer:
    """Print the trace of a run as JSON, to keep or share it.

    Example:
      homarus automation export 019aa5c1f2d0b7c1 > trace.json
    """
    trace = client.call("automation.trace.export", {"run_id": run_id})
    return trace, partial(print_json, trace)


@verb(command)
@click.argument("file", type=click.File("rb"))
def import_(client: HubClient, file: Any) -> Answer:
    """Import an exported trace; `-` reads standard input.

    Example:
      homarus automation import trace.json
    """
    raw = file.read(FILE_LIMIT_BYTES + 1)
    if len(raw) > FILE_LIMIT_BYTES:
        raise CommandFailed(f"The file is larger than {FILE_LIMIT_BYTES // 1024 // 1024} MB.", Exit.USAGE)
    try:
        parsed = json.loads(raw)
    except ValueError as error:
        raise CommandFailed(f"The file is not JSON: {error}", Exit.USAGE) from error
    answer = client.call("automation.trace.import", {"trace": parsed})
    return answer, f"Imported as {answer['run_id']}."


def _told(status: dict[str, Any]) -> Answer:
    return status, f"{status['id']} is {_state(status)}."


def _state(status: dict[str, Any]) -> str:
    if status["paused"]:
        return "paused"
    running = f", {status['current']} running" if status["current"] else ""
    return f"{status['state']}{running}"


def _place(status: dict[str, Any]) -> str:
    location = status.get("location") or {}
    return f" ({location['file']}:{location['line']})" if location.get("file") else ""
