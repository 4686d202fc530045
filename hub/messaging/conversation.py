"""Recent messages of a conversation, for a channel whose platform keeps no history."""

from __future__ import annotations

from msgspec import Struct

from hub.core.sql import SqlConnection
from hub.messaging.contract import Address, Button
from hub.messaging.inbox.inbox_rows import load_message
from hub.messaging.outbox.outbox_rows import NewMessage, select_rows
from hub.storage.database import Database

HISTORY_LIMIT = 50
"""Messages each way."""

_HERE = "channel = ? AND account = ? AND peer = ?"
_SENT = f"""position IN (SELECT position FROM outbox WHERE session_key IN
    (SELECT DISTINCT session_key FROM inbox WHERE {_HERE} AND session_key IS NOT NULL) AND {_HERE}
    AND kind = 'message' AND source != 'preview' AND state != 'dead' ORDER BY position DESC LIMIT ?)"""  # noqa: S608
"""By the sessions of the conversation: those are what the outbox can be searched by."""


class PastMessage(Struct, frozen=True):
    """A message of the conversation; `ours` are the assistant's, and `id` is that of its row or of the platform."""

    id: str
    text: str
    ours: bool
    buttons: tuple[tuple[Button, ...], ...] = ()


async def recent(db: Database, address: Address) -> list[PastMessage]:
    """Return the last messages of a direct conversation, oldest first; refused ones are not kept."""
    here = (address.channel, address.account, address.peer)

    def read(connection: SqlConnection) -> list[PastMessage]:
        received = connection.execute(
            f"SELECT received_ms, message FROM inbox WHERE {_HERE} AND message != '{{}}'"  # noqa: S608  a constant
            " AND state IN ('queued', 'done', 'received', 'command') ORDER BY position DESC LIMIT ?",
            (*here, HISTORY_LIMIT),
        ).fetchall()
        sent = select_rows(
            connection,
            _SENT,
            (*here, *here, HISTORY_LIMIT),
            HISTORY_LIMIT,
        )
        asked = [(ms, load_message(stored)) for ms, stored in reversed(received)]
        # What a command left for the agent came in the command's own message, whose id it has with a plus behind.
        found = [
            (ms, PastMessage(e.message_id, e.text, ours=False)) for ms, e in asked if not e.message_id.endswith("+")
        ]
        for row in sent:
            if isinstance(row.outgoing, NewMessage):
                found.append((row.created_ms, PastMessage(row.id, row.outgoing.text, True, row.outgoing.buttons)))
        return [said for _, said in sorted(found, key=lambda each: each[0])]

    return await db.read(read)
