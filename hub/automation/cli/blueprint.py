"""`homarus blueprint`: automations to fill in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.verbs import Answer, verb

TEXT_LIMIT_BYTES = 262_144
_DOMAIN = click.option(
    "--domain",
    type=click.Choice(["automation", "script", "template"]),
    default="automation",
    show_default=True,
    help="Kind of the blueprint.",
)


@click.group("blueprint", cls=Group)
def command() -> None:
    """List, import, update and remove blueprints.

    Example:
      homarus blueprint list
      homarus blueprint import https://example.org/motion_light.yaml
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the blueprints, and how many automations are made from each.

    Example:
      homarus blueprint list
    """
    found = HubClient(home).call("blueprint.list")["blueprints"]
    if as_json:
        print_json(found)
        return
    rows = [(each["path"], each["domain"], str(len(each["in_use"])), each.get("name", "")) for each in found]
    print_table(rows, ("path", "for", "in use", "name"))
    for each in found:
        for error in each["errors"]:
            click.echo(f"\n{each['path']}: {error.get('message', error)}")


@verb(command)
@click.argument("source", metavar="URL_OR_FILE")
@click.option("--path", metavar="PATH", help="Where it is put, for example mine/motion_light.yaml.")
@click.option("--overwrite", is_flag=True, help="Replace what lies there.")
def import_(client: HubClient, source: str, path: str | None, overwrite: bool) -> Answer:
    """Bring in the blueprint at URL_OR_FILE.

    Example:
      homarus blueprint import ./motion_light.yaml
    """
    is_url = source.lower().startswith(("http://", "https://"))
    params: dict[str, Any] = {"url": source} if is_url else {"text": _read(Path(source))}
    params["overwrite"] = overwrite
    if path is not None:
        params["path"] = path
    answer = client.call("blueprint.import", params)
    return answer, f"{answer['name']} is at {answer['path']}."


@command.command("update")
@click.argument("path")
@_DOMAIN
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def update(path: str, domain: str, yes: bool, home: Path, as_json: bool) -> None:
    """Update the blueprint PATH from its source; the changes are shown before they are saved.

    Example:
      homarus blueprint update community/motion_light.yaml
    """
    client = HubClient(home)
    params = {"path": path, "domain": domain}
    shown = client.call("blueprint.update", params)
    if not shown["diff"] or not (yes or _agreed(shown["diff"], as_json=as_json)):
        print_json(shown) if as_json else click.echo(
            "It is up to date." if not shown["diff"] else "Nothing was changed."
        )
        return
    answer = client.call("blueprint.update", {**params, "confirm": shown["hash"]})
    print_json(answer) if as_json else click.echo(f"{path} is updated.")


@verb(command)
@click.argument("path")
@_DOMAIN
def remove(client: HubClient, path: str, domain: str) -> Answer:
    """Remove the blueprint PATH; one that is in use stays.

    Example:
      homarus blueprint remove community/motion_light.yaml
    """
    answer = client.call("blueprint.remove", {"path": path, "domain": domain})
    return answer, f"{path} is removed."


def _agreed(diff: str, *, as_json: bool) -> bool:
    """Show the changes and ask; without a terminal the answer is no."""
    if as_json or not sys.stdin.isatty():
        if not as_json:
            click.echo(f"{diff}\n\nTo put it in place: --yes", err=True)
        return False
    click.echo(diff)
    return bool(click.confirm("Put it in place?"))


def _read(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise CommandFailed(f"{file} cannot be read: {error.strerror or error}", Exit.USAGE) from error
    if len(data) > TEXT_LIMIT_BYTES:
        raise CommandFailed(f"{file} is larger than {TEXT_LIMIT_BYTES // 1024} KiB.", Exit.USAGE)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{file} is not text in UTF-8.", Exit.USAGE) from error
