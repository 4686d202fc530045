"""Retention of received and sent messages: old words are deleted, the mark that a message was handled stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hub.core.clock import Clock
from hub.core.sql import SqlConnection
from hub.storage.database import Database

DAY_S = 86_400.0


def prune(connection: SqlConnection, before_ms: int) -> None:
    """Delete older words; runs in the writer thread.

    A message that was handled keeps its row without its words, so that it is handled once, ever. Refused messages and
    what was sent or could not be is deleted, and so are finished runs; the transcripts keep the conversations.

    Args:
        connection: Inside a transaction.
        before_ms: Milliseconds since the epoch.
    """
    connection.execute("DELETE FROM inbox WHERE state = 'rejected' AND received_ms < ?", (before_ms,))
    connection.execute(
        "UPDATE inbox SET message = '{}' WHERE state IN ('done', 'command') AND received_ms < ? AND message != '{}'",
        (before_ms,),
    )
    connection.execute(
        "DELETE FROM outbox WHERE state IN ('sent', 'dead', 'unknown', 'stopped') AND updated_ms < ?", (before_ms,)
    )
    connection.execute("DELETE FROM group_history WHERE received_ms < ?", (before_ms,))
    connection.execute("DELETE FROM runs WHERE kind = 'request' AND ended_ms < ?", (before_ms,))
    connection.execute("UPDATE runs SET reply = NULL WHERE ended_ms < ? AND reply IS NOT NULL", (before_ms,))


async def prune_daily(db: Database, clock: Clock, keep_days: Callable[[], int]) -> None:
    """Prune now and once a day, until cancelled.

    Args:
        keep_days: Days to keep, as configured now.
    """
    while True:
        before_ms = int((clock.time() - keep_days() * DAY_S) * 1000)
        await db.write(partial(prune, before_ms=before_ms))
        await clock.sleep(DAY_S)
