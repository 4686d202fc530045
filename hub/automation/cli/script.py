"""`homarus script`: sequences of actions by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from hub.automation.cli.traces import when
from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.json_argument import as_object
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.verbs import Answer, verb

RUN_LIMIT_S = 3_630.0


@click.group("script", cls=Group)
def command() -> None:
    """List and run scripts.

    Example:
      homarus script list
      homarus script run good_night
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the scripts, their fields and last runs.

    Example:
      homarus script list
    """
    found = HubClient(home).call("script.list")["scripts"]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("No scripts yet. Write one into scripts.yaml.")
        return
    rows = [
        (each["id"], each["state"], when(each["last_triggered"]), ", ".join(each["fields"]), each["alias"])
        for each in found
    ]
    print_table(rows, ("id", "state", "last run", "takes", "name"))
    for each in found:
        if each["error"]:
            click.echo(f"\n{each['id']}: {each['error']}")


@verb(command)
@click.argument("name", metavar="ID")
@click.option("--data", metavar="JSON", default="{}", callback=as_object, help="Its fields, a JSON object.")
@click.option("--no-wait", is_flag=True, help="Do not wait for its end.")
def run(client: HubClient, name: str, data: dict[str, Any], no_wait: bool) -> Answer:
    """Run the script ID and print its response.

    Example:
      homarus script run good_night --data '{"room": "kitchen"}'
    """
    answer = client.call("script.run", {"id": name, "data": data, "wait": not no_wait}, timeout_s=RUN_LIMIT_S)
    told = f"{answer['id']} {'was begun' if no_wait else 'ran'}."
    return answer, partial(print_json, answer["response"]) if answer["response"] else told
