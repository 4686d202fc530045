"""`homarus token`: the hub token, and scoped tokens for the LAN and for programs."""

from __future__ import annotations

from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.security.hub_token import hub_token


@click.group("token", invoke_without_command=True)
@home_option
@json_option
@click.pass_context
def command(ctx: click.Context, home: Path, as_json: bool) -> None:
    r"""Print the hub token, which works on this machine alone; or manage scoped tokens.

    \b
    Example:
      homarus token
      homarus token create --name phone --scopes operator.write
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = home
        return
    token = hub_token(home).reveal()
    print_json({"token": token}) if as_json else click.echo(token)


@command.command("create")
@click.option("--name", required=True, help="What it is for.")
@click.option("--scopes", required=True, help="Comma-separated, for example operator.read,operator.write.")
@click.option("--expires", "expires", metavar="DURATION", help="When it ends, for example 90d; never without it.")
@home_option
@json_option
def create(name: str, scopes: str, expires: str | None, home: Path, as_json: bool) -> None:
    """Make a scoped token; it is shown this once."""
    params = {"name": name, "scopes": [scope.strip() for scope in scopes.split(",") if scope.strip()]}
    answer = HubClient(home).call("token.create", params | ({"expires": expires} if expires else {}))
    if as_json:
        print_json(answer)
        return
    click.echo(answer["token"])
    click.echo(f"{answer['id']} ({', '.join(answer['scopes'])}). Keep it now: it is not shown again.", err=True)


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the scoped tokens."""
    tokens = HubClient(home).call("token.list")["tokens"]
    if as_json:
        print_json(tokens)
        return
    print_table([(each["id"], each["name"], ",".join(each["scopes"])) for each in tokens], ("id", "name", "scopes"))


@command.command("revoke")
@click.argument("token_id")
@home_option
@json_option
def revoke(token_id: str, home: Path, as_json: bool) -> None:
    """Revoke a token; connections that use it are closed."""
    answer = HubClient(home).call("token.revoke", {"id": token_id})
    print_json(answer) if as_json else click.echo(f"{token_id} is revoked.")
