"""`homarus service list|call`: what can be done in this home, by name."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.json_argument import as_object
from hub.cli.options import print_json
from hub.cli.verbs import Answer, verb

CALL_LIMIT_S = 330.0
"""A service may take five minutes; the hub says so when it takes longer."""


services = Group("service")
"""These commands, for the group of that name."""


@verb(services, columns=("service", "takes", "what it does"))
def list_(client: HubClient) -> Answer:
    """List the services and their data.

    Example:
      homarus service list
    """
    found = client.call("service.list")["services"]
    return found, [(each["service"], _fields(each), each["description"]) for each in found]


@verb(services)
@click.argument("name", metavar="DOMAIN.NAME")
@click.option("--data", metavar="JSON", default="{}", callback=as_object, help="Its data, a JSON object.")
@click.option("--timeout", "timeout_s", type=float, default=CALL_LIMIT_S, show_default=True, help="Seconds to wait.")
def call(client: HubClient, name: str, data: dict[str, Any], timeout_s: float) -> Answer:
    """Call the service DOMAIN.NAME and print its response.

    Example:
      homarus service call message.send --data '{"channel": "webchat", "to": "me", "text": "Tea is ready"}' --json
    """
    answer = client.call("service.call", {"service": name, "data": data}, timeout_s=timeout_s)
    response = answer["response"]
    return answer, f"{name} was called." if response is None else partial(print_json, response)


def _fields(service: dict[str, object]) -> str:
    fields = service["fields"]
    if not isinstance(fields, dict):
        return ""
    return ", ".join(name if told.get("required") else f"[{name}]" for name, told in fields.items())
