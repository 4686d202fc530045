"""`homarus state`: the states of entities."""

from __future__ import annotations

import json
from typing import Any

import click

from hub.automation.cli.traces import when
from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.json_argument import as_object
from hub.cli.verbs import Answer, verb


@click.group("state", cls=Group)
def command() -> None:
    """Show and set the states of entities.

    Example:
      homarus state get person.anna
      homarus state set light.kitchen on
    """


@verb(command, columns=("entity", "state", "since"), empty="There are no entities.")
@click.option("--domain", metavar="NAME", help="Only those of this domain.")
def list_(client: HubClient, domain: str | None) -> Answer:
    """List the entities and their states.

    Example:
      homarus state list --domain automation
    """
    found = client.call("state.list", {"domain": domain} if domain else {})["states"]
    return found, [(each["entity_id"], each["state"], when(each["last_changed"])) for each in found]


@verb(command)
@click.argument("entity")
def get(client: HubClient, entity: str) -> Answer:
    """Show the state of ENTITY and its attributes.

    Example:
      homarus state get light.kitchen --json
    """
    return _told(client.call("state.get", {"entity_id": entity}))


@verb(command)
@click.argument("entity")
@click.argument("state")
@click.option(
    "--attributes", metavar="JSON", callback=as_object, help="All its attributes, a JSON object; without it they stay."
)
def set_(client: HubClient, entity: str, state: str, attributes: dict[str, Any] | None) -> Answer:
    """Set the state of ENTITY to STATE in the hub; the device itself is not switched.

    Example:
      homarus state set sensor.outside 21.5 --attributes '{"unit": "C"}'
    """
    params: dict[str, Any] = {"entity_id": entity, "state": state}
    if attributes is not None:
        params["attributes"] = attributes
    return _told(client.call("state.set", params))


@verb(command)
@click.argument("entity")
def remove(client: HubClient, entity: str) -> Answer:
    """Remove ENTITY from the states.

    Example:
      homarus state remove sensor.outside
    """
    answer = client.call("state.remove", {"entity_id": entity})
    return answer, f"{entity} is removed."


def _told(found: dict[str, Any]) -> Answer:
    lines = [f"{found['entity_id']}: {found['state']}  (since {when(found['last_changed'])})"]
    for name, value in found["attributes"].items():
        lines.append(f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return found, "\n".join(lines)
