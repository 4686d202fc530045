"""A process that writes without end and tells each row that was acknowledged; its test kills it."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS

WRITERS = 8


def insert(connection: SqlConnection, key: str) -> None:
    connection.execute("INSERT INTO meta VALUES(?, ?)", (key, "x" * 700))


async def main(path: Path, round_name: str) -> None:
    database = Database(path, HUB_MIGRATIONS)
    await database.open()

    async def write(writer: int) -> None:
        number = 0
        while True:
            key = f"{round_name}-{writer}-{number}"
            await database.write(partial(insert, key=key))
            os.write(1, f"{key}\n".encode())
            number += 1

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
