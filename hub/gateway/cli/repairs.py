"""`homarus repairs`: the open problems of the running hub, and what mends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.verbs import Answer, verb

_ID = click.argument("id", metavar="ID")


@click.group("repairs", cls=Group)
def command() -> None:
    """List the open problems, mend those that a known change mends, and hide others.

    Example:
      homarus repairs list
    """


@verb(command, columns=("id", "problem", "fix"), empty="Nothing needs repair.")
@click.option("--all", "every", is_flag=True, help="Those that are hidden too.")
def list_(client: HubClient, every: bool) -> Answer:
    """List the open problems, the worst first.

    Example:
      homarus repairs list --json
    """
    found = [each for each in client.call("repairs.list")["repairs"] if every or not each["ignored"]]
    return found, [(_id(each), each["title"], each["fix"] or each["command"] or "") for each in found]


@verb(command)
@_ID
def fix(client: HubClient, id: str) -> Answer:
    """Mend a problem by the change that is known for it.

    Example:
      homarus repairs fix config/restart
    """
    answer = client.call("repairs.fix", _named(client, id))
    return answer, "It is still open; see: homarus repairs list" if answer["open"] else "Mended."


@verb(command)
@_ID
@click.option("--off", is_flag=True, help="Show it again.")
def ignore(client: HubClient, id: str, off: bool) -> Answer:
    """Hide a problem until it says something else.

    Example:
      homarus repairs ignore config/restart
    """
    answer = client.call("repairs.ignore", _named(client, id) | {"ignored": not off})
    return answer, f"{id} is {'shown again' if off else 'hidden'}."


def _named(client: HubClient, id: str) -> dict[str, str]:
    found = next((each for each in client.call("repairs.list")["repairs"] if _id(each) == id), None)
    if found is None:
        raise CommandFailed(f"There is no open problem {id}. See: homarus repairs list", Exit.FINDINGS)
    return {"source": found["source"], "id": found["id"]}


def _id(repair: Mapping[str, Any]) -> str:
    return f"{repair['source']}/{repair['id']}"
