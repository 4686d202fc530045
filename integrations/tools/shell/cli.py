"""`homarus exec`: the commands that are allowed for good, and those that ran."""

from __future__ import annotations

import shlex

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.times import local_time
from hub.cli.verbs import Answer, verb


@click.group("exec", cls=Group)
def command() -> None:
    """Show the commands that agents ran, and those that they may run for good.

    Example:
      homarus exec log
    """


@verb(command, columns=("when", "who", "where", "verdict", "exit", "command"))
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
def log(client: HubClient, limit: int) -> Answer:
    """List the latest commands: who had them run where, the decision, and how they ended.

    Example:
      homarus exec log --limit 100
    """
    found = client.call("exec.log", {"limit": limit})["commands"]
    return found, [
        (
            local_time(each["begun_ms"], "%m-%d %H:%M:%S"),
            each["principal"],
            each["place"],
            each["verdict"],
            "" if each["exit_code"] is None else str(each["exit_code"]),
            " ".join(each["command"].split())[:80],
        )
        for each in found
    ]


@command.group("rules", cls=Group)
def rules() -> None:
    """List and remove the commands that are allowed for good.

    Example:
      homarus exec rules list
    """


@verb(rules, columns=("id", "agent", "command", "folder"))
def list_(client: HubClient) -> Answer:
    """List the commands that you allowed for good, each for one agent and one folder.

    Example:
      homarus exec rules list
    """
    found = client.call("exec.rules.list")["rules"]
    return found, [
        (each["id"], each["agent"], shlex.join(each["exactly"]["argv"]), each["exactly"]["workdir"]) for each in found
    ]


@verb(rules)
@click.argument("id")
def remove(client: HubClient, id: str) -> Answer:
    """Ask about the command with this ID again.

    Example:
      homarus exec rules remove 3fa91c20
    """
    removed = client.call("exec.rules.remove", {"id": id})["removed"]
    return removed, f"Asked about again: {shlex.join(removed['exactly']['argv'])}"


COMMANDS = {"exec": command}
