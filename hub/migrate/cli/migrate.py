"""`homarus migrate`: move in from Home Assistant, OpenClaw, Claude or ChatGPT; a plan first, and an undo after."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import command_on, home_option, json_option, print_json, print_table
from hub.cli.remote import RemoteHome
from hub.cli.times import local_time
from hub.storage.instance_lock import read_running

CALL_LIMIT_S = 900.0
VERDICTS = {
    "taken": "Comes along",
    "waits": "Comes along, and waits for what is not here",
    "there": "Is here already",
    "left": "Stays there",
    "refused": "Cannot run here as it is written",
}
WORDS = {
    "memory": "file of memory",
    "workspace": "file of a workspace",
    "job": "scheduled job",
    "model": "choice of a model",
    "sender": "person",
}
PLURALS = {
    "person": "people",
    "sender": "people who may write",
    "memory": "files of memory",
    "workspace": "files of workspaces",
    "job": "scheduled jobs",
    "model": "choices of models",
    "mqtt": "brokers",
    "location": "facts of the home",
}
SHOWN_LIMIT = 12
"""Things of one kind and verdict that are listed without --all."""

_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_plan_only = click.option("--plan", "plan_only", is_flag=True, help="Show the plan, and end.")
_all = click.option("--all", "show_all", is_flag=True, help="List everything that was found.")
_secrets = click.option("--secrets", is_flag=True, help="Bring passwords, keys and tokens along.")
_agent = click.option("--agent", default="main", show_default=True, help="The agent that gets it.")


@click.group("migrate", cls=Group)
def command() -> None:
    """Move in from Home Assistant, OpenClaw, Claude or ChatGPT.

    A plan is shown first: what comes along, what waits for something that is not here, what is refused and where it is
    written. Nothing changes before your yes, and homarus migrate undo takes it back.

    Example:
      homarus migrate home-assistant /mnt/ha/config
      homarus migrate undo
    """


@command.command("home-assistant")
@click.argument("folder", metavar="DIR")
@_secrets
@click.option("--off", is_flag=True, help="Bring automations switched off.")
@_plan_only
@_all
@_yes
@home_option
@json_option
def home_assistant(folder: str, home: Path, **given: Any) -> None:
    """Bring the configuration of a Home Assistant over: automations, scripts, blueprints, areas, people and more.

    DIR is its folder with configuration.yaml, or a copy of it.

    Example:
      homarus migrate home-assistant /mnt/ha/config --plan
      homarus migrate home-assistant ~/ha-backup/config --secrets --off
    """
    _move("home-assistant", folder, home, **given)


@command.command("openclaw")
@click.argument("folder", metavar="DIR")
@_secrets
@click.option("--off", is_flag=True, help="Bring scheduled jobs switched off.")
@_plan_only
@_all
@_yes
@home_option
@json_option
def openclaw(folder: str, home: Path, **given: Any) -> None:
    """Bring the state of an OpenClaw over: models, channels, agents, workspaces, skills and scheduled jobs.

    DIR is ~/.openclaw, or a copy of it. Stop OpenClaw first: a bot answers in one program at a time.

    Example:
      homarus migrate openclaw ~/.openclaw --plan
      homarus migrate openclaw ~/.openclaw --secrets
    """
    _move("openclaw", folder, home, **given)


@command.command("claude")
@click.argument("file", metavar="FILE")
@_agent
@_plan_only
@_all
@_yes
@home_option
@json_option
def claude(file: str, home: Path, **given: Any) -> None:
    """Bring Claude's data export over: conversations, archived, and what Claude remembers, with its projects.

    FILE is the .zip that came by mail, or its conversations.json.

    Example:
      homarus migrate claude ~/Downloads/claude-export.zip
    """
    _move("claude", file, home, **given)


@command.command("chatgpt")
@click.argument("file", metavar="FILE")
@_agent
@_plan_only
@_all
@_yes
@home_option
@json_option
def chatgpt(file: str, home: Path, **given: Any) -> None:
    """Bring ChatGPT's data export over: conversations, archived, and what ChatGPT was to remember.

    FILE is the .zip that came by mail, or its conversations.json.

    Example:
      homarus migrate chatgpt ~/Downloads/chatgpt-export.zip
    """
    _move("chatgpt", file, home, **given)


@command.command("undo")
@click.option("--force", is_flag=True, help="Put back files that were changed since, too.")
@_yes
@home_option
@json_option
def undo(force: bool, yes: bool, home: Path, as_json: bool) -> None:
    """Take back what the last move brought.

    A file that you changed since stays, unless --force; its versions are in homarus config history.

    Example:
      homarus migrate undo
    """
    if not yes:
        click.confirm("Take back what the last move brought?", abort=True, err=True)
    done = HubClient(home).call("migrate.undo", {"force": force}, timeout_s=CALL_LIMIT_S)
    if as_json:
        print_json(done)
        return
    click.echo(f"What came from {done['path']} is taken back: {_count(len(done['restored']), 'file')}.")
    for name, why in done["left"].items():
        click.echo(f"  {name} stays: {why}")


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List what was brought over.

    Example:
      homarus migrate list
    """
    found = HubClient(home).call("migrate.list")
    if as_json:
        print_json(found)
        return
    if not found["moves"]:
        click.echo("Nothing was brought over yet.")
        return
    rows = [
        (local_time(each["begun_ms"]), each["source"], each["state"], _sum(each["counts"]), each["path"])
        for each in found["moves"]
    ]
    print_table(rows, ("when", "from", "state", "what", "path"))


# -- below -------------------------------------------------------------------------------------------------------


def _move(source: str, path: str, home: Path, *, plan_only: bool, show_all: bool, yes: bool, **given: Any) -> None:
    """Show the plan, ask, and carry it out; `given` are the other options of the command."""
    as_json = given["as_json"]
    params = {
        "source": source,
        "path": _absolute(path, home),
        "secrets": given.get("secrets", False),
        "off": given.get("off", False),
        "agent": given.get("agent", "main"),
    }
    runs = isinstance(home, RemoteHome) or read_running(home) is not None
    plan = HubClient(home).call("migrate.plan", params, timeout_s=CALL_LIMIT_S) if runs else _here(home, params)
    if not as_json:
        _print_plan(plan, show_all=show_all)
    writes = plan["writes"]
    nothing = not (writes["files"] or writes["areas"] or writes["sessions"])
    if plan_only or nothing:
        if as_json:
            print_json(plan)
        elif nothing:
            click.echo("There is nothing to bring over.")
        return
    if not runs:
        raise CommandFailed(f"the hub does not run; start it and repeat this: {command_on(home, 'homarus start')}")
    if not yes:
        click.confirm("Bring it over?", abort=True, err=True)
    done = HubClient(home).call("migrate.apply", {**params, "digest": plan["digest"]}, timeout_s=CALL_LIMIT_S)
    if as_json:
        print_json(done)
        return
    click.echo("It is here. To take it back: " + command_on(home, "homarus migrate undo"))


def _here(home: Path, params: Mapping[str, Any]) -> dict[str, Any]:
    """Make the plan without a hub."""
    from hub.core.errors import HubError
    from hub.migrate.job import MoveJob, make_plan

    job = MoveJob(
        params["source"],
        params["path"],
        str(home),
        secrets=params["secrets"],
        switched_off=params["off"],
        agent=params["agent"],
    )
    try:
        return asyncio.run(make_plan(job)).as_dict()
    except HubError as error:
        raise CommandFailed(error.message, Exit.FINDINGS, {"code": error.code}) from error


def _absolute(path: str, home: Path) -> str:
    """Return the path on the hub's machine: ours, unless the hub is another one."""
    return path if isinstance(home, RemoteHome) else str(Path(path).expanduser().absolute())


def _print_plan(plan: Mapping[str, Any], *, show_all: bool) -> None:
    click.echo(f"From {plan['path']}:")
    for verdict, told in VERDICTS.items():
        kinds = {kind: found[verdict] for kind, found in plan["counts"].items() if found.get(verdict)}
        if not kinds:
            continue
        click.echo(f"\n{told} ({sum(kinds.values())}): {_sum(kinds)}")
        for kind, count in kinds.items():
            of_kind = [each for each in plan["items"] if (each["kind"], each["verdict"]) == (kind, verdict)]
            if verdict in ("taken", "there") and not show_all:
                continue
            for each in of_kind if show_all else of_kind[:SHOWN_LIMIT]:
                where = f"{each['file']}:{each['line']}" if each["line"] else each["file"]
                click.echo(f"  {kind} {_plain(each['name'])}" + (f"  ({where})" if where else ""))
                for reason in each["reasons"]:
                    click.echo(f"      {_plain(reason)}")
            if count > SHOWN_LIMIT and not show_all:
                click.echo(f"  … {count - SHOWN_LIMIT} more of {kind}; --all lists them")
    writes = plan["writes"]
    click.echo("")
    for name in writes["files"]:
        click.echo(f"Writes {name}")
    if writes["sessions"]:
        click.echo(f"Adds {_count(writes['sessions'], 'conversation')}, archived")
    if writes["secrets"]:
        click.echo(f"Adds to secrets.yaml: {', '.join(writes['secrets'])}")
    for each in (*plan["errors"], *plan["notes"]):
        click.echo(_plain(each))


def _sum(counts: Mapping[str, int]) -> str:
    return ", ".join(_count(count, kind) for kind, count in counts.items())


def _count(count: int, kind: str) -> str:
    return f"{count} {PLURALS.get(kind, f'{kind}s') if count != 1 else WORDS.get(kind, kind)}"


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
