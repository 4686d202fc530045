"""The bridge over the real parts of a bench, and a device beside it at the same broker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import aiomqtt

from hub.core.clock import ALWAYS, Lease
from hub.core.context import system_context
from hub.entities.entities import HomeEntities
from hub.entities.registry import VERSION, HomeRegistry
from hub.entities.services import EntityServices
from hub.entities.targets import Targets
from hub.gateway.calls.method_table import MethodTable
from hub.gateway.calls.routes import RouteTable
from hub.gateway.pages import PageTable
from hub.security.egress import Egress
from hub.security.rate_limit import AttemptLimiter
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.versioned_file import VersionedFile
from integrations.devices import mqtt
from integrations.devices.mqtt.connection import AT_ONCE
from integrations.devices.mqtt.schema import CONFIG_SCHEMA
from tests.automation.triggers.bench import Bench
from tests.hosting import host_on
from tests.nodes.making import make_nodes

LIMIT_S = 30.0


class MqttKit(Bench):
    """A bench with the bridge on it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.home = Home(folder)
        self.home.create()
        self.services = self.parts.services
        self.allow_private: set[str] = set()
        self.egress = Egress(lambda: self.allow_private)
        self.repairs = self.parts.repairs
        door = SimpleNamespace(attempts=AttemptLimiter(self.clock))
        url = "http://127.0.0.1:18789"
        self.gateway = SimpleNamespace(methods=MethodTable(), routes=RouteTable(), url=url, authenticator=door)
        self.config = SimpleNamespace(
            current=SimpleNamespace(or_default=lambda _: {"time_zone": "UTC", "language": "en", "name": "Home"}, raw={})
        )
        self.registry = HomeRegistry(
            VersionedFile(folder / "registry.json", VERSION), self.bus, self.states, self.tasks
        )
        self.entities = HomeEntities(self.registry, self.states, self.bus)
        self.targets = Targets(self.registry, self.states)
        EntityServices(self.entities, self.targets, self.services).register()
        self.db = Database(self.home.hub_db, HUB_MIGRATIONS, synchronous="NORMAL")
        self.nodes = make_nodes(self.bus, self.clock.time, self.tasks)
        self.pages = PageTable(self.gateway.routes)
        self.lease: Lease = ALWAYS

    async def set_up(self, config: Mapping[str, Any]) -> None:
        """Set the integration up, and wait for the broker."""
        self.host, self.registrations = host_on(self, "mqtt")
        await mqtt.setup(self.host, CONFIG_SCHEMA(dict(config)))

    async def call(self, service: str, **data: Any) -> None:
        """Call a service as the hub does."""
        domain, _, name = service.partition(".")
        await self.services.call(domain, name, data, context=system_context())

    def state(self, entity_id: str) -> str | None:
        """Return the state of an entity, None when there is none."""
        found = self.states.get(entity_id)
        return found.state if found is not None else None

    def attribute(self, entity_id: str, name: str) -> Any:
        """Return an attribute of an entity."""
        found = self.states.get(entity_id)
        return found.attributes.get(name) if found is not None else None

    async def ask(self, method: str, **params: Any) -> Any:
        """Call a gateway method."""
        found = self.gateway.methods.get(method)
        return await found.handler(SimpleNamespace(params=found.schema(params), context=system_context()))

    async def until_connected(self, is_connected: bool = True) -> None:
        """Wait until there is a connection, or none."""
        async with asyncio.timeout(LIMIT_S):
            while (await self.ask("mqtt.status"))["connected"] is not is_connected:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def until_connected_again(self) -> None:
        """Let time pass until one of the attempts to connect succeeds."""
        async with asyncio.timeout(LIMIT_S):
            while not (await self.ask("mqtt.status"))["connected"]:
                await self.clock.advance(3)
                await asyncio.sleep(0.02)

    async def tear_down(self) -> None:
        """Unload it."""
        self.disarm()
        await self.registrations.undo_all()
        await self.tasks.cancel_all()
        await self.db.close()


class Device:
    """Something at the broker; `heard` is what came on the topics that it reads."""

    def __init__(self, port: int, name: str | None = None, **options: Any) -> None:
        made: dict[str, Any] = {"identifier": name, "socket_options": AT_ONCE, "timeout": LIMIT_S, **options}
        self.client = aiomqtt.Client("127.0.0.1", port, **made)
        self.heard: list[tuple[str, str]] = []

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self.client.__aexit__(None, None, None)

    async def say(self, topic: str, payload: str | bytes = "", *, retain: bool = False, qos: int = 1) -> None:
        await self.client.publish(topic, payload, qos=qos, retain=retain)

    async def read(self, topic_filter: str) -> None:
        await self.client.subscribe(topic_filter, qos=1)

    async def _read(self) -> None:
        async for message in self.client.messages:
            self.heard.append((message.topic.value, bytes(message.payload).decode()))
