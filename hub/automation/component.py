"""The automations, scripts and services of the hub, and their methods and webhooks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.agent.component.agents import AgentsComponent
from hub.automation.assembly import AutomationDependencies, AutomationEngine
from hub.automation.definition import commands
from hub.automation.definition.kinds import Kinds
from hub.automation.editing.schedule_editor import EVENT_SCHEDULED
from hub.automation.engine.makers import AutomationMakers
from hub.config.store import ConfigStore, ReloadResult
from hub.core.component import Component
from hub.core.events import Event
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodCall, MethodGroups, Route, RouteGroups
from hub.entities.component import EntitiesComponent
from hub.entities.entities import HomeEntities
from hub.entities.template_functions import RegistryFunctions
from hub.foundation import Foundation
from hub.gateway.connection.server import Gateway
from hub.gateway.push.automation_events import AutomationEvents
from hub.gateway.webhooks.webhooks import Webhooks
from hub.memory.registry import MemoryRegistry
from hub.messaging.channels import ChannelRegistry
from hub.messaging.component.messaging import MessagingComponent
from hub.messaging.inbox.sentence_matcher import Sentences
from hub.models.registry import ModelRegistry
from hub.sections import blueprint_folders
from hub.security.component import SecurityComponent
from hub.security.redaction import Redactor
from hub.sessions.store import SessionStore
from hub.storage.component import StorageComponent
from hub.tools.component import ToolsComponent

if TYPE_CHECKING:
    from hub.nodes.phones import Phones

MAKING = frozenset({"automation.save", "automation.duplicate", "blueprint.use", "cron.add", "cron.update"})
"""Methods that make or change an automation; their answer has its `id`."""
MAKERS_EVERY_S = 0.8


class AutomationComponentDependencies(Struct, frozen=True):
    """The dependencies of the component.

    Attributes:
        reload: Reloads and applies the configuration.
        restart: Ends this hub and begins a new one.
        stop: Ends the process.
    """

    gateway: Gateway
    security: SecurityComponent
    storage: StorageComponent
    tools: ToolsComponent
    models: ModelRegistry
    memory: MemoryRegistry
    sessions: SessionStore
    agents: AgentsComponent
    channels: ChannelRegistry
    messaging: MessagingComponent
    entities: EntitiesComponent
    phones: Callable[[], Phones]
    reload: Callable[[], Awaitable[ReloadResult]]
    restart: Callable[[], None]
    stop: Callable[[], None]


class AutomationComponent(Component):
    """The engine; it follows every change after the integrations, whose kinds it may use."""

    name = "automation"
    sections = frozenset({"automation", "script", *commands.NAMES})
    follows_all = True

    def __init__(self, base: Foundation, needs: AutomationComponentDependencies) -> None:
        self._base = base
        self._needs = needs
        self._authenticator = needs.gateway.authenticator
        self._webhooks = Webhooks(base.clock)
        agents, tools = needs.agents, needs.tools
        self.engine = AutomationEngine(
            AutomationDependencies(
                home=base.home,
                bus=base.bus,
                states=base.states,
                services=tools.services,
                clock=base.clock,
                repairs=base.repairs,
                lanes=agents.lanes,
                db=needs.storage.db,
                history=needs.storage.history,
                config=base.config,
                redactor=base.redactor,
                models=needs.models,
                tools=tools.tools,
                memory=needs.memory,
                sessions=needs.sessions,
                agents=agents.agents,
                workspaces=agents.workspaces,
                runner=agents.runner,
                channels=needs.channels,
                outbox=needs.messaging.outbox,
                approvals=tools.approvals,
                egress=needs.security.egress,
                people=needs.security.current_people,
                phones=needs.phones,
                kinds=Kinds(base.schemas.kinds),
                sources={
                    Webhooks: self._webhooks,
                    Sentences: needs.messaging.sentences,
                    HomeEntities: needs.entities.entities,
                },
                zone=base.zone,
                language=base.language,
                reload=needs.reload,
                restart=needs.restart,
                stop=needs.stop,
                registries=RegistryFunctions(needs.entities.registry, needs.entities.targets).all(),
                blueprint_folders=lambda: blueprint_folders(base.config.current, base.schemas.catalog),
            )
        )
        self.engine.parts.ids.named = needs.entities.registry.local_id
        self.engine.scripts.moves = needs.entities.entities.endangers
        self._makers = AutomationMakers(
            needs.storage.db, base.repairs, self.engine.automations, self._authenticator.all_valid
        )

    @property
    def is_busy(self) -> bool:
        """Whether an automation or a script runs, a trigger waits for its `for`, or a result for its next try."""
        return self.engine.is_busy

    @property
    def due(self) -> float | None:
        """When the first of all schedules comes due."""
        return self.engine.parts.timetable.due

    def stages(self) -> Sequence[Stage]:
        """Return the stages of the engine, and of the automations that end with the credentials they were made with."""
        return [
            Stage("automations", self._open, self.engine.close, 60.0),
            Stage("makers of automations", self._watch_makers, self._leave_makers),
        ]

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over automations, scripts and people."""
        await self.engine.apply(changed)

    def methods(self) -> MethodGroups:
        """Return the methods about automations, scripts, blueprints, schedules, services, states and events."""
        return {"automation": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        methods = automation_methods(
            self.engine,
            self._needs.agents.agents,
            self._base.config,
            self._base.redactor,
            self._needs.gateway.presence.beacon,
        )
        return [self._noting(each) if each.name in MAKING else each for each in methods]

    def routes(self) -> RouteGroups:
        """Return the addresses of webhooks."""
        return {"webhooks": self._load_routes}

    def _load_routes(self) -> Iterable[Route]:
        from hub.gateway.webhooks.routes import webhook_routes

        return webhook_routes(self._needs.gateway.ingress, self._webhooks)

    async def _open(self) -> None:
        AutomationEvents(self._base.bus, self._needs.gateway.broadcast, self._base.clock)
        await self.engine.open()

    def _noting(self, method: Method) -> Method:
        """Wrap a method that makes or changes an automation, to remember the credentials it was made with."""

        async def handler(call: MethodCall) -> Any:
            made = await method.handler(call)
            await self._makers.note(str(made["id"]), self._authenticator.links(call.caller))
            return made

        return replace(method, handler=handler)

    async def _note_scheduled(self, event: Event) -> None:
        """Remember the token or device on whose behalf an agent scheduled something."""
        data = event.data
        if data["made_by"] is not None and data["action"] != "removed":
            await self._makers.note(data["id"], self._authenticator.links_of(event.context.authority.principal))

    async def _watch_makers(self) -> None:
        await self._makers.open()
        self._unlisten = self._base.bus.listen(EVENT_SCHEDULED, self._note_scheduled)
        self._watching = self._base.tasks.spawn(self._end_made(), name="end what ended credentials made")

    async def _leave_makers(self) -> None:
        self._unlisten()
        self._watching.cancel()

    async def _end_made(self) -> None:
        while True:
            await self._makers.end()
            await self._base.clock.sleep(MAKERS_EVERY_S)


def automation_methods(
    engine: AutomationEngine,
    agents: Agents,
    config: ConfigStore,
    redactor: Redactor,
    beacon: Callable[[Mapping[str, Any], str | None], None],
) -> list[Method]:
    """Return the gateway methods of an engine."""
    from hub.automation.methods.automation_edits import AutomationEdits
    from hub.automation.methods.automation_trials import AutomationTrials
    from hub.automation.methods.automations import AutomationMethods
    from hub.automation.methods.blueprints import BlueprintMethods
    from hub.automation.methods.cron import CronMethods
    from hub.automation.methods.events import EventMethods
    from hub.automation.methods.scripts import ScriptMethods
    from hub.automation.methods.services import ServiceMethods
    from hub.entities.methods.states import StateMethods
    from hub.template.methods import TemplateMethods

    cron = CronMethods(
        engine.scheduled,
        engine.automations,
        engine.traces,
        agents,
        engine.system_events,
        heartbeats=engine.heartbeats,
        beacon=beacon,
    )
    return [
        *AutomationMethods(engine, redactor).methods(),
        *AutomationTrials(engine, redactor).methods(),
        *AutomationEdits(engine.editor).methods(),
        *BlueprintMethods(engine, config, redactor).methods(),
        *ScriptMethods(engine, redactor).methods(),
        *EventMethods(engine.parts.bus).methods(),
        *ServiceMethods(engine.parts.services, redactor).methods(),
        *StateMethods(engine.parts.states, redactor).methods(),
        *TemplateMethods(engine, redactor).methods(),
        *cron.methods(),
    ]
