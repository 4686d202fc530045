"""An inbox over real parts: database, runner, transcripts, outbox, and a scripted model server on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hub.core.clock import Clock, ManualClock
from hub.core.context import SCOPES, Authority
from hub.core.ids import new_id
from hub.core.repairs import Repairs
from hub.core.secret import Secret
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.access.pairing import Pairings
from hub.messaging.access.router import Router
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.pairing_commands import add_pairing_command
from hub.messaging.commands.registry import Commands
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
from hub.messaging.cursors import Cursors
from hub.messaging.inbox.inbox import Inbox
from hub.messaging.inbox.media_store import MediaStore, Transcribe
from hub.messaging.outbox.outbound_policy import OutboxSettings
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.owner_place import OwnerPlaces
from hub.messaging.outbox.unsure_answers import UnsureAnswers
from hub.messaging.queue.queue import MessageQueue
from hub.messaging.queue.queue_policy import QueueMode, QueuePolicy, QueueSettings
from hub.models.commands import SettingCommandNeeds, add_setting_commands
from hub.security.people import People, Person
from hub.sessions.commands import SessionCommandNeeds, add_session_commands
from tests.agent.house import AgentHouse

OWNER = Authority("owner", person="me", scopes=SCOPES, owner=True)
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
        receive.connected(f"id of {self.account}")

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


class Post:
    """Everything between a channel and an answer; may be broken off and stood up again over the same home."""

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
        self.house = AgentHouse(folder, base_url, agents, clock=clock)
        self.repairs = Repairs(self.house.bus)
        self.channels = ChannelRegistry(self.house.bus, clock or Clock(), self.repairs)
        self.people = People(
            [
                Person("me", "Me", owner=True, identities=("test:user:7",)),
                Person("anna", "Anna", identities=("test:user:8",)),
            ],
            self.channels.is_home,
        )
        self.pigeons = pigeons or Pigeons()
        self._access = access or AccessPolicy(dm=DmPolicy.OPEN)
        house = self.house
        self.commands = Commands(lambda: self.settings.language)
        needs = SessionCommandNeeds(
            house.sessions,
            house.runner,
            house.models,
            house.agents,
            lambda: self.people,
            house.home.path,
            lambda: "webchat",
        )
        add_session_commands(self.commands, needs)
        add_setting_commands(self.commands, SettingCommandNeeds(house.sessions, house.models, house.agents))
        self.outbox = Outbox(
            house.db,
            self.channels,
            house.bus,
            clock or Clock(),
            house.tasks,
            repairs=self.repairs,
            settings=OutboxSettings(media_roots=tuple(agent.workspace for agent in house.agents.all())),
            hooks=house.hooks,
        )
        buttons = self.buttons = CommandButtons(Secret("key of buttons"), self.channels)
        unsure = UnsureAnswers(
            house.db,
            self.outbox,
            house.bus,
            clock or Clock(),
            house.tasks,
            language=lambda: self.settings.language,
            buttons=buttons,
        )
        self.commands.add(unsure.command())
        self.owner_places = OwnerPlaces(house.db, lambda: self.people, self.channels)
        self.pairing_clock = ManualClock()
        self.pairings = Pairings(
            house.db,
            self.outbox,
            places=self.owner_places,
            bus=house.bus,
            clock=self.pairing_clock,
            tasks=house.tasks,
            language=lambda: self.settings.language,
        )
        add_pairing_command(self.commands, self.pairings)
        self.router = router = Router(
            self.channels,
            house.agents,
            lambda: self.people,
            settings or MessagingSettings(queue=ONE_BY_ONE),
            models=house.models,
            paired=self.pairings.paired,
            session=house.sessions.get,
            buttons=buttons,
        )
        self.transcribe: Transcribe | None = None
        self.media = MediaStore(
            self.channels, house.workspaces, Clock(), lambda: self.settings.media, lambda: self.transcribe
        )
        queue = MessageQueue(
            house.db, router, house.runner, self.outbox, self.media, clock=house.clock, tasks=house.tasks
        )
        self.inbox = Inbox(
            house.db, router, queue, self.commands, self.outbox, buttons=buttons, bus=house.bus, clock=house.clock
        )
        self.inbox.handle_strangers_with(self.pairings.offer)
        self.channels.connect(self.inbox.receive, Cursors(house.db), router.admits)

    @property
    def settings(self) -> MessagingSettings:
        """What holds for messages now."""
        return self.router.settings

    @settings.setter
    def settings(self, settings: MessagingSettings) -> None:
        self.router.settings = settings

    async def open(self) -> int:
        """Stand up as the hub does; return how many messages are answered again."""
        await self.house.open()
        await self.pairings.open()
        await self.channels.add(self.pigeons, self._access)
        await self.outbox.open()
        return await self.inbox.recover()

    async def close(self) -> None:
        await self.house.tasks.cancel_all()
        await self.outbox.close()
        await self.house.close()

    async def said(self, text: str, id: str | None = None, who: str = "7", **more: Any) -> Receipt:
        """Say something through the channel."""
        group = more.pop("group", None)
        address = Address("test", group or who, chat_type=ChatType.GROUP if group else ChatType.DIRECT)
        message = InboundMessage(address, id or new_id(), f"test:user:{who}", text, **more)
        assert self.pigeons.receive is not None
        return await self.pigeons.receive(message)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(LIMIT_S):
            while not holds():  # noqa: ASYNC110  what is waited for is another side's doing
                await asyncio.sleep(0.005)

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
            while await self.rows(open_rows) or self.house.runner.active():  # noqa: ASYNC110  workers of its own come to it
                await asyncio.sleep(0.005)

    async def rows(self, sql: str) -> list[Any]:
        return await self.house.db.read(lambda connection: connection.execute(sql).fetchall())
