"""A channel whose tokens are good when they say so; services take what somebody says, and tell what was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.errors import Unavailable
from hub.core.schema import Required, Schema, string
from hub.core.services import ResponseMode, ServiceCall
from hub.host import IntegrationHost
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMessage,
    Receiver,
)
from hub.messaging.schema import access_policy

CHANNEL = ChatType.CHANNEL
LAND = Schema({Required("who"): string, Required("text"): string, Required("id"): string})


class Ferry:
    """One account; to `nobody` nothing can be sent, what is sent to `fog` may be lost, and `away` comes back later."""

    name = "ferry"
    limits = ChannelLimits(caption=100, media=frozenset({MediaKind.FILE}))

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.account: str = config["account"]
        self._token: str = config["token"].reveal()
        self.sent: list[str] = []

    async def start(self, receive: Receiver) -> None:
        self._receive = receive
        if self._token.startswith("good"):
            receive.identified(f"bot-{self._token}", "The ferry")
            receive.connected()
        else:
            receive.disconnected("the token was refused", permanent=True)

    async def stop(self) -> None: ...

    async def send(self, message: OutboundMessage) -> Delivery:
        if message.address.peer == "nobody":
            return Delivery(DeliveryState.PERMANENT, error="there is no such pier")
        if message.address.peer == "fog":
            return Delivery(DeliveryState.UNKNOWN, error="no answer came back")
        if message.address.peer == "away":
            return Delivery(DeliveryState.TRANSIENT, error="it is at the other pier", retry_after_s=600)
        self.sent.append(message.text)
        return Delivery(DeliveryState.DELIVERED, platform_ids=(f"{len(message.text)}-{len(message.media)}",))

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        self.sent.append(f"{platform_id} {emoji}")
        return Delivery(DeliveryState.DELIVERED, platform_ids=(platform_id,))

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        if query == "storm":
            raise Unavailable("nobody answers in a storm")
        people = {"pier-7": "Anna of pier 7", "pier-70": "Annabel"}
        known = [*(DirectoryEntry(*each) for each in people.items()), DirectoryEntry("quay", "The Quay", CHANNEL)]
        return [each for each in known if query.casefold() in each.name.casefold()]

    async def land(self, who: str, text: str, id: str) -> None:
        """Take what somebody says."""
        message = InboundMessage(
            Address(self.name, who, self.account), id, f"ferry:user:{who}", text, sender_name="Per"
        )
        await self._receive(message)

    async def probe(self) -> dict[str, Any]:
        return {"ok": self._token.startswith("good"), "as": self._token[-1], "rights": ["It may land."]}


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Log all accounts in."""
    ferries = [Ferry(account) for account in config]

    async def land(call: ServiceCall) -> Mapping[str, Any]:
        await ferries[0].land(**call.data)
        return {}

    async def sent(call: ServiceCall) -> Mapping[str, Any]:
        return {"texts": ferries[0].sent}

    host.services.register("land", land, LAND, ResponseMode.OPTIONAL)
    host.services.register("sent", sent, None, ResponseMode.OPTIONAL)
    for account, ferry in zip(config, ferries, strict=True):
        await host.channels.add(ferry, access_policy(account))
