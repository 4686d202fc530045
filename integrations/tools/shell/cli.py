"""`homarus exec`: the commands that are allowed for good, and those that ran."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table


@click.group("exec", cls=Group)
def command() -> None:
    """Show the commands that agents ran, and those that they may run for good.

    Example:
      homarus exec log
    """


@command.command("log")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@home_option
@json_option
def log(limit: int, home: Path, as_json: bool) -> None:
    """List the latest commands: who had them run where, what was decided, and how they ended.

    Example:
      homarus exec log --limit 100
    """
    found = HubClient(home).call("exec.log", {"limit": limit})["commands"]
    if as_json:
        print_json(found)
        return
    rows = [
        (
            datetime.fromtimestamp(each["begun_ms"] / 1000).astimezone().strftime("%m-%d %H:%M:%S"),
            each["principal"],
            each["place"],
            each["verdict"],
            "" if each["exit_code"] is None else str(each["exit_code"]),
            " ".join(each["command"].split())[:80],
        )
        for each in found
    ]
    print_table(rows, ("when", "who", "where", "verdict", "exit", "command"))


@command.group("rules", cls=Group)
def rules() -> None:
    """List and remove the commands that are allowed for good.

    Example:
      homarus exec rules list
    """


@rules.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the commands that you allowed for good, each for one agent and one folder.

    Example:
      homarus exec rules list
    """
    found = HubClient(home).call("exec.rules.list")["rules"]
    if as_json:
        print_json(found)
        return
    rows = [
        (each["id"], each["agent"], shlex.join(each["exactly"]["argv"]), each["exactly"]["workdir"]) for each in found
    ]
    print_table(rows, ("id", "agent", "command", "folder"))


@rules.command("remove")
@click.argument("id")
@home_option
@json_option
def remove(id: str, home: Path, as_json: bool) -> None:
    """Ask about the command with this ID again.

    Example:
      homarus exec rules remove 3fa91c20
    """
    removed = HubClient(home).call("exec.rules.remove", {"id": id})["removed"]
    if as_json:
        print_json(removed)
        return
    click.echo(f"Asked about again: {shlex.join(removed['exactly']['argv'])}")


COMMANDS = {"exec": command}
