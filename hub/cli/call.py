"""`homarus call`: any gateway method, for scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hub.cli.client import CALL_LIMIT_S, HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json


@click.command("call", cls=CliCommand)
@click.argument("method", required=False)
@click.option("--params", metavar="JSON", default="{}", help="Parameters, a JSON object.")
@click.option("--timeout", "timeout_s", type=float, default=CALL_LIMIT_S, show_default=True, help="Seconds to wait.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of METHOD's parameters, or of the whole protocol.")
@home_option
@json_option
def command(method: str | None, params: str, timeout_s: float, schema: bool, home: Path, as_json: bool) -> None:
    """Call METHOD of the running hub and print its payload as JSON.

    Example:
      homarus call chat.history --params '{"sessionKey": "main", "limit": 5}'
      homarus call chat.send --schema
      homarus call --schema > protocol.schema.json
    """
    if schema:
        print_json(_schema(HubClient(home).call("protocol.schema", timeout_s=timeout_s), method))
        return
    if method is None:
        raise CommandFailed("Say which METHOD; `homarus call --schema` describes them all.", Exit.USAGE)
    try:
        parsed = json.loads(params)
    except ValueError as error:
        raise CommandFailed(f"--params is not JSON: {error}", Exit.USAGE) from error
    if not isinstance(parsed, dict):
        raise CommandFailed('--params must be a JSON object, such as {"limit": 5}', Exit.USAGE)
    print_json(HubClient(home).call(method, parsed, timeout_s=timeout_s))


def _schema(protocol: dict[str, Any], method: str | None) -> dict[str, Any]:
    """Return the schema of the protocol, or of one method's parameters."""
    if method is None:
        return protocol
    known = protocol["x-methods"].get(method)
    if known is None:
        raise CommandFailed(f"There is no method {method}; `homarus call --schema` names them all.", Exit.USAGE)
    found: dict[str, Any] = protocol["$defs"][known["params"]["$ref"].rpartition("/")[2]]
    return found
