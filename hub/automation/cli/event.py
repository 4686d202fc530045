"""`homarus event`: make an event up."""

from __future__ import annotations

from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.json_argument import as_object
from hub.cli.verbs import Answer, verb


@click.group("event", cls=Group)
def command() -> None:
    """Fire events, for automations to act on.

    Example:
      homarus event fire doorbell_pressed --data '{"door": "front"}'
    """


@verb(command)
@click.argument("type_", metavar="TYPE")
@click.option("--data", metavar="JSON", default="{}", callback=as_object, help="Its data, a JSON object.")
def fire(client: HubClient, type_: str, data: dict[str, Any]) -> Answer:
    """Fire an event of the type TYPE; the hub's own types are refused.

    Example:
      homarus event fire doorbell_pressed --data '{"door": "front"}'
    """
    return client.call("event.fire", {"type": type_, "data": data}), f"{type_} was fired."
