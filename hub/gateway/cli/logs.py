"""`homarus logs`: the log of the running hub."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import CliCommand
from hub.cli.options import WholeNumber, home_option, json_option, print_json

POLL_S = 1.0
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@click.command("logs", cls=CliCommand)
@click.option("--lines", "-n", type=WholeNumber(1, 5_000), default=100, show_default=True, help="How many.")
@click.option("--follow", "-f", is_flag=True, help="Go on showing new lines until stopped.")
@click.option("--level", type=click.Choice(LEVELS, case_sensitive=False), help="This level and above.")
@click.option("--part", help="One part, such as hub.messaging or telegram.")
@home_option
@json_option
def command(lines: int, follow: bool, level: str | None, part: str | None, home: Path, as_json: bool) -> None:
    """Show the latest lines of the log; secrets are redacted.

    With --json they come as a list, and with --follow too as one JSON string a line.

    Example:
      homarus logs -f
      homarus logs --level warning --part messaging
    """
    client = HubClient(home)
    wanted = {name: value for name, value in (("level", level), ("part", part)) if value}
    answer = client.call("logs.tail", {"limit": lines, **wanted})
    if as_json and not follow:
        print_json(answer["lines"])
        return
    while True:
        for line in answer["lines"]:
            click.echo(json.dumps(line, ensure_ascii=False) if as_json else line)
        if not follow:
            return
        time.sleep(POLL_S)
        answer = client.call("logs.tail", {"cursor": answer["cursor"], **wanted})
