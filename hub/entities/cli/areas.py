"""`homarus areas`: the floors, areas and labels of the home."""

from __future__ import annotations

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.verbs import Answer, verb


@click.group("areas", cls=Group)
def command() -> None:
    """List, add and remove areas, floors and labels.

    Example:
      homarus areas add Kitchen
      homarus areas list
    """


@verb(command, columns=("kind", "id", "name"))
def list_(client: HubClient) -> Answer:
    """List floors, areas and labels.

    Example:
      homarus areas list
    """
    found = client.call("areas.list")
    rows = [(kind, each["id"], each["name"]) for kind in ("floor", "area", "label") for each in found[f"{kind}s"]]
    return found, rows


_KIND = click.option("--kind", type=click.Choice(["area", "floor", "label"]), default="area", help="What it is.")


@verb(command)
@click.argument("name")
@_KIND
@click.option("--floor", help="The floor an area is on.")
def add(client: HubClient, name: str, kind: str, floor: str | None) -> Answer:
    """Add an area, a floor or a label.

    Example:
      homarus areas add Kitchen --floor ground_floor
    """
    params = {"kind": kind, "name": name, **({"floor_id": floor} if floor else {})}
    made = client.call("areas.create", params)[kind]
    return made, f"{made['name']} is {made['id']}."


@verb(command)
@click.argument("id")
@_KIND
def remove(client: HubClient, id: str, kind: str) -> Answer:
    """Remove an area, a floor or a label; what was in it then has no place.

    Example:
      homarus areas remove kitchen
    """
    return client.call("areas.remove", {"kind": kind, "id": id}), f"{id} was removed."
