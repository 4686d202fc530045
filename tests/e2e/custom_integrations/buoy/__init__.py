"""A channel that is linked to a phone: the second look at its code finds it scanned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub.host import IntegrationHost
from hub.messaging.capabilities import LinkStep
from hub.messaging.contract import ChannelLimits, Delivery, DeliveryState, OutboundMessage, Receiver
from hub.messaging.schema import access_policy


class Buoy:
    """One account."""

    name = "buoy"
    limits = ChannelLimits()

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.account: str = config["account"]
        self._colour: str = config["colour"]
        self._step = LinkStep()
        self._looks = 0

    async def start(self, receive: Receiver) -> None:
        self._receive = receive
        receive.disconnected("it is not linked to a phone", permanent=True)

    async def stop(self) -> None: ...

    async def send(self, message: OutboundMessage) -> Delivery:
        return Delivery(DeliveryState.TRANSIENT)

    async def probe(self) -> dict[str, Any]:
        return {"ok": self._step.linked}

    async def link(self, number: str | None = None) -> LinkStep:
        self._looks = 0
        black = LinkStep(error="nobody sees it at night")
        self._step = (
            black if self._colour == "black" else LinkStep(code=f"CODE-{number}") if number else LinkStep(qr="b")
        )
        return self._step

    def link_step(self) -> LinkStep:
        self._looks += 1
        if self._looks == 2 and self._step.error is None:
            self._step = LinkStep(linked=True)
            self._receive.identified("buoy-7", "The buoy")
            self._receive.connected()
        return self._step


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add all accounts."""
    for account in config:
        await host.channels.add(Buoy(account), access_policy(account))
