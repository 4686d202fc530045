"""What waits in the outbox, and why."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.core.sql import SqlConnection
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import ChannelState

STUCK_S = 60.0
"""How long something waits for a channel that is connected, or for none, until a person hears of it."""


class WaitingMessages(Struct, frozen=True):
    """What waits for one account of a channel.

    Attributes:
        count: How many messages.
        why: Why they wait.
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


def waiting_rows(connection: SqlConnection) -> list[WaitingRow]:
    """Return what waits, by account."""
    return connection.execute(
        "SELECT channel, account, count(*), min(created_ms), max(error) FROM outbox"
        " WHERE state IN ('queued', 'sending') GROUP BY channel, account"
    ).fetchall()


def explained(row: WaitingRow, channels: ChannelRegistry, now: float) -> WaitingMessages:
    """Return why something waits.

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
