"""A channel whose tokens are good when they say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub.host import IntegrationHost
from hub.messaging.contract import ChannelLimits, Delivery, DeliveryState, MediaKind, OutboundMessage, Receiver
from hub.messaging.schema import access_policy


class Ferry:
    """One account."""

    name = "ferry"
    limits = ChannelLimits(caption=100, media=frozenset({MediaKind.FILE}))

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.account: str = config["account"]
        self._token: str = config["token"].reveal()

    async def start(self, receive: Receiver) -> None:
        if self._token.startswith("good"):
            receive.connected(f"bot-{self._token}", "The ferry")
        else:
            receive.disconnected("the token was refused", permanent=True)

    async def stop(self) -> None: ...

    async def send(self, message: OutboundMessage) -> Delivery:
        if message.address.peer == "nobody":
            return Delivery(DeliveryState.PERMANENT, error="there is no such pier")
        return Delivery(DeliveryState.DELIVERED, platform_ids=(f"{len(message.text)}-{len(message.media)}",))

    async def probe(self) -> dict[str, Any]:
        return {"ok": self._token.startswith("good"), "as": self._token[-1]}


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Log all accounts in."""
    for account in config:
        await host.channels.add(Ferry(account), access_policy(account))
