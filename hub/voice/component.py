"""The satellites of the home; a home without one imports nothing of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from hub.agent.component.agents import AgentsComponent
from hub.automation.schedule.timetable import Timetable
from hub.core.component import Component
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.core.stages import Stage
from hub.entities.component import EntitiesComponent
from hub.entities.entities import HomeEntities
from hub.foundation import Foundation
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall
from hub.messaging.component.messaging import MessagingComponent
from hub.models.registry import ModelRegistry
from hub.security.egress import Egress
from hub.security.people import People
from hub.storage.database import Database
from hub.tools.component import ToolsComponent

if TYPE_CHECKING:
    from hub.voice.engines import VoiceEngines
    from hub.voice.satellites import SatelliteRegistry
    from hub.voice.timers import SatelliteTimers
    from hub.voice.turn_log import TurnLog
    from hub.voice.wake import SoundStream, WakeEngine


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
        reload: Callable[[], Awaitable[Any]],
    ) -> None:
        self._base, self._messaging, self._agents = base, messaging, agents
        self._models, self._entities, self._people = models, entities, people
        self._reload = reload
        self._withdraw: Callable[[], object] | None = None
        self._satellites: SatelliteRegistry | None = None
        self._section: Mapping[str, Any] = {}
        self._wake_engines: dict[WakeEngine, Callable[[], object]] = {}
        self.furnish: Callable[[SatelliteRegistry], None] | None = None
        """Called with the first satellite."""
        self.timers: SatelliteTimers | None = None
        """The timers, once there was a satellite."""

    @cached_property
    def turns(self) -> TurnLog:
        """What was said at satellites and in talks."""
        from hub.voice.turn_log import TurnLog

        return TurnLog(self._base.bus, self._base.clock)

    @cached_property
    def _engines(self) -> VoiceEngines:
        from hub.voice.engines import VoiceEngines

        return VoiceEngines(
            self._models,
            self._base.clock,
            lambda: self._messaging.router.settings.transcription_model,
            lambda: self._base.config.current.raw.get("speech") or {},
        )

    def satellites(self) -> SatelliteRegistry:
        """Return the satellites of the home."""
        if self._satellites is None:
            from hub.voice.satellites import SatelliteRegistry, VoiceParts

            base, messaging = self._base, self._messaging
            parts = VoiceParts(
                clock=base.clock,
                bus=base.bus,
                channels=messaging.outbox.channels,
                inbox=messaging.inbox,
                outbox=messaging.outbox,
                entities=self._entities,
                engines=self._engines,
                turns=self.turns,
                people=self._people,
                agent=self._agent,
                language=base.language,
                abort=self._agents.runner.abort,
                prepare=self._prepare,
            )
            self._satellites = SatelliteRegistry(parts)
            self._satellites.configure(self._section)
            for engine in self._wake_engines:
                self._wake_engines[engine] = self._satellites.wake_engines.add(engine)
            if self.furnish is not None:
                self._satellites.furnish = partial(self.furnish, self._satellites)
        return self._satellites

    def open(self) -> SatelliteRegistry:
        """Return the satellites with what a home with satellites has, also while only another hub's are here."""
        satellites = self.satellites()
        if self.furnish is not None:
            self.furnish(satellites)
        return satellites

    def add_wake_engine(self, engine: WakeEngine) -> Callable[[], None]:
        """Find wake words with an engine, as soon as there is a satellite; return a function that removes it."""
        self._wake_engines[engine] = bool if self._satellites is None else self._satellites.wake_engines.add(engine)

        def remove() -> None:
            self._wake_engines.pop(engine, bool)()

        return remove

    def judge(self, place: str, judged: Callable[[float], None]) -> SoundStream | None:
        """Tell speech from other sounds where somebody talks; see `CanJudgeSpeech.judge`."""
        from hub.voice.wake import judge_of

        return judge_of(self._wake_engines, place, judged)

    def configure(self, section: Mapping[str, Any]) -> None:
        """Put the valid section `voice` into force, also for satellites that come later; an empty one ends that."""
        self._section = section
        if section and self._withdraw is None:
            self._withdraw = self._messaging.commands.add(
                ChatCommand(
                    "voice",
                    self._command,
                    Category.OPTIONS,
                    people_only=True,
                    arguments="[status|list|set VOICE]",
                    aliases=("talkvoice",),
                )
            )
        elif not section and self._withdraw is not None:
            self._withdraw()
            self._withdraw = None
        if self._satellites is not None:
            self._satellites.configure(section)

    async def _command(self, call: CommandCall) -> str:
        from hub.voice.commands import VoiceCommand

        base = self._base
        return await VoiceCommand(self._models, self._engines, base.config, self._reload, base.language).run(call)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that ends what goes on at satellites."""
        return [Stage("voice", None, self._stop)]

    async def _stop(self) -> None:
        if self._satellites is not None:
            await self._satellites.close()

    def _agent(self, id: str | None) -> str:
        agents = self._agents.agents
        return (agents.default() if id is None else agents.get(id)).id

    async def _prepare(self, agent: str | None, language: str | None) -> None:
        known = {each.id: each for each in self._agents.agents.all()}
        await self._models.prepare(known.get(agent or "", self._agents.agents.default()).model, language)


class RoomsComponent(Component):
    """Timers that ring at satellites, announcements, and the tools for both; there once there is a satellite.

    Args:
        voice: Has the satellites.
        db: Keeps the timers.
        tools: The tools of agents, and the services.
        targets: Finds satellites.
        timetable: Returns the timetable of all schedules.
        egress: Fetches recordings.
    """

    name = "rooms"

    def __init__(
        self,
        base: Foundation,
        voice: VoiceComponent,
        tools: ToolsComponent,
        entities: EntitiesComponent,
        *,
        db: Database,
        timetable: Timetable,
        egress: Egress,
    ) -> None:
        self._base, self._voice, self._tools, self._entities = base, voice, tools, entities
        self._db, self._timetable, self._egress = db, timetable, egress
        voice.furnish = self._furnish

    def stages(self) -> Sequence[Stage]:
        """Return the stage that goes on with the timers that were running."""
        return [Stage("timers of satellites", self._start, self._stop)]

    @property
    def timers(self) -> SatelliteTimers | None:
        """The timers, once there was a satellite."""
        return self._voice.timers

    @property
    def is_busy(self) -> bool:
        """Whether a timer rings; those that run are in the timetable."""
        timers = self.timers
        return timers is not None and any(map(timers.is_ringing, timers.all()))

    async def _start(self) -> None:
        query = "SELECT 1 FROM satellite_timers LIMIT 1"
        if await self._db.read(lambda connection: connection.execute(query).fetchone()) is not None:
            self._furnish(self._voice.satellites())

    async def _stop(self) -> None:
        if self.timers is not None:
            self.timers.close()

    def _furnish(self, satellites: SatelliteRegistry) -> None:
        if self.timers is not None:
            return
        from hub.voice.announcements import Announcements
        from hub.voice.media import Recordings
        from hub.voice.timers import SatelliteTimers, TimerDependencies
        from hub.voice.tools import RoomTools

        base, services, entities = self._base, self._tools.services, self._entities
        timers = self._voice.timers = SatelliteTimers(
            TimerDependencies(
                satellites=satellites,
                db=self._db,
                timetable=self._timetable,
                services=services,
                bus=base.bus,
                clock=base.clock,
                tasks=satellites.tasks,
                announce=self._announce,
                zone=base.zone,
                area=self._area,
                snooze_minutes=satellites.snooze_minutes,
            )
        )
        satellites.ring_answered = timers.heard
        timers.register()
        recordings = Recordings(base.home.path, self._egress)
        announcements = Announcements(satellites, entities.entities, entities.targets, services, recordings)
        announcements.register()
        tools = RoomTools(
            satellites,
            timers,
            announcements,
            base.clock,
            language=satellites.language,
            area=self._area,
            zone=base.zone,
        )
        for each in tools.tools():
            self._tools.tools.register(each)
        satellites.tasks.spawn(timers.open(), name="timers of satellites")

    async def _announce(self, entity_id: str, text: str) -> None:
        """Say a text on the satellite of another hub, which is an entity here.

        Raises:
            Unavailable: It is away, or cannot.
        """
        handle = self._entities.entities.get(entity_id)
        announce = handle.commands.get("announce") if handle is not None and handle.is_available else None
        if announce is None:
            raise Unavailable(phrase("{name} cannot be reached", name=entity_id))
        await announce({"message": text})

    def _area(self, id: str | None) -> str | None:
        area = self._entities.entities.registry.areas.get(id or "")
        return area.name if area is not None else None
