"""`homarus storage`: carry a home from one database to another, while no hub runs on it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from hub.cli.configured import check_home
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json
from hub.cli.remote import RemoteHome
from hub.core.errors import HubError
from hub.storage.instance_lock import InstanceLock

STAYS = (
    "In the folder of the home stay: the configuration and its secrets, workspaces, media, history, the index of the "
    "memory, and the keys of this machine."
)


@click.group("storage", cls=Group)
def command() -> None:
    """See where a home keeps its data, and carry it elsewhere.

    Example:
      homarus storage move --to postgresql
    """


@command.command("move")
@click.option("--to", "to", type=click.Choice(["postgresql", "sqlite"]), required=True, help="Where it is kept then.")
@home_option
@json_option
def move(to: str, home: Path, as_json: bool) -> None:
    """Carry the hub database, the transcripts and the small files over, and check that all of it arrived.

    The hub must be stopped, and `storage: postgresql` name the database, both ways. Until all has arrived the old side
    is in charge; when it is cut off, do it again. Afterwards a hub on the old side does not start.

    Example:
      homarus storage move --to postgresql
      homarus storage move --to sqlite
    """
    if isinstance(home, RemoteHome):
        raise CommandFailed("run this on the machine of the hub, while the hub is stopped", Exit.USAGE)
    from hub.storage.homedir import Home, restrict_umask
    from hub.storage.migrations import HUB_MIGRATIONS
    from hub.storage.opening import make_database, read_target

    restrict_umask()
    section = check_home(home).config.or_default("storage") or {}
    lock = InstanceLock(home)
    try:
        if read_target(section) is None:
            raise CommandFailed(
                "configuration.yaml names no database. Add `storage: {postgresql: !secret database}` first; see "
                "docs/scale.md",
                Exit.USAGE,
            )
        from hub.sessions.transcript_moving import carry
        from hub.storage.database import Database

        lock.acquire()
        here = Home(home)
        sides = [Database(here.hub_db, HUB_MIGRATIONS), make_database(here, section, lambda _: None)]
        moved = asyncio.run(carry(here, *(sides if to == "postgresql" else sides[::-1])))
    except HubError as error:
        raise CommandFailed(error.message) from error
    finally:
        lock.release()
    if as_json:
        print_json({"to": to, **moved})
        return
    if not moved:
        click.echo("All of it had arrived before.")
    else:
        arrived = f"{moved['rows']} rows, {moved['transcripts']} transcripts and {moved['documents']} small files"
        click.echo(f"{arrived} arrived, and nothing differs.")
    click.echo(STAYS)
    if to == "sqlite":
        click.echo("Take `storage:` out of configuration.yaml before you start the hub.")
