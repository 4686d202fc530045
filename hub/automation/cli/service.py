"""`homarus service`: what can be done in this home, by name."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.json_argument import json_object
from hub.cli.options import home_option, json_option, print_json
from hub.cli.verbs import Answer, verb

CALL_LIMIT_S = 330.0
"""A service may take five minutes; the hub says so when it takes longer."""


@click.group("service", cls=Group)
def command() -> None:
    """List and call services.

    Example:
      homarus service list
      homarus service call agent.run --data '{"message": "Good morning"}'
    """


@verb(command, columns=("service", "takes", "what it does"))
def list_(client: HubClient) -> Answer:
    """List the services and their data.

    Example:
      homarus service list
    """
    found = client.call("service.list")["services"]
    return found, [(each["service"], _fields(each), each["description"]) for each in found]


@command.command("call")
@click.argument("name", metavar="DOMAIN.NAME")
@click.option("--data", metavar="JSON", default="{}", help="Its data, a JSON object.")
@click.option("--timeout", "timeout_s", type=float, default=CALL_LIMIT_S, show_default=True, help="Seconds to wait.")
@home_option
@json_option
def call(name: str, data: str, timeout_s: float, home: Path, as_json: bool) -> None:
    """Call the service DOMAIN.NAME and print its response.

    Example:
      homarus service call message.send --data '{"channel": "webchat", "to": "me", "text": "Tea is ready"}' --json
    """
    params = {"service": name, "data": json_object(data, "--data")}
    answer = HubClient(home).call("service.call", params, timeout_s=timeout_s)
    if as_json:
        print_json(answer)
        return
    if answer["response"] is None:
        click.echo(f"{name} was called.")
    else:
        print_json(answer["response"])


def _fields(service: dict[str, object]) -> str:
    fields = service["fields"]
    if not isinstance(fields, dict):
        return ""
    return ", ".join(name if told.get("required") else f"[{name}]" for name, told in fields.items())
