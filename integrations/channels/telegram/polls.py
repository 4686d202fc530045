"""The polls that were sent: who votes names the poll, and not the chat that it is in."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from hub.messaging.contract import Address, Receiver

POLLS_KEPT = 500
CURSOR = "polls"


class SentPoll(Struct, frozen=True):
    """A poll that was sent."""

    id: str
    address: Address
    options: tuple[str, ...]


class SentPolls:
    """Remembers the last of them over restarts.

    Args:
        receive: Keeps them for the account.
    """

    def __init__(self, receive: Receiver) -> None:
        self._receive = receive
        self._polls: dict[str, SentPoll] = {}

    async def load(self) -> None:
        """Read what earlier runs kept; call it once the account is known."""
        self._polls = msgspec.json.decode(await self._receive.cursor(CURSOR) or "{}", type=dict[str, SentPoll])

    async def keep(self, poll: SentPoll) -> None:
        """Remember a poll."""
        self._polls = dict([*self._polls.items(), (poll.id, poll)][-POLLS_KEPT:])
        await self._receive.keep_cursor(msgspec.json.encode(self._polls).decode(), CURSOR)

    def get(self, id: str) -> SentPoll | None:
        """Return a poll that was sent."""
        return self._polls.get(id)
