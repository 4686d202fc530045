"""`homarus discover`: services found in the local network, and a person's decisions about them."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json, print_table


@click.command("discover", cls=CliCommand)
@click.option("--set-up", metavar="ID", help="Write what was found into the configuration; asks for what it needs.")
@click.option("--ignore", metavar="ID", help="Do not suggest it again.")
@home_option
@json_option
def command(set_up: str | None, ignore: str | None, home: Path, as_json: bool) -> None:
    """List what announces itself in the local network. Nothing is connected to before you set it up.

    Example:
      homarus discover
      homarus discover --set-up 3f2a91c07d5e
    """
    client = HubClient(home)
    found = client.call("discovery.list")["found"]
    if ignore is not None:
        client.call("discovery.ignore", {"id": ignore})
    if set_up is not None:
        chosen = next((each for each in found if each["id"] == set_up), None)
        if chosen is None:
            raise CommandFailed(f"Nothing with the id {set_up} was found.", Exit.FINDINGS)
        secrets = {each: click.prompt(each, hide_input=True, err=True) for each in chosen["secrets"]}
        client.call("discovery.set_up", {"id": set_up, "secrets": secrets})
    if ignore is not None or set_up is not None:
        found = client.call("discovery.list")["found"]
    if as_json:
        print_json({"found": found})
        return
    if not found:
        click.echo("Nothing has announced itself yet.")
        return
    rows = [(each["id"], each["kind"], each["name"], each["at"], each["state"]) for each in found]
    print_table(rows, ("id", "kind", "name", "address", "state"))


COMMANDS = {"discover": command}
