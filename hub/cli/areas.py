"""`homarus areas`: the floors, areas and labels of the home."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table


@click.group("areas", cls=Group)
def command() -> None:
    """List, add and remove areas, floors and labels.

    Example:
      homarus areas add Kitchen
      homarus areas list
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List floors, areas and labels.

    Example:
      homarus areas list
    """
    found = HubClient(home).call("areas.list")
    if as_json:
        print_json(found)
        return
    rows = [(kind, each["id"], each["name"]) for kind in ("floor", "area", "label") for each in found[f"{kind}s"]]
    print_table(rows, ("kind", "id", "name"))


_KIND = click.option("--kind", type=click.Choice(["area", "floor", "label"]), default="area", help="What it is.")


@command.command("add")
@click.argument("name")
@_KIND
@click.option("--floor", help="The floor an area is on.")
@home_option
@json_option
def add(name: str, kind: str, floor: str | None, home: Path, as_json: bool) -> None:
    """Add an area, a floor or a label.

    Example:
      homarus areas add Kitchen --floor ground_floor
    """
    params = {"kind": kind, "name": name, **({"floor_id": floor} if floor else {})}
    made = HubClient(home).call("areas.create", params)[kind]
    print_json(made) if as_json else click.echo(f"{made['name']} is {made['id']}.")


@command.command("remove")
@click.argument("id")
@_KIND
@home_option
@json_option
def remove(id: str, kind: str, home: Path, as_json: bool) -> None:
    """Remove an area, a floor or a label; what was in it is then nowhere.

    Example:
      homarus areas remove kitchen
    """
    answer = HubClient(home).call("areas.remove", {"kind": kind, "id": id})
    print_json(answer) if as_json else click.echo(f"{id} was removed.")
