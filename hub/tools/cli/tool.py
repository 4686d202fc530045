"""`homarus tool run`: one tool, used as an agent would use it."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import Group
from hub.cli.json_argument import json_object
from hub.cli.options import home_option, json_option, print_json

RUN_S = 3_600.0
"""A call may wait for an approval, and then take its time."""


@click.group("tool", cls=Group)
def command() -> None:
    """Use a tool as an agent would, under the same rules.

    Example:
      homarus tool run ls
    """


@command.command("run")
@click.argument("name")
@click.option("--args", "arguments", metavar="JSON", default="{}", help="Arguments, a JSON object.")
@click.option("--session", metavar="KEY", help="In this session; the default agent's main one without it.")
@click.option("--no-wait", is_flag=True, help="Do not wait when it takes an approval; it is done once approved.")
@home_option
@json_option
def run(home: Path, as_json: bool, name: str, arguments: str, session: str | None, no_wait: bool) -> None:
    """Use the tool NAME in a session, with its rules, approvals and words from outside.

    Example:
      homarus tool run exec --args '{"command": "date"}'
    """
    params = {"name": name, "args": json_object(arguments, "--args"), "wait": not no_wait}
    answer = HubClient(home).call("tools.run", params | ({"sessionKey": session} if session else {}), timeout_s=RUN_S)
    if as_json:
        print_json(answer)
    elif answer["status"] == "approval_required":
        click.echo(f"This waits for an approval: homarus approvals approve {answer['approval_id']}")
    else:
        click.echo(answer["output"])
    if answer["status"] in ("denied", "error"):
        raise click.exceptions.Exit(Exit.NOT_AUTHORISED if answer["status"] == "denied" else Exit.FINDINGS)
