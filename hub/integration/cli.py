"""`homarus integration`: list integrations, reload one without a restart, enable and disable it."""

from __future__ import annotations

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import Group
from hub.cli.verbs import Answer, verb

CALL_LIMIT_S = 90.0
"""Setting an integration up may take a minute."""
_DOMAIN = click.argument("domain", metavar="DOMAIN")


@click.group("integration", cls=Group)
def command() -> None:
    """List, reload, enable and disable integrations.

    Example:
      homarus integration list
      homarus integration reload doorbell
    """


@verb(command, columns=("integration", "state", "", "reason"))
def list_(client: HubClient) -> Answer:
    """List the integrations with their state and the reason for it.

    Example:
      homarus integration list
    """
    found = client.call("integration.list")["integrations"]
    return found, [(each["domain"], each["state"], "own" if each["custom"] else "", each["reason"]) for each in found]


@verb(command)
@_DOMAIN
def reload(client: HubClient, domain: str) -> Answer:
    """Read an integration's files again and set it up again. Exits 1 when it does not work then.

    Example:
      homarus integration reload doorbell
    """
    return _changed(client, "integration.reload", domain)


@verb(command)
@_DOMAIN
def enable(client: HubClient, domain: str) -> Answer:
    """Take an integration out of `hub: disabled` and set it up. Exits 1 when it does not work then.

    Example:
      homarus integration enable doorbell
    """
    return _changed(client, "integration.enable", domain)


@verb(command)
@_DOMAIN
def disable(client: HubClient, domain: str) -> Answer:
    """Unload an integration and write it into `hub: disabled`, so that it stays off after a restart.

    Example:
      homarus integration disable doorbell
    """
    return _changed(client, "integration.disable", domain)


def _changed(client: HubClient, method: str, domain: str) -> Answer:
    found = client.call(method, {"domain": domain}, timeout_s=CALL_LIMIT_S)
    reason = f": {found['reason']}" if found["reason"] else ""
    code = Exit.FINDINGS if found["state"] in ("failed", "retrying") else Exit.OK
    return found, f"{domain} is {found['state']}{reason}.", code
