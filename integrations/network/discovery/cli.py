"""`homarus discover`: services found in the local network, and a person's decisions about them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
from msgspec.structs import asdict

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.remote import RemoteHome
from hub.integration.catalog import find
from hub.integration.requirements import check_requirements
from hub.storage.instance_lock import read_running


@click.command("discover", cls=CliCommand)
@click.option("--set-up", metavar="ID", help="Write what was found into the configuration; asks for what it needs.")
@click.option("--ignore", metavar="ID", help="Do not suggest it again.")
@click.option("--hubs", is_flag=True, help="Look for hubs alone, from this machine; so it is where no hub runs.")
@home_option
@json_option
def command(set_up: str | None, ignore: str | None, hubs: bool, home: Path, as_json: bool) -> None:
    """List what announces itself in the local network. Nothing is connected to before you set it up.

    Example:
      homarus discover
      homarus discover --set-up 3f2a91c07d5e
      homarus discover --hubs
    """
    changes = set_up is not None or ignore is not None
    if hubs and changes:
        raise CommandFailed("--hubs looks without asking a hub; --set-up and --ignore ask one.", Exit.USAGE)
    if hubs or (not changes and not isinstance(home, RemoteHome) and read_running(home) is None):
        _show_hubs(as_json=as_json)
        return
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
    if changes:
        found = client.call("discovery.list")["found"]
    if as_json:
        print_json({"found": found})
        return
    if not found:
        click.echo("Nothing has announced itself yet.")
        return
    rows = [(each["id"], each["kind"], each["name"], each["at"], each["state"]) for each in found]
    print_table(rows, ("id", "kind", "name", "address", "state"))


def _show_hubs(*, as_json: bool) -> None:
    """Look for hubs, and say how to reach one.

    Raises:
        MissingRequirement: What looks is not installed.
        Unavailable: It does not work here.
    """
    entry = find(None)["discovery"]
    if entry.manifest is not None:
        check_requirements(entry.manifest)
    from integrations.network.discovery.hubs import find_hubs

    found = asyncio.run(find_hubs())
    if as_json:
        print_json({"hubs": [{**asdict(each), "url": each.url} for each in found]})
        return
    if not found:
        click.echo(
            "No hub announces itself in this network. A hub does when it serves its network."
            " (http.host: lan), unless `discovery: {mdns: off}` says otherwise."
        )
        return
    print_table([(each.name, each.url) for each in found], ("hub", "dashboard"))
    safe = next((each for each in found if each.tls), None)
    if safe is not None:
        click.echo(f"\nWith a token of it: homarus --url wss://{safe.address}:{safe.port} --token TOKEN status")
    if not all(each.tls for each in found):
        click.echo("\nOne with http:// takes commands through SSH or TLS alone: docs/remote.md.")


COMMANDS = {"discover": command}
