"""The chat in which an owner is reached: a direct conversation, never a group."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import Authority
from hub.core.sql import SqlConnection, SqlCursor
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address, ChatType
from hub.messaging.inbox.inbox_rows import load_message
from hub.security.people import People
from hub.storage.database import Database

_LAST = (
    "SELECT account, message, session_key, principal FROM inbox"
    " WHERE state IN ('queued', 'done', 'command', 'received') AND message != '{}' AND owner = 1"
)


class OwnerPlace(Struct, frozen=True):
    """A direct conversation with an owner."""

    address: Address
    session_key: str | None


class OwnerPlaces:
    """Finds where an owner is reached; former owners are not.

    Args:
        db: The hub database, where the inbox keeps who wrote from where.
        people: The people of this home as configured now.
        channels: Know which accounts there are.
    """

    def __init__(self, db: Database, people: Callable[[], People], channels: ChannelRegistry) -> None:
        self._db = db
        self._people = people
        self._channels = channels

    async def find(self, session_key: str | None = None) -> OwnerPlace | None:
        """Return where an owner last wrote in this conversation, else where they last wrote at all; None if nowhere."""
        people, places = self._people(), self._channels.places()

        def read(connection: SqlConnection) -> OwnerPlace | None:
            here = connection.execute(f"{_LAST} AND session_key = ? ORDER BY position DESC", (session_key,))
            every = connection.execute(f"{_LAST} ORDER BY position DESC")
            return _first_direct(here, people, places) or _first_direct(every, people, places)

        return await self._db.read(read)


def _first_direct(rows: SqlCursor, people: People, places: Collection[tuple[str, str]]) -> OwnerPlace | None:
    for account, message, session_key, authority in rows:
        address = replace(load_message(message).address, account=account)
        if (address.channel, account) not in places:
            continue
        is_owner = people.with_rights_at_arrival(Authority.from_dict(json.loads(authority))).owner
        if is_owner and address.chat_type is ChatType.DIRECT:
            return OwnerPlace(address, session_key)
    return None
