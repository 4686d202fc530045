"""The channel: what people say at the door comes over HTTP, what is answered is written into a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    InboundMessage,
    OutboundMessage,
    Receipt,
    Receiver,
)


class Door:
    """One door; `refuses` in its folder makes it refuse, `away` makes it be away."""

    name = "doorbell"
    account = "default"
    limits = ChannelLimits(text=200)

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._receive: Receiver | None = None

    async def start(self, receive: Receiver) -> None:
        self._receive = receive
        receive.identified("bell-1")
        receive.connected()

    async def stop(self) -> None:
        self._receive = None

    async def send(self, message: OutboundMessage) -> Delivery:
        if (self._folder / "refuses").exists():
            return Delivery(DeliveryState.PERMANENT, error="nobody opens")
        if (self._folder / "away").exists():
            return Delivery(DeliveryState.TRANSIENT, error="nobody is there", retry_after_s=0.05)
        sent = {"id": message.id, "to": message.address.peer, "text": message.text, "reply_to": message.reply_to}
        with (self._folder / "sent.jsonl").open("a") as file:
            file.write(json.dumps(sent) + "\n")
        return Delivery(DeliveryState.DELIVERED, platform_ids=(f"door-{message.id}",))

    async def probe(self) -> dict[str, Any]:
        return {"ok": True}

    async def said(self, heard: dict[str, Any]) -> Receipt:
        """Take what somebody said: `id`, `who`, `text`, and `group` when it was said among several."""
        assert self._receive is not None
        group = heard.get("group")
        address = Address(self.name, group or heard["who"], chat_type=ChatType.GROUP if group else ChatType.DIRECT)
        message = InboundMessage(
            address,
            heard["id"],
            f"doorbell:user:{heard['who']}",
            heard["text"],
            mentioned=heard.get("mentioned", False),
        )
        return await self._receive(message)
