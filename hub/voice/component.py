"""The satellites of the home; a home without one imports nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hub.agent.component.agents import AgentsComponent
from hub.core.component import Component
from hub.core.stages import Stage
from hub.entities.entities import HomeEntities
from hub.foundation import Foundation
from hub.messaging.component.messaging import MessagingComponent
from hub.models.registry import ModelRegistry
from hub.security.people import People

if TYPE_CHECKING:
    from hub.voice.satellites import SatelliteRegistry


class VoiceComponent(Component):
    """The registry of satellites, made for the first."""

    name = "voice"

    def __init__(
        self,
        base: Foundation,
        messaging: MessagingComponent,
        agents: AgentsComponent,
        models: ModelRegistry,
        entities: HomeEntities,
        people: Callable[[], People],
    ) -> None:
        self._base, self._messaging, self._agents = base, messaging, agents
        self._models, self._entities, self._people = models, entities, people
        self._satellites: SatelliteRegistry | None = None

    @property
    def known(self) -> SatelliteRegistry | None:
        """The satellites, if there ever was one."""
        return self._satellites

    def satellites(self) -> SatelliteRegistry:
        """Return the satellites of the home."""
        if self._satellites is None:
            from hub.voice.engines import VoiceEngines
            from hub.voice.satellites import SatelliteRegistry, VoiceParts

            base, messaging = self._base, self._messaging
            parts = VoiceParts(
                clock=base.clock,
                bus=base.bus,
                channels=messaging.outbox.channels,
                inbox=messaging.inbox,
                outbox=messaging.outbox,
                entities=self._entities,
                engines=VoiceEngines(self._models, base.clock, lambda: messaging.router.settings.transcription_model),
                people=self._people,
                agent=self._agent,
                language=base.language,
                abort=self._agents.runner.abort,
            )
            self._satellites = SatelliteRegistry(parts)
        return self._satellites

    def stages(self) -> Sequence[Stage]:
        """Return the stage that ends what goes on at satellites."""
        return [Stage("voice", None, self._stop)]

    async def _stop(self) -> None:
        if self._satellites is not None:
            await self._satellites.close()

    def _agent(self, id: str | None) -> str:
        agents = self._agents.agents
        return (agents.default() if id is None else agents.get(id)).id
