"""Makes homes for workers, and takes them out again: folder, row, and the token of whoever it is for."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

from msgspec import Struct

from hub.cluster.directory import Directory
from hub.config.seed import seed
from hub.core.clock import Clock
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.secret import Secret
from hub.core.surfaces import ADMIN
from hub.security.tokens import TokenStore
from hub.sessions.transcript_moving import carry
from hub.storage import inspection
from hub.storage.database import Database
from hub.storage.files import write_atomic
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.moving import MOVED, set_mark
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.homes import HomeRow
from hub.storage.postgresql.session import Session, Target
from hub.storage.postgresql.tables import prepare

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""A label of a host name: each home has one."""
TOKEN_NAME = "owner"  # noqa: S105  the name of a token
CLOSE_LIMIT_S = 90.0
LOOK_S = 0.2


class Made(Struct, frozen=True):
    """A home that was made, and the token with every right in it, which is shown this once."""

    name: str
    folder: Path
    token: Secret


class HomeMaker:
    """Makes and removes homes.

    Args:
        database: The address of the database.
        homes: The folder of the homes' folders.
    """

    def __init__(self, database: str, homes: Path) -> None:
        self._database = database
        self._homes = homes
        self._target = Target.from_url(database, "homes")
        self.directory = Directory(self._target)

    async def prepare(self) -> None:
        """Make the tables, if there are none.

        Raises:
            StorageError: The database cannot be used.
        """

        def make() -> None:
            session = Session(self._target)
            try:
                prepare(session.connection, HUB_MIGRATIONS, self._target.place)
            finally:
                session.close()

        await asyncio.to_thread(make)

    async def create(self, name: str, pinned: str | None = None) -> Made:
        """Make a home, or take in the folder of one that is there: what its owner configured stays.

        Args:
            pinned: The name of the worker that alone opens it.

        Raises:
            InvalidRequest: The name is none.
            Conflict: There is one of this name, or the folder's data is not in this database yet.
        """
        if not NAME.fullmatch(name):
            raise InvalidRequest(
                f"{name!r:.80} is no name of a home: expected small letters, digits and -, as in a host name: elm"
            )
        if await self.directory.find(name) is not None:
            raise Conflict(f"there is a home {name} already")
        home = Home(self._homes / name)
        await self._make_folder(home)
        database = PostgresqlDatabase(Target.from_url(self._database, name), HUB_MIGRATIONS, home.hub_db)
        await database.open()
        try:
            tokens = TokenStore(database, Clock(), name)
            await tokens.open()
            _, token = await tokens.create(TOKEN_NAME, (ADMIN,))
        finally:
            await database.close()
        if not await self.directory.add(name, name, pinned):
            raise Conflict(f"there is a home {name} already")
        return Made(name, home.path, token)

    async def released(self, name: str) -> HomeRow:
        """Wait until no worker has a home, and return it.

        Raises:
            NotFound: There is none of this name.
            Conflict: A worker has it still.
        """
        for _ in range(int(CLOSE_LIMIT_S / LOOK_S)):
            row = await self._find(name)
            if row.owner is None:
                return row
            await asyncio.sleep(LOOK_S)
        raise Conflict(f"a worker has the home {name} open and in use; try again when its runs have ended")

    async def delete(self, name: str, *, files: bool) -> None:
        """Delete a home with its rows, once no worker has it.

        Args:
            files: Whether its folder is deleted too.

        Raises:
            NotFound, Conflict: As above.
        """
        row = await self._retired(name)
        if not await self.directory.remove(name):
            raise Conflict(f"a worker has just opened the home {name}; try again")
        if files:
            await asyncio.to_thread(shutil.rmtree, self._homes / row.folder, ignore_errors=True)

    async def export(self, name: str) -> tuple[Path, int, int]:
        """Take a home out: its data goes into its folder, which is a home by itself from then on.

        Returns:
            The folder, and how many rows and transcripts there are.

        Raises:
            NotFound, Conflict: As above.
            HubError: It could not be carried over; the database is in charge still.
        """
        row = await self._retired(name)
        home = Home(self._homes / row.folder)
        source = PostgresqlDatabase(Target.from_url(self._database, name), HUB_MIGRATIONS, home.hub_db)
        moved = await carry(home, source, Database(home.hub_db, HUB_MIGRATIONS))
        await self.directory.remove(name)
        return home.path, moved.get("rows", 0), moved.get("transcripts", 0)

    async def _retired(self, name: str) -> HomeRow:
        """Have a home closed wherever it is, and wait for it."""
        await self._find(name)
        await self.directory.retire(name)
        try:
            return await self.released(name)
        except Conflict:
            await self.directory.want(name)
            raise

    async def move(self, name: str, worker: str) -> None:
        """Have another worker carry a home, as soon as nothing runs in it.

        Raises:
            NotFound: There is no such home, or no such worker.
            Conflict: Another one alone opens it.
        """
        row = await self._find(name)
        if row.pinned not in (None, worker):
            raise Conflict(f"the home {name} is opened by the worker {row.pinned} alone")
        workers = await self.directory.workers()
        if worker not in workers:
            known = ", ".join(sorted(workers)) or "none"
            raise NotFound(f"there is no worker {worker}; there are: {known}")
        await self.directory.move(name, worker)

    async def _find(self, name: str) -> HomeRow:
        row = await self.directory.find(name)
        if row is None:
            raise NotFound(f"there is no home {name}; `homarus homes list` shows them")
        return row

    async def _make_folder(self, home: Home) -> None:
        moved_to = await asyncio.to_thread(inspection.read_meta, home.hub_db, MOVED) if home.hub_db.exists() else None
        if home.hub_db.exists() and moved_to is None:
            raise Conflict(
                f"{home.hub_db} holds the data of a home. Carry it over first: name the database and the home in its "
                "configuration.yaml, run `homarus storage move --to postgresql` there, and take `storage:` out again"
            )
        home.create()
        if seed(home):
            text = home.configuration.read_text(encoding="utf-8")
            settled = text.replace("hub:\n", "hub:\n  install: never       # a worker carries other homes too\n", 1)
            await asyncio.to_thread(write_atomic, home.configuration, settled.encode())
        if moved_to is None:
            # A hub that is started on the folder alone says where the data is, instead of beginning an empty home.
            here = Database(home.hub_db, HUB_MIGRATIONS)
            await here.open()
            try:
                await here.write(lambda connection: set_mark(connection, MOVED, self._target.place))
            finally:
                await here.close()
