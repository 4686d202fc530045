"""Moves an account's rows to its present name in the configuration."""

from __future__ import annotations

from functools import partial

from hub.core.events import Event, EventBus
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.channels import EVENT_CHANNEL_STATUS
from hub.messaging.contract import ChannelState
from hub.messaging.outbox.outbox import Outbox
from hub.storage.database import Database


class AccountNames:
    """Renames the rows of an account whose platform id was known under another name.

    Args:
        db: The hub database.
        outbox: Sends what waited under the old name.
        tasks: Owner of the writing.
    """

    def __init__(self, db: Database, outbox: Outbox, bus: EventBus, tasks: TaskOwner) -> None:
        self._db = db
        self._outbox = outbox
        self._tasks = tasks
        self._named: set[tuple[str, str, str]] = set()
        bus.listen(EVENT_CHANNEL_STATUS, self._connected, {"state": ChannelState.CONNECTED.value})

    def _connected(self, event: Event) -> None:
        channel, account, id = (event.data[key] for key in ("channel", "account", "account_id"))
        if id is not None and (channel, account, id) not in self._named:
            self._named.add((channel, account, id))
            self._tasks.spawn(self._rename(channel, account, id), name=f"name what {channel} received")

    async def _rename(self, channel: str, account: str, account_id: str) -> None:
        places = self._outbox.channels.places()
        gone = partial(_rename, channel=channel, account=account, account_id=account_id, places=places)
        if await self._db.write(gone):
            await self._outbox.wake()


def _rename(
    connection: SqlConnection, channel: str, account: str, account_id: str, places: frozenset[tuple[str, str]]
) -> bool:
    """Return whether anything was received under another name; rows of a name still in use stay there."""
    rows = connection.execute(
        "SELECT DISTINCT account FROM inbox WHERE channel = ? AND account_id = ? AND account != ?",
        (channel, account_id, account),
    ).fetchall()
    for (old,) in rows:
        key = (account, channel, old)
        connection.execute(
            "UPDATE inbox SET account = ? WHERE channel = ? AND account = ? AND account_id = ?", (*key, account_id)
        )
        if (channel, old) not in places:
            connection.execute(
                "UPDATE outbox SET account = ? WHERE channel = ? AND account = ? AND state != 'sent'", key
            )
    return bool(rows)
