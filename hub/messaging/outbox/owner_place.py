"""Where an owner is reached in chat: in a direct conversation, never in a group."""

from __future__ import annotations

from msgspec import Struct

from hub.core.sql import SqlConnection, SqlCursor
from hub.messaging.contract import Address, ChatType
from hub.messaging.inbox.stored import load_message
from hub.storage.database import Database

_LAST = (
    "SELECT message, session_key FROM inbox"
    " WHERE state IN ('queued', 'done', 'command', 'received') AND message != '{}' AND owner = 1"
)


class OwnerPlace(Struct, frozen=True):
    """A direct conversation with an owner."""

    address: Address
    session_key: str | None


async def owner_place(db: Database, session_key: str | None = None) -> OwnerPlace | None:
    """Return where an owner last wrote in this conversation, else where they last wrote at all; None if nowhere."""

    def read(connection: SqlConnection) -> OwnerPlace | None:
        here = connection.execute(f"{_LAST} AND session_key = ? ORDER BY position DESC", (session_key,))
        return _first_direct(here) or _first_direct(connection.execute(f"{_LAST} ORDER BY position DESC"))

    return await db.read(read)


def _first_direct(rows: SqlCursor) -> OwnerPlace | None:
    for message, session_key in rows:
        address = load_message(message).address
        if address.chat_type is ChatType.DIRECT:
            return OwnerPlace(address, session_key)
    return None
