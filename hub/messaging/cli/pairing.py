"""`homarus pairing`: requests to write to the assistant, and those who may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.times import SECOND, local_time
from hub.cli.verbs import Answer, verb


@click.group("pairing", cls=Group)
def command() -> None:
    """Let in those who write to the assistant for the first time.

    A stranger is shown a code. Whoever gives it to you can be let in with it; nobody else sees it.

    Example:
      homarus pairing list
      homarus pairing approve telegram K7WQX2MA
    """


@verb(command, columns=("channel", "account", "identity", "name", "state", "asked", "id"))
@click.argument("channel", required=False)
@click.option("--all", "everything", is_flag=True, help="Who is paired or denied, too.")
def list_(client: HubClient, channel: str | None, everything: bool) -> Answer:
    """List the requests that wait, of all channels or of CHANNEL.

    Example:
      homarus pairing list telegram --all
    """
    params = {"all": everything} | ({"channel": channel} if channel else {})
    found = client.call("pairing.list", params)["requests"]
    none = "No requests are waiting." if not everything else "There were no requests."
    return found, [_row(each) for each in found] or none


@verb(command)
@click.argument("channel")
@click.argument("code")
@click.option("--person", metavar="ID", help="The person of this home that it is: writes the identity into people.")
def approve(client: HubClient, channel: str, code: str, person: str | None) -> Answer:
    """Let in whoever was shown CODE on CHANNEL, for direct messages: as a guest, or as a person of this home.

    Example:
      homarus pairing approve telegram K7WQX2MA
      homarus pairing approve telegram K7WQX2MA --person me
    """
    params = {"channel": channel, "code": code} | ({"person": person} if person else {})
    entry = client.call("pairing.approve", params)
    does = f"is {entry['person']} now" if person else f"may write to the assistant on {entry['channel']} now"
    return entry, f"{entry['identity']} {does}."


@verb(command)
@click.argument("channel")
@click.argument("code")
def deny(client: HubClient, channel: str, code: str) -> Answer:
    """Refuse the request with CODE (or its id); whoever asked is not answered again.

    Example:
      homarus pairing deny telegram K7WQX2MA
    """
    entry = client.call("pairing.deny", {"channel": channel, "code": code})
    return entry, f"{entry['identity']} is not let in on {entry['channel']}."


@verb(command)
@click.argument("channel")
@click.argument("identity")
def revoke(client: HubClient, channel: str, identity: str) -> Answer:
    """Forget that IDENTITY is paired, or denied, on CHANNEL.

    Example:
      homarus pairing revoke telegram telegram:user:123456789
    """
    entry = client.call("pairing.revoke", {"channel": channel, "identity": identity})["revoked"][0]
    return entry, f"{entry['identity']} is a stranger on {entry['channel']} again."


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    asked = local_time(entry["createdAtMs"], SECOND)
    facts = (entry[key] for key in ("channel", "account", "identity", "name", "state"))
    return (*facts, asked, entry["id"])
