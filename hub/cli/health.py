"""`homarus health`: whether the hub is well, in a line, for people and for what watches it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json
from hub.cli.times import duration


@click.command("health", cls=CliCommand)
@click.option("--timeout", "timeout_s", type=float, default=10.0, show_default=True, help="Seconds to wait.")
@home_option
@json_option
def command(timeout_s: float, home: Path, as_json: bool) -> None:
    """Ask the running hub whether it is well. Exits 1 when it is not, or when a channel is not connected.

    Example:
      homarus health
      homarus health --json --timeout 3
    """
    client = HubClient(home)
    found = client.call("health", timeout_s=timeout_s)
    cut_off = list(_cut_off(client.call("channels.status", timeout_s=timeout_s))) if found["ok"] else []
    if as_json:
        print_json(found | {"disconnected": cut_off})
    else:
        click.echo(f"{found['state']}, up {duration(found['uptimeMs'] / 1000)}, {_count(found['repairs'], 'repair')}")
        for each in cut_off:
            click.echo(f"{each['channel']} ({each['account']}) is {each['state']}. {each['error'] or ''}".rstrip())
    if not found["ok"] or cut_off:
        raise click.exceptions.Exit(Exit.FINDINGS)


def _cut_off(status: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the accounts that are not connected."""
    for channel, accounts in status["channelAccounts"].items():
        for each in accounts:
            if not each["connected"]:
                of = {"channel": channel, "account": each["accountId"]}
                yield of | {"state": each["state"], "error": each["lastError"]}


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
