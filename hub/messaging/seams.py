"""The inbox, the queue and the outbox as others reach them; what keeps their rows may be another database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from hub.core.context import Context
from hub.core.sql import SqlConnection
from hub.messaging.access.decide import Accept
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address, ClientMessage, InboundEvent, Receipt
from hub.messaging.outbox.outbound_policy import OutboxSettings
from hub.messaging.outbox.outgoing import OutboxRow, Outgoing, RowSource


class MessageInbox(Protocol):
    """Takes messages; `hub.messaging.inbox.inbox.Inbox` is one."""

    async def submit(self, message: ClientMessage, context: Context) -> Receipt:
        """Take a message of an authenticated caller; it is on disk when this returns."""
        ...


class AnswerQueue(Protocol):
    """Sees to it that accepted messages are answered; `hub.messaging.queue.queue.MessageQueue` is one."""

    def refuses(self, accepted: Accept) -> int | None:
        """Return how many messages may wait when that many do, and no more are taken."""
        ...

    def flush(self, session_key: str, address: Address, sender: str) -> None:
        """Answer what a sender has written so far, without waiting for more of it."""
        ...

    def revise(self, event: InboundEvent) -> Callable[[SqlConnection], None]:
        """Change or drop a message that waits, because its sender did; return what keeps that in the database."""
        ...

    async def add(self, accepted: Accept) -> Receipt:
        """Queue a message; it is on disk when this returns."""
        ...

    async def recover(self) -> int:
        """Take up what a stop or a crash left; return how many messages are answered again."""
        ...


class ReplyOutbox(Protocol):
    """Sends what is written to it; `hub.messaging.outbox.outbox.Outbox` is one."""

    @property
    def channels(self) -> ChannelRegistry:
        """The channels that send."""
        ...

    @property
    def settings(self) -> OutboxSettings:
        """The current settings."""
        ...

    def insert(
        self,
        connection: SqlConnection,
        address: Address,
        content: str | Outgoing,
        *,
        caused_by: str | None,
        session_key: str | None = None,
        run_id: str | None = None,
        source: RowSource = RowSource.REPLY,
        not_before_ms: int = 0,
    ) -> list[str]:
        """Write a reply inside the caller's transaction and return the ids of its parts."""
        ...

    async def send(
        self, address: Address, content: str | Outgoing, context: Context, *, session_key: str | None = None
    ) -> list[str]:
        """Write a message and begin to send it; return the ids of its parts once they are on disk."""
        ...

    async def write(self, address: Address, insert: Callable[[SqlConnection], list[str]]) -> list[str]:
        """Write the rows of a chat in a transaction of their own and begin to send them; return their ids."""
        ...

    async def get(self, id: str) -> OutboxRow:
        """Return a row."""
        ...

    def hold(self, run_id: str, until: asyncio.Task[Any]) -> None:
        """Send nothing of a run before a task ended that shows its answer."""
        ...

    def notify(self, address: Address) -> None:
        """Start sending queued messages of a chat."""
        ...
