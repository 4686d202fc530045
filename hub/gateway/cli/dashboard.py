"""`homarus dashboard`: a link that signs in to the dashboard."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json


@click.command("dashboard", cls=CliCommand)
@click.option("--open", "open_", is_flag=True, help="Open it in the browser of this machine.")
@home_option
@json_option
def command(open_: bool, home: Path, as_json: bool) -> None:
    """Print a link that signs in to the dashboard, once.

    Example:
      homarus dashboard --open
    """
    link = HubClient(home).call("dashboard.link")
    if as_json:
        print_json(link)
        return
    click.echo(link["url"])
    click.echo(
        f"It signs in once, within {int(link['valid_s'] // 60)} minutes. Or type the code at "
        f"{link['url'].partition('#')[0]}: {link['code']}",
        err=True,
    )
    if open_:
        click.launch(link["url"])
