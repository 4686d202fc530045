"""Typing indicators: shown from the moment a message is queued until the turn is over."""

from __future__ import annotations

import asyncio
import logging

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.messaging.capabilities import CanType
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address
from hub.messaging.queue.waiting import Conversation, conversation_of

_log = logging.getLogger(__name__)

BEGIN_S = 0.25
"""An answer that comes before that needs none, and no request for it."""
REFRESH_S = 4.0
"""Telegram shows it for five seconds."""
CALL_LIMIT_S = 5.0
SHOWN_LIMIT_S = 600.0


class TypingIndicators:
    """Shows that a message is being answered, on channels that can.

    Args:
        channels: The channels.
        tasks: Owner of one task for each conversation.
    """

    def __init__(self, channels: ChannelRegistry, clock: Clock, tasks: TaskOwner) -> None:
        self._channels = channels
        self._clock = clock
        self._tasks = tasks
        self._shown: dict[Conversation, asyncio.Task[None]] = {}
        self._failed: set[tuple[str, str]] = set()

    def show(self, address: Address) -> None:
        """Show it, until `hide` or for ten minutes."""
        conversation = conversation_of(address)
        attached = self._channels.get(address.channel, address.account)
        if (
            conversation in self._shown
            or self._tasks.closed
            or attached is None
            or not isinstance(attached.channel, CanType)
        ):
            return
        task = self._tasks.spawn(self._show(attached.channel, address), name=f"typing {address.channel}")
        self._shown[conversation] = task
        task.add_done_callback(lambda _: self._shown.pop(conversation, None))

    def hide(self, address: Address) -> None:
        """Stop showing it."""
        if (task := self._shown.get(conversation_of(address))) is not None:
            task.cancel()

    def close(self) -> None:
        """Stop showing it anywhere."""
        for task in self._shown.values():
            task.cancel()

    async def _show(self, channel: CanType, address: Address) -> None:
        end = self._clock.monotonic() + SHOWN_LIMIT_S
        await self._clock.sleep(BEGIN_S)
        while self._clock.monotonic() < end:
            try:
                async with asyncio.timeout(CALL_LIMIT_S):
                    await self._channels.lease.held()
                    await channel.typing(address)
            except Exception as error:  # nothing depends on it
                account = (address.channel, address.account)
                if account not in self._failed:
                    self._failed.add(account)
                    _log.warning("%s: typing cannot be shown: %s", address.channel, repr(error))
            await self._clock.sleep(REFRESH_S)
