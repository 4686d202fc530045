"""`homarus state`: what each entity is like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.json_argument import json_object
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.traces import when


@click.group("state", cls=Group)
def command() -> None:
    """Show and set the states of entities.

    Example:
      homarus state get person.anna
      homarus state set light.kitchen on
    """


@command.command("list")
@click.option("--domain", metavar="NAME", help="Only those of this domain.")
@home_option
@json_option
def list_(domain: str | None, home: Path, as_json: bool) -> None:
    """List the entities and their states.

    Example:
      homarus state list --domain automation
    """
    found = HubClient(home).call("state.list", {"domain": domain} if domain else {})["states"]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("There are no entities.")
        return
    print_table(
        [(each["entity_id"], each["state"], when(each["last_changed"])) for each in found],
        ("entity", "state", "since"),
    )


@command.command("get")
@click.argument("entity")
@home_option
@json_option
def get(entity: str, home: Path, as_json: bool) -> None:
    """Show the state of ENTITY and its attributes.

    Example:
      homarus state get light.kitchen --json
    """
    found = HubClient(home).call("state.get", {"entity_id": entity})
    print_json(found) if as_json else _print(found)


@command.command("set")
@click.argument("entity")
@click.argument("state")
@click.option("--attributes", metavar="JSON", help="All its attributes, a JSON object; without it they stay.")
@home_option
@json_option
def set_(entity: str, state: str, attributes: str | None, home: Path, as_json: bool) -> None:
    """Set the state of ENTITY to STATE in the hub; the device itself is not switched.

    Example:
      homarus state set sensor.outside 21.5 --attributes '{"unit": "C"}'
    """
    params: dict[str, Any] = {"entity_id": entity, "state": state}
    if attributes is not None:
        params["attributes"] = json_object(attributes, "--attributes")
    found = HubClient(home).call("state.set", params)
    print_json(found) if as_json else _print(found)


@command.command("remove")
@click.argument("entity")
@home_option
@json_option
def remove(entity: str, home: Path, as_json: bool) -> None:
    """Remove ENTITY from the states.

    Example:
      homarus state remove sensor.outside
    """
    answer = HubClient(home).call("state.remove", {"entity_id": entity})
    print_json(answer) if as_json else click.echo(f"{entity} is removed.")


def _print(found: dict[str, Any]) -> None:
    click.echo(f"{found['entity_id']}: {found['state']}  (since {when(found['last_changed'])})")
    for name, value in found["attributes"].items():
        click.echo(f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
