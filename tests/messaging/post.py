"""The hub from a channel to an answer, over a channel that keeps what it is given."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import SCOPES, Authority
from hub.core.ids import new_id
from hub.core.stages import Stage
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.component.messaging import MessagingComponent
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
from hub.messaging.queue.queue_policy import QueueMode, QueuePolicy, QueueSettings
from tests.agent.house import AgentHouse

OWNER = Authority("owner", person="me", scopes=SCOPES, owner=True)
PEOPLE = [
    {"id": "me", "name": "Me", "owner": True, "identities": ["test:user:7"]},
    {"id": "anna", "name": "Anna", "identities": ["test:user:8"]},
]
LIMIT_S = 20.0
ONE_BY_ONE = QueueSettings(QueuePolicy(QueueMode.FOLLOWUP, debounce_ms=0), inbound_ms=0)
"""Each message is answered at once, in a turn of its own."""


@dataclass
class Pigeons:
    """A channel that keeps what it was given to send; it outlives the hubs that use it."""

    name: str = "test"
    account: str = "default"
    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(text=400))
    sent: list[OutboundMessage] = field(default_factory=list)
    receive: Receiver | None = None

    async def start(self, receive: Receiver) -> None:
        self.receive = receive
        receive.identified(f"id of {self.account}")
        receive.connected()

    async def stop(self) -> None:
        self.receive = None

    async def send(self, message: OutboundMessage) -> Delivery:
        self.sent.append(message)
        return Delivery(DeliveryState.DELIVERED, platform_ids=(str(len(self.sent)),))

    async def probe(self) -> dict[str, Any]:
        return {"ok": True}

    def texts(self, peer: str = "7") -> list[str]:
        """The messages of one chat."""
        return [message.text for message in self.sent if message.address.peer == peer]


class Post(AgentHouse):
    """The hub from a channel to an answer; may be broken off and stood up again over the same home."""

    def __init__(
        self,
        folder: Path,
        base_url: str,
        pigeons: Pigeons | None = None,
        settings: MessagingSettings | None = None,
        access: AccessPolicy | None = None,
        agents: tuple[dict[str, Any], ...] = (),
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            folder, base_url, agents, clock=clock, sections={"people": PEOPLE}, further=("approvals", "pairing", "runs")
        )
        self.tools.ask = None  # what needs the owner's word is refused, unless a test gives it
        self.messaging = self.component(MessagingComponent)
        self.router, self.owner_places = self.messaging.router, self.messaging.owner_places
        self.settings = settings or MessagingSettings(queue=ONE_BY_ONE)
        self.pigeons = pigeons or Pigeons()
        self._access = access or AccessPolicy(dm=DmPolicy.OPEN)

    @property
    def settings(self) -> MessagingSettings:
        """What holds for messages now."""
        return self.router.settings

    @settings.setter
    def settings(self, settings: MessagingSettings) -> None:
        self.config.current.or_default("hub")["language"] = settings.language
        self.outbox.configure(replace(self.outbox.settings, language=settings.language))
        self.router.settings = settings

    def stages(self) -> list[Stage]:
        """Return the stages, with that of the channel before what answers messages."""
        *before, runs = super().stages()
        assert runs.name == "runs"
        return [*before, Stage("pigeons", self._add_pigeons), runs]

    async def _add_pigeons(self) -> None:
        await self.channels.add(self.pigeons, self._access)

    async def said(self, text: str, id: str | None = None, who: str = "7", **more: Any) -> Receipt:
        """Say something through the channel."""
        group = more.pop("group", None)
        address = Address("test", group or who, chat_type=ChatType.GROUP if group else ChatType.DIRECT)
        message = InboundMessage(address, id or new_id(), f"test:user:{who}", text, **more)
        assert self.pigeons.receive is not None
        return await self.pigeons.receive(message)

    async def until_counts(self, **counts: int) -> None:
        """Wait until the outbox holds so many rows in each state."""
        async with asyncio.timeout(LIMIT_S):
            while await self.outbox.counts() != counts:  # noqa: ASYNC110  workers of its own come to it
                await asyncio.sleep(0.005)

    async def all_answered(self) -> None:
        """Wait until every message that was taken is answered, and nothing is left to send."""
        open_rows = (
            "SELECT 1 FROM inbox WHERE state IN ('received', 'queued')"
            " UNION ALL SELECT 1 FROM outbox WHERE state IN ('queued', 'sending')"
        )
        async with asyncio.timeout(LIMIT_S):
            while await self.rows(open_rows) or self.runner.active():  # noqa: ASYNC110  workers of its own come to it
                await asyncio.sleep(0.005)

    async def rows(self, sql: str) -> list[Any]:
        return await self.db.read(lambda connection: connection.execute(sql).fetchall())
