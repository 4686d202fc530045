"""A made-up chat app in place of Telegram: it accepts every message and sends none."""

from __future__ import annotations

from itertools import count
from typing import Any

from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    InboundMessage,
    OutboundMessage,
    Receiver,
)

CHANNEL = "telegram"


class DemoChat:
    """Reports every message as delivered.

    Args:
        bot: The name of the account.
    """

    name = CHANNEL
    account = "default"
    limits = ChannelLimits(text=4_096, markup="markdown", buttons=8, idempotent=True)

    def __init__(self, bot: str) -> None:
        self._bot = bot
        self._sent = count(1)

    async def start(self, receive: Receiver) -> None:
        """Be connected at once."""
        receive.identified("7000000001", self._bot)
        receive.connected()

    async def stop(self) -> None:
        """Do nothing: there is no connection."""

    async def send(self, message: OutboundMessage) -> Delivery:
        """Accept it."""
        return Delivery(DeliveryState.DELIVERED, (f"demo-{next(self._sent)}",))

    async def probe(self) -> dict[str, Any]:
        """Return that it can be reached; it always can."""
        return {"ok": True, "name": self._bot}


def message(message_id: str, peer: int, name: str, text: str, sent_at: float) -> InboundMessage:
    """Return what somebody writes to the bot."""
    address = Address(CHANNEL, str(peer))
    return InboundMessage(address, message_id, f"{CHANNEL}:user:{peer}", text, sender_name=name, sent_at=sent_at)
