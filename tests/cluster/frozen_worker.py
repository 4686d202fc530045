"""A worker with one home that writes without pause, in a process of its own: to be killed, frozen and woken.

Run with the address of the database; prints `ready`, and its worker's id.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from hub.cluster.lease import WorkerLease
from hub.cluster.membership import Membership
from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.session import Target


def insert(connection: SqlConnection, key: str) -> None:
    """Write one row."""
    connection.execute("INSERT INTO meta VALUES (?, ?)", (key, ""))


async def main(url: str) -> None:
    """Join, open the home `elm`, and write what it does to its rows until the end."""
    membership = Membership(
        Target.from_url(url, "worker"),
        name="frozen",
        url="http://frozen",
        lease=WorkerLease(),
        end=os._exit,
    )
    membership.join()
    home = PostgresqlDatabase(Target.from_url(url, "elm"), HUB_MIGRATIONS, Path(os.devnull), worker=membership.id)
    await home.open()
    print("ready", membership.id, flush=True)
    count = 0
    while True:
        count += 1
        try:
            await home.write(partial(insert, key=f"written {count}"))
        except HubError:
            await asyncio.sleep(0.05)  # it was taken over, and is about to be told


asyncio.run(main(sys.argv[1]))
