"""The repairs of the outbox: messages that may have been sent, and messages that were not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.outbox_waiting import WaitingMessages
from hub.storage.database import Database

_SOURCE = "outbox"


class OutboxRepairs:
    """Keeps the repairs as the rows are."""

    def __init__(self, db: Database, repairs: Repairs) -> None:
        self._db = db
        self._repairs = repairs
        self._raised: set[str] = set()
        self._stuck: set[str] = set()
        self._lock = asyncio.Lock()

    async def refresh(self) -> None:
        """Raise what is to be raised, and clear the rest."""
        # One after the other: the reads of two could end in the other order, and the older result would be kept.
        async with self._lock:
            self._show(await self._db.read(outbox_rows.trouble))

    def look_at(self, found: Iterable[WaitingMessages]) -> None:
        """Raise a repair for each account that something waits for without need, and clear the rest."""
        stuck = {f"waiting:{each.channel}:{each.account}": each for each in found if each.is_stuck}
        for id, each in stuck.items():
            self._repairs.raise_(
                _SOURCE,
                id,
                phrase("{count} messages wait for {channel}", count=each.count, channel=each.channel),
                phrase(
                    "Account {account}: {why}. What cannot be sent for 72 hours is given up.",
                    account=each.account,
                    why=each.why,
                ),
                severity=Severity.WARNING,
                command="homarus outbox list --state queued",
            )
        for id in self._stuck - stuck.keys():
            self._repairs.clear(_SOURCE, id)
        self._stuck = set(stuck)

    def _show(self, found: list[outbox_rows.Trouble]) -> None:
        raised: set[str] = set()
        unknown = sum(count for state, _, _, count, _, _ in found if state == "unknown")
        if unknown:
            raised.add("unknown")
            self._repairs.raise_(
                _SOURCE,
                "unknown",
                phrase("{count} messages may or may not have been sent", count=unknown),
                phrase(
                    "The hub or the connection stopped while sending them, and the platform cannot tell whether they "
                    "arrived. They are not sent again: check the chat, then retry or drop them."
                ),
                severity=Severity.WARNING,
                command="homarus outbox list --state unknown",
            )
        for state, channel, account, count, peer, error in found:
            if state != "dead":
                continue
            raised.add(f"dead:{channel}:{account}")
            self._repairs.raise_(
                _SOURCE,
                f"dead:{channel}:{account}",
                phrase("{count} messages were not sent through {channel}", count=count, channel=channel),
                phrase(
                    "The last one, to {peer}: {error}. They are kept; retry or drop them.",
                    peer=peer or "",
                    error=error or phrase("no reason given"),
                ),
                severity=Severity.WARNING,
                command="homarus outbox list --state dead",
            )
        for id in self._raised - raised:
            self._repairs.clear(_SOURCE, id)
        self._raised = raised
