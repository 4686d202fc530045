"""The channel `voice`: each satellite is a conversation, and what is sent there is spoken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hub.core.errors import HubError
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox.chunking import BlockBreak
from hub.messaging.outbox.markup import spoken_words
from hub.messaging.outbox.outbound_policy import BlockStreaming, OutboundPolicy

if TYPE_CHECKING:
    from hub.voice.line import SatelliteLine

NAME = "voice"
TEXT_LENGTH = 1_500
SOUNDED_S = 45.0
"""Of a long message it is not awaited that it has been spoken to its end."""
OUTBOUND = OutboundPolicy(
    blocks=BlockStreaming(enabled=True, min_chars=16, max_chars=400, break_at=BlockBreak.SENTENCE, idle_ms=500)
)
"""An answer is spoken as it is written, by sentences."""


class VoiceChannel:
    """All satellites.

    Args:
        line: Returns the line of a satellite, by its id.
    """

    name = NAME
    account = "default"
    limits = ChannelLimits(text=TEXT_LENGTH, weak_identity=True, is_speech=True)

    def __init__(self, line: Callable[[str], SatelliteLine | None]) -> None:
        self._line = line

    async def start(self, receive: Receiver) -> None:
        """Start; there is nothing to connect to."""
        receive.identified(NAME, NAME)
        receive.connected()

    async def stop(self) -> None:
        """Do nothing: the satellites end with their integrations."""

    async def send(self, message: OutboundMessage) -> Delivery:
        """Say a message."""
        line = self._line(message.address.peer)
        if line is None:
            return Delivery(DeliveryState.PERMANENT, error=f"there is no satellite {message.address.peer!r} any more")
        text = spoken_words(message.text)
        if not text:
            return Delivery(DeliveryState.DELIVERED)
        try:
            async with asyncio.timeout(SOUNDED_S):
                await line.answer(text, message.run_id)
        except TimeoutError:
            pass  # it goes on
        except HubError as error:
            return Delivery(DeliveryState.PERMANENT, error=error.message)
        return Delivery(DeliveryState.DELIVERED)

    async def probe(self) -> dict[str, Any]:
        """Return that it works."""
        return {"ok": True}


def address_of(id: str) -> Address:
    """Return the conversation of a satellite."""
    return Address(NAME, id)
