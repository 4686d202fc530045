"""Stuck messages of the outbox, and the repairs about them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.core.sql import SqlConnection
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import ChannelState
from hub.messaging.outbox import outbox_rows
from hub.storage.database import Database

_SOURCE = "outbox"
STUCK_S = 60.0
"""How long something waits for a channel that is connected, or for none, until a person hears of it."""


class WaitingMessages(Struct, frozen=True):
    """The waiting messages of one account.

    Attributes:
        count: How many messages.
        why: The reason.
        is_stuck: Whether they have waited for more than `STUCK_S` although nothing is known to hold them up, or for
            what does not exist.
    """

    channel: str
    account: str
    count: int
    why: str
    is_stuck: bool

    def as_dict(self) -> dict[str, Any]:
        """The form in which the gateway shows it."""
        return {
            "channel": self.channel,
            "account": self.account,
            "count": self.count,
            "why": str(self.why),
            "stuck": self.is_stuck,
        }


WaitingRow = tuple[str, str, int, int, str | None]
"""Channel, account, count, since when the first has waited in milliseconds since the epoch, and an error of theirs."""


class OutboxRepairs:
    """Keeps the repairs in line with the rows."""

    def __init__(self, db: Database, repairs: Repairs) -> None:
        self._db = db
        self._repairs = repairs
        self._raised: set[str] = set()
        self._stuck: set[str] = set()
        self._lock = asyncio.Lock()

    async def refresh(self) -> None:
        """Raise and clear repairs."""
        # One after the other: the reads of two could end in the other order, and the older result would be kept.
        async with self._lock:
            self._show(await self._db.read(outbox_rows.trouble))

    def look_at(self, found: Iterable[WaitingMessages]) -> None:
        """Raise a repair for each account with stuck messages, and clear the rest."""
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


def waiting_rows(connection: SqlConnection) -> list[WaitingRow]:
    """Return the waiting messages, by account."""
    return connection.execute(
        "SELECT channel, account, count(*), min(created_ms), max(error) FROM outbox"
        " WHERE state IN ('queued', 'sending') GROUP BY channel, account"
    ).fetchall()


def explain_waiting(row: WaitingRow, channels: ChannelRegistry, now: float) -> WaitingMessages:
    """Return why a message waits.

    Args:
        now: Seconds since the epoch.
    """
    channel, account, count, since_ms, error = row
    since = since_ms / 1_000
    attached = channels.get(channel, account)
    if attached is not None and attached.status.state is ChannelState.CONNECTED:
        since = max(since, attached.status.connected_at or 0.0)
        why = phrase("it is connected; {error}", error=error) if error else phrase("it is connected")
        return WaitingMessages(channel, account, count, why, now - since > STUCK_S)
    if attached is not None:
        why = phrase("it is not connected: {error}", error=attached.status.error or phrase("no reason given"))
        return WaitingMessages(channel, account, count, why, is_stuck=False)
    try:
        found = channels.account(channel, account)
    except NotFound as missing:
        return WaitingMessages(channel, account, count, missing.message, now - since > STUCK_S)
    if found != account:
        hint = phrase("it has: {names}", names=[found])
        why = phrase("{channel} has no account {account}; {hint}", channel=channel, account=account, hint=hint)
        return WaitingMessages(channel, account, count, why, now - since > STUCK_S)
    return WaitingMessages(
        channel, account, count, phrase("it is not set up; see homarus integration list"), is_stuck=False
    )
