"""`homarus hooks`: list, inspect, enable and disable the hooks of the home."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.verbs import Answer, verb

_NAME = click.argument("name", metavar="NAME")


@click.group("hooks", cls=Group)
def command() -> None:
    """List, inspect, enable and disable hooks.

    Example:
      homarus hooks list
      homarus hooks enable quiet-night
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the hooks of the home with their state, and what handles which hook.

    Example:
      homarus hooks list
    """
    found = HubClient(home).call("hooks.status")
    if as_json:
        print_json(found)
        return
    rows = [(each["name"], each["state"], each["reason"] or each["description"]) for each in found["hooks"]]
    print_table(rows, ("hook", "state", ""))
    handlers = [(each["hook"], each["kind"], str(each["priority"]), each["source"]) for each in found["handlers"]]
    if handlers:
        click.echo()
        print_table(handlers, ("called at", "kind", "priority", "by"))


@verb(command)
@_NAME
def info(client: HubClient, name: str) -> Answer:
    """Show a hook with its code.

    Example:
      homarus hooks info quiet-night
    """
    found = client.call("hooks.info", {"name": name})
    return found, partial(_print, found)


@verb(command, columns=("hook", "state", "reason"))
def check(client: HubClient) -> Answer:
    """Show which hooks are broken, or off since they changed. Exits 1 when there is one.

    Example:
      homarus hooks check
    """
    found = client.call("hooks.status")["hooks"]
    bad = [each for each in found if each["state"] in ("broken", "changed")]
    if not bad:
        return bad, f"All {len(found)} hooks are in order."
    return bad, [(each["name"], each["state"], each["reason"]) for each in bad], Exit.FINDINGS


@command.command("enable")
@_NAME
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def enable(name: str, yes: bool, home: Path, as_json: bool) -> None:
    """Show a hook and enable it until its files change. Its code runs with all rights of the hub.

    Example:
      homarus hooks enable quiet-night
    """
    found = HubClient(home).call("hooks.info", {"name": name})
    if not as_json:
        _print(found)
    if not yes:
        click.confirm("Enable it?", abort=True, err=True)
    hook, told = _updated(HubClient(home), {"name": name, "enabled": True, "digest": found["digest"]})
    print_json(hook) if as_json else click.echo(told)


@verb(command)
@_NAME
def disable(client: HubClient, name: str) -> Answer:
    """Switch a hook off.

    Example:
      homarus hooks disable quiet-night
    """
    return _updated(client, {"name": name, "enabled": False})


def _updated(client: HubClient, params: Mapping[str, Any]) -> tuple[Any, str]:
    hook = client.call("hooks.update", params)["hook"]
    reason = f": {hook['reason']}" if hook["reason"] else ""
    return hook, f"{hook['name']} is {hook['state']}{reason}."


def _print(found: Mapping[str, Any]) -> None:
    hook = found["hook"]
    click.echo(f"{hook['name']}: {hook['description']}")
    click.echo(f"State: {hook['state']}" + (f" ({hook['reason']})" if hook["reason"] else ""))
    click.echo(f"Called at: {', '.join(hook['events'])}")
    click.echo("Files: " + ", ".join(f"{each['path']} ({each['bytes']} bytes)" for each in found["files"]))
    for path, text in found["texts"].items():
        click.echo(f"\n--- {path}\n{text.rstrip()}")
