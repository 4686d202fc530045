"""`homarus entities`: the entities of the home, their names, and what agents see of them."""

from __future__ import annotations

from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.verbs import Answer, verb

_ENTITY = click.argument("entity_id", metavar="ENTITY")


@click.group("entities", cls=Group)
def command() -> None:
    """List entities, and decide their names, their places and what agents see.

    Example:
      homarus entities list --area kitchen
      homarus entities rename switch.desk_plug Kettle
    """


@verb(command, columns=("entity", "name", "state", "area", "to agents"))
@click.option("--domain", help="Those of one domain.")
@click.option("--area", help="Those of one area.")
def list_(client: HubClient, domain: str | None, area: str | None) -> Answer:
    """List entities with their state and their area.

    Example:
      homarus entities list --domain light
    """
    params = {key: value for key, value in (("domain", domain), ("area_id", area)) if value}
    found = client.call("entities.list", params)["entities"]
    return found, [
        (
            each["entity_id"],
            each["shown_name"],
            f"{each['state'] if each['state'] is not None else '-'} {each['unit'] or ''}".strip(),
            each["area"] or "",
            "exposed" if each["is_exposed"] else "",
        )
        for each in found
    ]


@verb(command, columns=("id", "name"), empty="Nothing is new.")
def new(client: HubClient) -> Answer:
    """List devices that announced themselves and that agents may not use yet.

    Example:
      homarus entities new
    """
    found = client.call("entities.new")["new"]
    return found, [(each["id"], each["name"]) for each in found]


@verb(command)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "all_", is_flag=True, help="All that are new.")
def accept(client: HubClient, ids: tuple[str, ...], all_: bool) -> Answer:
    """Let agents use new devices; `homarus entities new` lists their ids.

    Example:
      homarus entities accept --all
    """
    if bool(ids) is all_:
        raise click.UsageError("give the ids of the devices, or --all")
    accepted = client.call("entities.accept", {"ids": list(ids)} if ids else {})
    return accepted, f"Agents may use now: {', '.join(accepted['accepted']) or 'nothing that they could not before'}."


@verb(command)
@_ENTITY
@click.argument("name")
@click.option("--id", "new_id", help="Its new entity id.")
def rename(client: HubClient, entity_id: str, name: str, new_id: str | None) -> Answer:
    """Give an entity another name; an empty one is that of its device.

    Example:
      homarus entities rename switch.desk_plug Kettle --id switch.kettle
    """
    return _update(client, entity_id, name=name, **({"new_entity_id": new_id} if new_id else {}))


@verb(command)
@_ENTITY
@click.option("--off", is_flag=True, help="Take it away from agents.")
def expose(client: HubClient, entity_id: str, off: bool) -> Answer:
    """Let agents see and control an entity, or not.

    Example:
      homarus entities expose lock.front_door --off
    """
    return _update(client, entity_id, exposed=not off)


@verb(command)
@_ENTITY
@click.argument("area")
def move(client: HubClient, entity_id: str, area: str) -> Answer:
    """Put an entity in an area, by its id; an empty one is that of its device.

    Example:
      homarus entities move light.counter kitchen
    """
    return _update(client, entity_id, area_id=area)


@verb(command)
@_ENTITY
def remove(client: HubClient, entity_id: str) -> Answer:
    """Remove an entity that no longer exists, with the decisions about it.

    Example:
      homarus entities remove switch.old_plug
    """
    return client.call("entities.remove", {"entity_id": entity_id}), f"{entity_id} was removed."


def _update(client: HubClient, entity_id: str, **changes: Any) -> Answer:
    entity = client.call("entities.update", {"entity_id": entity_id, **changes})["entity"]
    seen = "seen by agents" if entity["is_exposed"] else "not seen by agents"
    return entity, f"{entity['entity_id']}: {entity['shown_name']}, {entity['area'] or 'in no area'}, {seen}."
