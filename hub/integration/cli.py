"""`homarus integration`: list integrations, write a new one, reload one without a restart, enable and disable it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import Group
from hub.cli.options import command_on, home_option, json_option, print_json
from hub.cli.verbs import Answer, verb
from hub.integration.catalog import CUSTOM_FOLDER, find
from hub.integration.scaffold import PIECES, write_integration

CALL_LIMIT_S = 90.0
"""Setting an integration up may take a minute."""
_DOMAIN = click.argument("domain", metavar="DOMAIN")


@click.group("integration", cls=Group)
def command() -> None:
    """List, write, reload, enable and disable integrations.

    Example:
      homarus integration list
      homarus integration new doorbell --tool --trigger
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


def _piece_options(decorated: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each piece that an integration can bring."""
    for name, piece in reversed(list(PIECES.items())):
        decorated = click.option(f"--{name}", name, is_flag=True, help=piece.help)(decorated)
    return decorated


@command.command("new")
@click.argument("name", metavar="NAME")
@_piece_options
@click.option("--to", metavar="DIR", help="The folder to write it below.  [default: custom_integrations of the home]")
@home_option
@json_option
def new(name: str, to: str | None, home: Path, as_json: bool, **wanted: bool) -> None:
    """Write a new integration that works, with a test of each piece that it brings.

    It is made from the bundled examples, and needs no running hub.

    Example:
      homarus integration new doorbell --tool --trigger
      homarus integration new front_desk --channel --to ~/src
    """
    below = Path(to).expanduser().absolute() if to else home / CUSTOM_FOLDER
    files = write_integration(below, name, [piece for piece in PIECES if wanted[piece]], _taken(home))
    folder = below / name
    if as_json:
        print_json({"domain": name, "path": str(folder), "files": files})
        return
    click.echo(f"Written into {folder}:\n" + "".join(f"  {file}\n" for file in files))
    click.echo(
        f"Its tests:        python -m pytest {shlex.quote(str(folder))}   (with the package pytest)\n"
        f"To use it:        write `{name}: {{}}` into configuration.yaml; the first lines of each file say what else\n"
        f"After each edit:  {command_on(home, f'homarus integration reload {name}')}"
    )


def _taken(home: Path) -> dict[str, str]:
    """Return the names that a new integration cannot have, with what has them."""
    from hub.cli.app import commands
    from hub.sections import all_sections

    return {
        **dict.fromkeys(commands(), "a command of homarus"),
        **{section.name: "a section of the configuration" for section in all_sections().core()},
        **{each.domain: "an integration" for each in find(home).values() if not each.custom},
    }


@verb(command)
@_DOMAIN
@click.option("--install", is_flag=True, help="Install the packages it needs, whatever `hub: install` says.")
def reload(client: HubClient, domain: str, install: bool) -> Answer:
    """Read an integration's files again and set it up again. Exits 1 when it does not work then.

    Example:
      homarus integration reload doorbell
      homarus integration reload telegram --install
    """
    return _changed(client, "integration.reload", domain, install=install)


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


def _changed(client: HubClient, method: str, domain: str, **more: bool) -> Answer:
    found = client.call(method, {"domain": domain, **more}, timeout_s=CALL_LIMIT_S)
    reason = f": {found['reason']}" if found["reason"] else ""
    code = Exit.FINDINGS if found["state"] in ("failed", "retrying") else Exit.OK
    return found, f"{domain} is {found['state']}{reason}.", code
