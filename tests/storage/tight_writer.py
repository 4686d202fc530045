"""A process whose files may only grow so far; it writes until that fails, and tells what happened."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from functools import partial
from pathlib import Path

from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.migrations import HUB_MIGRATIONS

LIMIT_BYTES = 512 * 1024


def insert(connection: SqlConnection, key: str) -> None:
    connection.execute("INSERT INTO meta VALUES(?, ?)", (key, "x" * 3000))


async def main(path: Path) -> None:
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, resource.RLIM_INFINITY))
    acknowledged: list[str] = []
    failures: list[dict[str, object]] = []
    for number in range(400):
        keys = [f"{number}-{part}" for part in range(4)]
        outcomes = await asyncio.gather(
            *(database.write(partial(insert, key=key)) for key in keys), return_exceptions=True
        )
        for key, outcome in zip(keys, outcomes, strict=True):
            if isinstance(outcome, HubError):
                failures.append(outcome.as_dict())
            elif outcome is None:
                acknowledged.append(key)
        if len(failures) > 20:
            break
    readable = await database.read(lambda c: c.execute("SELECT COUNT(*) FROM meta").fetchone()[0])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await database.write(partial(insert, key="after"))
    acknowledged.append("after")
    await database.close()
    print(json.dumps({"acknowledged": acknowledged, "failures": failures, "readable": readable}))


asyncio.run(main(Path(sys.argv[1])))
