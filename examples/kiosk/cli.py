"""A command of `homarus`. The manifest names it in `cli`.

`homarus kiosk Ada` runs it, whether or not the hub runs; this file is imported only then, and imports nothing relative.
`hub.cli.client.HubClient` asks a hub that runs.
"""

from __future__ import annotations

import click


@click.command("kiosk")
@click.argument("name")
def greet(name: str) -> None:
    """Greet someone."""
    click.echo(f"Hello, {name}!")


COMMANDS = {"kiosk": greet}
