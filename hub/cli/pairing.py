"""`homarus pairing`: who asks to write to the assistant, and who may."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table


@click.group("pairing", cls=Group)
def command() -> None:
    """Let in those who write to the assistant for the first time.

    A stranger is shown a code. Whoever gives it to you may be let in with it; nobody else sees it.

    Example:
      homarus pairing list
      homarus pairing approve telegram K7WQX2MA
    """


@command.command("list")
@click.argument("channel", required=False)
@click.option("--all", "everything", is_flag=True, help="Who is paired or denied, too.")
@home_option
@json_option
def list_(channel: str | None, everything: bool, home: Path, as_json: bool) -> None:
    """List the requests that wait, of all channels or of CHANNEL.

    Example:
      homarus pairing list telegram --all
    """
    params = {"all": everything} | ({"channel": channel} if channel else {})
    found = HubClient(home).call("pairing.list", params)["requests"]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("No requests are waiting." if not everything else "There were no requests.")
        return
    columns = ("channel", "account", "identity", "name", "state", "asked", "id")
    print_table([_row(each) for each in found], columns)


@command.command("approve")
@click.argument("channel")
@click.argument("code")
@click.option("--person", metavar="ID", help="The person of this home that it is: writes the identity into people.")
@home_option
@json_option
def approve(channel: str, code: str, person: str | None, home: Path, as_json: bool) -> None:
    """Let in whoever was shown CODE on CHANNEL, for direct messages: as a guest, or as a person of this home.

    Example:
      homarus pairing approve telegram K7WQX2MA
      homarus pairing approve telegram K7WQX2MA --person me
    """
    params = {"channel": channel, "code": code} | ({"person": person} if person else {})
    entry = HubClient(home).call("pairing.approve", params)
    text = "{identity} is {person} now." if person else "{identity} may write to the assistant on {channel} now."
    _tell(entry, text, as_json=as_json)


@command.command("deny")
@click.argument("channel")
@click.argument("code")
@home_option
@json_option
def deny(channel: str, code: str, home: Path, as_json: bool) -> None:
    """Refuse the request with CODE (or its id); whoever asked is not answered again.

    Example:
      homarus pairing deny telegram K7WQX2MA
    """
    entry = HubClient(home).call("pairing.deny", {"channel": channel, "code": code})
    _tell(entry, "{identity} is not let in on {channel}.", as_json=as_json)


@command.command("revoke")
@click.argument("channel")
@click.argument("identity")
@home_option
@json_option
def revoke(channel: str, identity: str, home: Path, as_json: bool) -> None:
    """Forget that IDENTITY is paired, or denied, on CHANNEL.

    Example:
      homarus pairing revoke telegram telegram:user:123456789
    """
    answer = HubClient(home).call("pairing.revoke", {"channel": channel, "identity": identity})
    _tell(answer["revoked"][0], "{identity} is a stranger on {channel} again.", as_json=as_json)


def _tell(entry: Mapping[str, Any], told: str, *, as_json: bool) -> None:
    if as_json:
        print_json(entry)
        return
    click.echo(told.format(**entry))


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    asked = datetime.fromtimestamp(entry["createdAtMs"] / 1_000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    facts = (entry[key] for key in ("channel", "account", "identity", "name", "state"))
    return (*facts, asked, entry["id"])
