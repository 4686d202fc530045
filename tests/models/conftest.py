"""A registry with a bus, repairs and a clock that stands still, and a provider that plays what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.integration.catalog import find, model_apis
from hub.models.contract import ModelEvent, ModelInfo, ModelRequest, StopEvent, StopReason, TextDelta
from hub.models.cooldowns import Cooldowns
from hub.models.provider_config import ProviderConfig
from hub.models.registry import ModelRegistry
from hub.models.vendors import LITELLM_API, OFFLINE_API, OPENAI_API

Play = list[ModelEvent | Exception]
ANSWER: Play = [TextDelta("ok"), StopEvent(StopReason.END)]


@dataclass
class Player:
    """A provider that plays one list of events and errors after the other, then answers ok."""

    name: str
    config: ProviderConfig | None = None
    plays: list[Play] = field(default_factory=list)
    listed: list[ModelInfo] = field(default_factory=list)
    asked_for_list: int = 0
    asked: list[ModelRequest] = field(default_factory=list)
    closed: bool = False
    warmed: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.asked.append(request)
        for item in self.plays.pop(0) if self.plays else ANSWER:
            if isinstance(item, Exception):
                raise item
            yield item

    async def models(self) -> list[ModelInfo]:
        self.asked_for_list += 1
        return self.listed

    async def warm_up(self) -> None:
        self.warmed.set()

    async def close(self) -> None:
        self.closed = True


@dataclass
class World:
    """What a registry lives in, and every provider it made, by name."""

    bus: EventBus
    clock: ManualClock
    repairs: Repairs
    made: dict[str, Player]
    registries: list[ModelRegistry]

    def registry(
        self,
        config: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        apis: tuple[str, ...] = (OPENAI_API, LITELLM_API, OFFLINE_API),
        cooldowns: Cooldowns | None = None,
    ) -> ModelRegistry:
        speakers = model_apis(find(None))
        registry = ModelRegistry(
            config,
            self.bus,
            self.clock,
            self.repairs,
            environment=environment or {},
            speakers=speakers,
            cooldowns=cooldowns,
        )
        for api in apis:
            registry.register_api(api, self.make)
        self.registries.append(registry)
        return registry

    def make(self, name: str, config: ProviderConfig) -> Player:
        self.made[name] = Player(name, config)
        return self.made[name]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    tasks = TaskOwner("test")
    bus = EventBus(tasks)
    made = World(bus, ManualClock(), Repairs(bus), {}, [])
    yield made
    for registry in made.registries:
        await registry.close()
    await tasks.cancel_all()
