"""`homarus integration`: list integrations, reload one without a restart, enable and disable it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json
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


@command.command("reload")
@_DOMAIN
@home_option
@json_option
@click.pass_context
def reload(ctx: click.Context, domain: str, home: Path, as_json: bool) -> None:
    """Read an integration's files again and set it up again. Exits 1 when it does not work then.

    Example:
      homarus integration reload doorbell
    """
    _change(ctx, "integration.reload", domain, home, as_json=as_json)


@command.command("enable")
@_DOMAIN
@home_option
@json_option
@click.pass_context
def enable(ctx: click.Context, domain: str, home: Path, as_json: bool) -> None:
    """Take an integration out of `hub: disabled` and set it up. Exits 1 when it does not work then.

    Example:
      homarus integration enable doorbell
    """
    _change(ctx, "integration.enable", domain, home, as_json=as_json)


@command.command("disable")
@_DOMAIN
@home_option
@json_option
@click.pass_context
def disable(ctx: click.Context, domain: str, home: Path, as_json: bool) -> None:
    """Unload an integration and write it into `hub: disabled`, so that it stays off after a restart.

    Example:
      homarus integration disable doorbell
    """
    _change(ctx, "integration.disable", domain, home, as_json=as_json)


def _change(ctx: click.Context, method: str, domain: str, home: Path, *, as_json: bool) -> None:
    found: Mapping[str, Any] = HubClient(home).call(method, {"domain": domain}, timeout_s=CALL_LIMIT_S)
    if as_json:
        print_json(found)
    else:
        reason = f": {found['reason']}" if found["reason"] else ""
        click.echo(f"{domain} is {found['state']}{reason}.")
    ctx.exit(Exit.FINDINGS if found["state"] in ("failed", "retrying") else Exit.OK)
