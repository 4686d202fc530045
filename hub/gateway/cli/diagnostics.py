"""`homarus diagnostics`: a file that helps another person to find a fault."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed
from hub.cli.groups import CliCommand
from hub.cli.options import home_option


@click.command("diagnostics", cls=CliCommand)
@click.option("--output", "-o", default="homarus-diagnostics.json", show_default=True, help="The file; - is stdout.")
@home_option
def command(output: str, home: Path) -> None:
    """Write a file for a report of a fault: versions, configuration, repairs, log and metrics.

    Secrets are taken out, and so are names, addresses and other texts of your configuration. Read it before you give
    it away.

    Example:
      homarus diagnostics -o report.json
    """
    text = json.dumps(HubClient(home).call("diagnostics.bundle"), ensure_ascii=False, indent=2) + "\n"
    if output == "-":
        sys.stdout.write(text)
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{output}: {error.strerror}; name another file with --output") from error
    click.echo(f"{output}: read it before you give it away.")
