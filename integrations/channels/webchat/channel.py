"""The channel behind the dashboard, the command line and every client of the gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hub.messaging.contract import ChannelLimits, Delivery, DeliveryState, OutboundMessage, Receiver

EVENT_WEBCHAT_MESSAGE = "webchat_message"


class WebChat:
    """Fires an event for each message; the open dashboards of the session show it.

    A reply is in the transcript before it gets here, so a client that was away finds it there: nothing can fail.

    Args:
        fire: Fires an event of a type with its data.
    """

    name = "webchat"
    account = "default"
    limits = ChannelLimits(text=1_000_000, markup="markdown", idempotent=True)

    def __init__(self, fire: Callable[[str, dict[str, Any]], None]) -> None:
        self._fire = fire

    async def start(self, receive: Receiver) -> None:
        """Do nothing: the gateway passes messages to the inbox itself."""

    async def stop(self) -> None:
        """Do nothing: there is no connection."""

    async def send(self, message: OutboundMessage) -> Delivery:
        """Fire the event."""
        self._fire(
            EVENT_WEBCHAT_MESSAGE,
            {
                "session_key": message.session_key,
                "run_id": message.run_id,
                "text": message.text,
                "outbox_id": message.id,
            },
        )
        return Delivery(DeliveryState.DELIVERED)

    async def probe(self) -> dict[str, Any]:
        """Return that it can be reached; it always can."""
        return {"ok": True}
