"""`homarus homes`: make, list, move, export and delete the homes that workers carry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import json_option, print_json
from hub.cluster.cli.options import database_option, homes_option
from hub.core.errors import HubError

if TYPE_CHECKING:
    from hub.cluster.making import HomeMaker
    from hub.storage.postgresql.homes import HomeRow

T = TypeVar("T")


@click.group("homes", cls=Group)
def command() -> None:
    """Make, list, move, export and delete the homes that workers carry.

    Example:
      homarus homes create elm --homes /srv/homes
      homarus homes list --homes /srv/homes
    """


@command.command("create")
@click.argument("name")
@click.option("--only", metavar="WORKER", help="Only the worker of this name opens it: it needs a device there.")
@homes_option
@database_option
@json_option
def create(name: str, only: str | None, homes: Path, database: str, as_json: bool) -> None:
    """Make a home with a working configuration, or take in a folder; print the token with every right in it.

    Example:
      homarus homes create elm --homes /srv/homes
    """
    made = _run(homes, database, lambda maker: maker.create(name, only))
    if as_json:
        print_json({"name": made.name, "folder": str(made.folder), "token": made.token.reveal()})
        return
    click.echo(f"The home {made.name} is in {made.folder}. Any worker opens it when it is asked for.")
    click.echo(f"The token with every right in it, shown this once: {made.token.reveal()}")


@command.command("list")
@homes_option
@database_option
@json_option
def list_(homes: Path, database: str, as_json: bool) -> None:
    """List all homes, and where they are open.

    Example:
      homarus homes list --homes /srv/homes --json
    """
    found = _run(homes, database, lambda maker: maker.directory.all_with_workers())
    if as_json:
        print_json({"homes": [{**_facts(row), "worker": worker} for row, worker in found]})
        return
    for row, worker in found:
        click.echo(f"{row.name}: {_state(row, worker)}")
    if not found:
        click.echo("There are no homes yet: homarus homes create NAME")


@command.command("move")
@click.argument("name")
@click.option("--to", "worker", metavar="WORKER", required=True, help="The name of the worker.")
@homes_option
@database_option
@json_option
def move(name: str, worker: str, homes: Path, database: str, as_json: bool) -> None:
    """Have another worker carry a home; it goes there as soon as nothing runs in it.

    Example:
      homarus homes move elm --to second --homes /srv/homes
    """
    _run(homes, database, lambda maker: maker.move(name, worker))
    if as_json:
        print_json({"name": name, "worker": worker})
        return
    click.echo(f"{name} goes to {worker} as soon as nothing runs in it.")


@command.command("export")
@click.argument("name")
@homes_option
@database_option
@json_option
def export(name: str, homes: Path, database: str, as_json: bool) -> None:
    """Take a home out of the workers: its data goes into its folder, on which `homarus start` runs it by itself.

    Example:
      homarus homes export elm --homes /srv/homes
    """
    folder, rows, transcripts = _run(homes, database, lambda maker: maker.export(name))
    if as_json:
        print_json({"name": name, "folder": str(folder), "rows": rows, "transcripts": transcripts})
        return
    click.echo(f"{rows} rows and {transcripts} transcripts arrived, and nothing differs.")
    click.echo(f"{name} is a home by itself now: homarus start --config {folder}")


@command.command("delete")
@click.argument("name")
@click.option("--keep-files", is_flag=True, help="Leave its folder: configuration, workspace and media.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@homes_option
@database_option
@json_option
def delete(name: str, keep_files: bool, yes: bool, homes: Path, database: str, as_json: bool) -> None:
    """Delete a home with all that it holds. This cannot be undone.

    Example:
      homarus homes delete elm --homes /srv/homes
    """
    if not yes and not click.confirm(f"Delete the home {name} with all that it holds?", err=True):
        raise CommandFailed("nothing was deleted")
    _run(homes, database, lambda maker: maker.delete(name, files=not keep_files))
    if as_json:
        print_json({"name": name, "deleted": True})
        return
    click.echo(f"The home {name} was deleted.")


def _run(homes: Path, database: str, work: Callable[[HomeMaker], Awaitable[T]]) -> T:
    try:
        from hub.cluster.making import HomeMaker
        from hub.storage.homedir import restrict_umask
    except ImportError as error:
        raise CommandFailed(
            f"this needs a package that is not installed ({error}). Install it: script/setup --add postgresql",
            Exit.USAGE,
        ) from error
    restrict_umask()
    folder = homes.absolute()

    async def do() -> T:
        maker = HomeMaker(database, folder)
        await maker.prepare()
        try:
            return await work(maker)
        finally:
            await maker.directory.close()

    try:
        return asyncio.run(do())
    except HubError as error:
        raise CommandFailed(error.message) from error


def _facts(row: HomeRow) -> dict[str, object]:
    return {
        "name": row.name,
        "folder": row.folder,
        "open": row.serving,
        "only": row.pinned,
        "problem": row.problem,
        "due": row.due.isoformat() if row.due is not None else None,
    }


def _state(row: HomeRow, worker: str | None) -> str:
    if row.problem is not None:
        return f"cannot be opened by {worker}: {row.problem}"
    if row.serving:
        return f"open at {worker}"
    if worker is not None:
        return f"opening at {worker}"
    return "waits for a worker" if row.wanted is not None else "closed"
