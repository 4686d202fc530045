"""The channel behind the dashboard, the command line and every client of the gateway."""

from __future__ import annotations

from typing import Any

from hub.core.events import EventBus
from hub.messaging.contract import Capabilities, Delivery, DeliveryState, OutboundMessage, Receive

EVENT_WEBCHAT_MESSAGE = "webchat_message"


class WebChat:
    """Tells the bus what is to be shown; whoever looks at the session shows it.

    A reply is in the transcript before it gets here, so a client that was away finds it there: nothing can fail.
    """

    name = "webchat"
    account = "default"
    capabilities = Capabilities(text_limit=1_000_000, markdown="commonmark", reconcile=True)

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus

    async def start(self, receive: Receive) -> None:
        """Messages come through the gateway, which hands them to the inbox itself."""

    async def stop(self) -> None:
        """There is no connection to give up."""

    async def send(self, message: OutboundMessage) -> Delivery:
        """Tell the bus."""
        self._bus.fire(
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
        """It is always there."""
        return {"ok": True}
