"""`homarus event`: make an event up."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.json_argument import json_object
from hub.cli.options import home_option, json_option, print_json


@click.group("event", cls=Group)
def command() -> None:
    """Fire events, for automations to act on.

    Example:
      homarus event fire doorbell_pressed --data '{"door": "front"}'
    """


@command.command("fire")
@click.argument("type_", metavar="TYPE")
@click.option("--data", metavar="JSON", default="{}", help="Its data, a JSON object.")
@home_option
@json_option
def fire(type_: str, data: str, home: Path, as_json: bool) -> None:
    """Fire an event of the type TYPE; the hub's own types are refused.

    Example:
      homarus event fire doorbell_pressed --data '{"door": "front"}'
    """
    params = {"type": type_, "data": json_object(data, "--data")}
    answer = HubClient(home).call("event.fire", params)
    print_json(answer) if as_json else click.echo(f"{type_} was fired.")
