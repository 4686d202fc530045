"""Four accounts of `tests.faults.numbers_platform`, of which two show a message once however often it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from hub.core.errors import HubError
from hub.host import IntegrationHost
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    InboundMessage,
    OutboundMessage,
    Receiver,
)

ACCOUNTS = {"a": True, "b": True, "c": False, "d": False}
SENT_LIMIT_S = 60.0
AGAIN_S = 0.2


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Add the accounts."""
    for account, idempotent in ACCOUNTS.items():
        channel = Numbers(account, config["port"], idempotent=idempotent)
        await host.channels.add(channel, AccessPolicy(dm=DmPolicy.OPEN, allow_from=frozenset({"*"})))


class Numbers:
    """One account: the platform pushes messages until they are acknowledged, and confirms what it was sent."""

    name = "numbers"

    def __init__(self, account: str, port: int, *, idempotent: bool) -> None:
        self.account = account
        self.limits = ChannelLimits(text=100_000, idempotent=idempotent)
        self._port = port
        self._sending: dict[str, asyncio.Future[None]] = {}

    async def start(self, receive: Receiver) -> None:
        """Connect and listen."""
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)
        self._write({"hello": self.account})
        self._listening = asyncio.create_task(self._listen(reader, receive))

    async def stop(self) -> None:
        """Disconnect."""
        self._listening.cancel()
        self._writer.close()

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message and wait until the platform has it."""
        self._sending[message.id] = asyncio.get_running_loop().create_future()
        self._write({"send": message.id, "text": message.text})
        try:
            await asyncio.wait_for(self._sending[message.id], SENT_LIMIT_S)
        except TimeoutError:
            return Delivery(DeliveryState.UNKNOWN, error="no answer")
        return Delivery(DeliveryState.DELIVERED, platform_ids=(message.id,))

    async def probe(self) -> dict[str, Any]:
        """Return that it is connected."""
        return {"ok": True}

    async def _listen(self, reader: asyncio.StreamReader, receive: Receiver) -> None:
        receive.identified(self.account)
        receive.connected()
        while line := await reader.readline():
            told = json.loads(line)
            if "sent" in told:
                sent = self._sending.pop(told["sent"], None)
                if sent is not None and not sent.done():  # else a hub sent it that has the home no more
                    sent.set_result(None)
                continue
            peer = f"peer-{self.account}"
            message = InboundMessage(
                Address(self.name, peer, self.account), told["id"], f"numbers:user:{peer}", told["text"]
            )
            await self._hand_over(message, receive)
            self._write({"ack": told["id"]})

    async def _hand_over(self, message: InboundMessage, receive: Receiver) -> None:
        """Offer a message until it is taken, and none behind it before."""
        while True:
            try:
                await receive(message)
            except HubError:
                await asyncio.sleep(AGAIN_S)
            else:
                return

    def _write(self, told: Mapping[str, Any]) -> None:
        self._writer.write(json.dumps(told).encode() + b"\n")
