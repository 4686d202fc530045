"""`homarus call`: any gateway method, for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hub.cli.client import CALL_LIMIT_S, HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json


@click.command("call", cls=CliCommand)
@click.argument("method")
@click.option("--params", metavar="JSON", default="{}", help="Parameters, a JSON object.")
@click.option("--timeout", "timeout_s", type=float, default=CALL_LIMIT_S, show_default=True, help="Seconds to wait.")
@home_option
@json_option
def command(method: str, params: str, timeout_s: float, home: Path, as_json: bool) -> None:
    """Call METHOD of the running hub and print its payload as JSON.

    Example:
      homarus call chat.history --params '{"sessionKey": "main", "limit": 5}'
    """
    try:
        parsed = json.loads(params)
    except ValueError as error:
        raise CommandFailed(f"--params is not JSON: {error}", Exit.USAGE) from error
    if not isinstance(parsed, dict):
        raise CommandFailed('--params must be a JSON object, such as {"limit": 5}', Exit.USAGE)
    print_json(HubClient(home).call(method, parsed, timeout_s=timeout_s))
