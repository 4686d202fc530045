"""`homarus storage`: carry a home from one database to another, while no hub runs on it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.configured import check_home
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json
from hub.cli.remote import RemoteHome
from hub.core.errors import HubError
from hub.storage.instance_lock import InstanceLock

if TYPE_CHECKING:
    from hub.storage.database import Database
    from hub.storage.homedir import Home

STAYS = (
    "In the folder of the home stay: the configuration and its secrets, workspaces, media, the small files of .storage "
    "(sign-ins of integrations, keys, feeds), history, and the index of the memory."
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
    """Carry the hub database and the transcripts over, and check that all of it arrived.

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
    click.echo(f"{moved['rows']} rows and {moved['transcripts']} transcripts arrived, and nothing differs.")
    click.echo(STAYS)
    if to == "sqlite":
        click.echo("Take `storage:` out of configuration.yaml before you start the hub.")


async def carry(home: Home, source: Database, target: Database) -> dict[str, Any]:
    """Carry a home over, and return how many rows and transcripts it has.

    Raises:
        HubError: It cannot be done; the old side is in charge still.
    """
    from hub.sessions.transcript_moving import TABLES, files_into_table, table_into_files
    from hub.storage.moving import move_rows

    transcripts = 0

    async def carry_transcripts() -> None:
        nonlocal transcripts
        if not source.holds_files:
            transcripts = await files_into_table(home, target)
        else:
            transcripts = await table_into_files(home, source)

    try:
        await source.open()
        await target.open()
        found = await move_rows(source, target, carry_transcripts, without=TABLES)
    finally:
        await source.close()
        await target.close()
    return {"rows": sum(each.rows for each in found.values()), "transcripts": transcripts}
