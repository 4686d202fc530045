"""The way that docs/backup.md names to copy a home's rows and to restore them, with the server's own programs."""

from __future__ import annotations

import asyncio
import subprocess
from functools import partial
from pathlib import Path

from hub.core.sql import SqlConnection
from tests.servers.postgresql import PostgresqlServer, program
from tests.storage.postgresql.conftest import Open


def put(connection: SqlConnection, key: str, value: str) -> None:
    connection.execute("INSERT INTO meta(key, value) VALUES (?, ?)", (key, value))


async def test_a_dump_restores_all_homes_into_an_empty_database(
    open_home: Open, server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    database, new, dump = await open_home(), server.new_database(), tmp_path / "homarus.dump"
    path = database.path.parent / "skills.json"
    await database.write(partial(put, key="colour", value="blue"))
    await asyncio.to_thread(database.documents.write, path, b"{}")

    for command in (
        [program("pg_dump"), "--format=custom", f"--file={dump}", server.url(name)],
        [program("pg_restore"), "--no-owner", f"--dbname={server.url(new)}", str(dump)],
    ):
        await asyncio.to_thread(subprocess.run, command, check=True)

    restored = await open_home(url=server.url(new))
    select = "SELECT value FROM meta WHERE key = 'colour'"
    assert await restored.read(lambda connection: connection.execute(select).fetchone()[0]) == "blue"
    assert restored.documents.read(path, 9) == b"{}"
    await restored.write(partial(put, key="more", value="red"))
