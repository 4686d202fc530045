"""A channel: people talk to the assistant through it. This one speaks lines over TCP: `ID SENDER TEXT`.

In `configuration.yaml`: `kiosk: {port: 7777}`. With the defaults a stranger gets a pairing code and nothing else. To
be answered yourself, put your identity there too:
`people: [{id: me, name: Me, owner: true, identities: ["kiosk:user:ada"]}]`.

- `receive` carries no rights. Who may talk is decided from `sender`, a typed identity that begins with the channel's
  name and never changes (`kiosk:user:ada`, not a display name). Only use an identity that the platform proves.
- `message_id` must never come again for the same peer: (channel, account, peer, message id) is handled once, ever. A
  counter that starts at 0 after a restart loses messages; use the platform's ids, or keep it in `host.storage`.
- `receive` returns when the message is on disk: acknowledge it to the platform only then.
- `send` returns a `Delivery` and does not raise for what a platform may answer; `TRANSIENT` is tried again.
- `limits` says what one message can hold: `text` (the longest text, at least 64; longer answers are split), `unit`
  (what it is counted in), `markup`, `media`, `buttons`.
- `ACCESS_KEYS` of `schema.py` are the keys that say who may talk, the same for every channel; without them
  `access_policy(config)` fails. Without `access_policy(config)`, `host.channels.add(channel)` answers the owner alone.
- `host.channels.add(…, home=True)` makes it the channel of the hub's own conversations, those of the dashboard and the
  command line, whose senders the gateway has authenticated. There is one (`webchat`): leave it out.
- A channel that can do more has further methods: `hub/messaging/capabilities.py`.
- What channels share is in the modules of `integrations/channels/`, for yours too: requests and what their failures
  mean for a message (`http_api`), connections that are made again (`reconnecting`), rooms that are read after a pause
  (`followed_rooms`).

The contract: `hub/messaging/contract.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.host import IntegrationHost
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    InboundMessage,
    OutboundMessage,
    Receiver,
)
from hub.messaging.schema import access_policy


async def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Start the channel, if it has a port."""
    if "port" in config:
        await host.channels.add(Lines(config["account"], config["port"]), access_policy(config))


class Lines:
    """Talks to whoever connects to a port."""

    name = "kiosk"
    limits = ChannelLimits(text=1_000)

    def __init__(self, account: str, port: int) -> None:
        self.account = account
        self._port = port
        self._writers: dict[str, asyncio.StreamWriter] = {}

    async def start(self, receive: Receiver) -> None:
        """Listen."""
        self._receive = receive
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    async def stop(self) -> None:
        """Let go of everybody."""
        self._server.close()
        for writer in self._writers.values():
            writer.close()

    async def send(self, message: OutboundMessage) -> Delivery:
        """Write a message as one line to its peer, while that is connected."""
        writer = self._writers.get(message.address.peer)
        if writer is None or writer.is_closing():
            return Delivery(DeliveryState.TRANSIENT, error="no one is connected", retry_after_s=5)
        writer.write(message.text.replace("\n", " ").encode() + b"\n")
        await writer.drain()
        return Delivery(DeliveryState.DELIVERED)

    async def probe(self) -> dict[str, object]:
        """Say whether it works, for `homarus channels status`."""
        return {"ok": self._server.is_serving()}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := (await reader.readline()).decode(errors="replace").strip():
            message_id, sender, text = line.split(" ", 2)
            self._writers[sender] = writer
            address = Address(self.name, sender, self.account)
            await self._receive(InboundMessage(address, message_id, f"kiosk:user:{sender}", text))
        writer.close()
