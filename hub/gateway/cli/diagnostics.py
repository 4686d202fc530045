"""`homarus diagnostics`: a file that helps another person to find a fault."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json


@click.command("diagnostics", cls=CliCommand)
@click.option("--output", "-o", default="homarus-diagnostics.json", show_default=True, help="The file.")
@home_option
@json_option
def command(output: str, home: Path, as_json: bool) -> None:
    """Write a file for a report of a fault: versions, configuration, repairs, log and metrics.

    Secrets are taken out, and so are names, addresses and other texts of your configuration. Read it before you give
    it away. With --json it is printed.

    Example:
      homarus diagnostics -o report.json
    """
    bundle = HubClient(home).call("diagnostics.bundle")
    if as_json:
        print_json(bundle)
        return
    try:
        Path(output).write_text(json.dumps(bundle, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{output}: {error.strerror}; name another file with --output") from error
    click.echo(f"{output}: read it before you give it away.")
