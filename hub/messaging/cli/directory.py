"""`homarus directory`: people, groups and rooms by name, over all channels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.times import local_time

COLUMNS = ("name", "to", "kind", "last heard")
EMPTY = "Nobody is known. Who writes to the assistant, and is let in, is listed here."
_KINDS = {"people": "direct", "groups": "group", "rooms": "channel"}


@click.command("directory", cls=CliCommand)
@click.argument("query", metavar="[NAME]", required=False)
@click.option("--channel", metavar="CHANNEL", help="Only of this channel.")
@click.option("--kind", type=click.Choice(list(_KINDS)), help="Only these.")
@home_option
@json_option
def command(query: str | None, channel: str | None, kind: str | None, home: Path, as_json: bool) -> None:
    """List people, groups and rooms over all channels; with NAME, those called so.

    With NAME, the platforms are asked too for those that never wrote, where they have a directory. `message send --to`
    takes a name that only one of them has.

    Example:
      homarus directory
      homarus directory anna
      homarus directory family --kind groups
    """
    chats = listed(HubClient(home), query, channel, platforms=bool(query))
    chats = [each for each in chats if kind is None or each["kind"] == _KINDS[kind]]
    if as_json:
        print_json(chats)
    elif chats:
        print_table(rows(chats), COLUMNS)
    else:
        click.echo("Nobody is called so." if query else EMPTY)


def listed(client: HubClient, query: str | None, channel: str | None, *, platforms: bool) -> list[dict[str, Any]]:
    """Return what the directory has; which platforms did not answer goes to the error stream."""
    asked = {"query": query or "", "platforms": platforms, **({"channel": channel} if channel else {})}
    found = client.call("channels.directory", asked)
    for each in found.get("problems", ()):
        click.echo(f"{each['channel']} ({each['accountId']}): {each['error']}", err=True)
    if platforms and not found["asked"]:
        click.echo("No channel here has a directory to look in; only those who wrote are listed.", err=True)
    chats: list[dict[str, Any]] = found["chats"]
    return chats


def rows(chats: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows of a table of chats."""
    return [_row(each) for each in chats]


def _row(chat: Mapping[str, Any]) -> tuple[str, ...]:
    name = " · ".join(filter(None, (chat["space"], chat["name"])))
    return name, chat["to"], chat["kind"], local_time(chat["lastHeardAtMs"])
