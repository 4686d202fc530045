"""`homarus token`: the hub token, and scoped tokens for the LAN and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json
from hub.cli.times import DAY, local_time
from hub.cli.verbs import Answer, verb
from hub.security.hub_token import hub_token


@click.group("token", cls=Group, invoke_without_command=True)
@home_option
@json_option
@click.pass_context
def command(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Print the hub token, which works on this machine alone; or manage scoped tokens.

    Example:
      homarus token
      homarus token create --name phone --scopes operator.write
    """
    if ctx.invoked_subcommand is not None:
        return
    token = hub_token(home).reveal()
    if as_json:
        print_json({"token": token})
        return
    click.echo(token)


@command.command("create")
@click.option("--name", required=True, help="Name of the token, shown in lists.")
@click.option("--scopes", required=True, help="Comma-separated, for example operator.read,operator.write.")
@click.option("--expires", "expires", metavar="DURATION", help="When it ends, for example 90d; never without it.")
@home_option
@json_option
def create(name: str, scopes: str, expires: str | None, home: Path, as_json: bool) -> None:
    """Make a scoped token, for another machine or a program; it is shown this once.

    Example:
      homarus token create --name phone --scopes operator.read,operator.write --expires 90d
    """
    params = {"name": name, "scopes": [scope.strip() for scope in scopes.split(",") if scope.strip()]}
    answer = HubClient(home).call("token.create", params | ({"expires": expires} if expires else {}))
    if as_json:
        print_json(answer)
        return
    click.echo(answer["token"])
    click.echo(f"{answer['id']} ({', '.join(answer['scopes'])}). Keep it now: it is not shown again.", err=True)


@verb(
    command,
    columns=("id", "name", "scopes", "state"),
    empty="No scoped tokens. Make one: homarus token create --name phone --scopes operator.write",
)
def list_(client: HubClient) -> Answer:
    """List the scoped tokens, without their secrets.

    Example:
      homarus token list
    """
    tokens = client.call("token.list")["tokens"]
    return tokens, [(each["id"], each["name"], ",".join(each["scopes"]), _state(each)) for each in tokens]


@verb(command)
@click.argument("token_id")
def revoke(client: HubClient, token_id: str) -> Answer:
    """Revoke the token TOKEN_ID; connections that use it are closed.

    Example:
      homarus token revoke 019aa5c1f2d0b7c1
    """
    answer = client.call("token.revoke", {"id": token_id})
    return answer, f"{token_id} is revoked."


def _state(token: Mapping[str, Any]) -> str:
    """Say whether a token works, and until when."""
    if token.get("revokedAtMs"):
        return f"revoked {local_time(token['revokedAtMs'], DAY)}"
    if token.get("ended"):
        return "ended"
    if token.get("expiresAtMs"):
        return f"until {local_time(token['expiresAtMs'], DAY)}"
    return f"used {local_time(token['lastUsedAtMs'], DAY)}" if token.get("lastUsedAtMs") else "never used"
