"""Builds the engine: automations, scripts, their services, traces and blueprints, from the hub's parts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.runner import AgentRunner
from hub.agent.workspace.workspace import Workspaces
from hub.automation.blueprints.blueprints import Blueprints
from hub.automation.contract import Location
from hub.automation.definition.commands import NAMES
from hub.automation.definition.kinds import Kinds
from hub.automation.editing.automation_editor import AutomationEditor
from hub.automation.editing.automations_file import AutomationsFile
from hub.automation.editing.schedule_editor import ScheduleService
from hub.automation.engine.automations import SECTION, Automations
from hub.automation.engine.environment import EngineEnvironment
from hub.automation.engine.parts import AutomationParts
from hub.automation.engine.result_notice import ResultNotices
from hub.automation.engine.saved_states import KeptStates
from hub.automation.engine.script import ScriptEnvironment
from hub.automation.engine.scripts import SECTION as SCRIPTS, Scripts
from hub.automation.heartbeat.heartbeats import HeartbeatDependencies, Heartbeats
from hub.automation.running.run import RunState
from hub.automation.running.template_functions import TemplateFunctions
from hub.automation.running.waiting import WaitingRuns
from hub.automation.schedule.timetable import Timetable
from hub.automation.services.addresses import Addresses
from hub.automation.services.agent_run import AgentRunService
from hub.automation.services.agent_runs import AgentRuns
from hub.automation.services.automations import register_automation_services
from hub.automation.services.delivery import ResultDelivery
from hub.automation.services.heartbeat import register_heartbeat
from hub.automation.services.hub_services import HubControl, register_hub, register_logbook, register_notices
from hub.automation.services.judge import Judge
from hub.automation.services.memory import MemoryServices
from hub.automation.services.messages import Messages
from hub.automation.services.remembered_pages import RememberedPages
from hub.automation.services.system_event_queue import SystemEvents
from hub.automation.services.system_events import register_system_events
from hub.automation.services.tools import register_tools
from hub.automation.services.web import register_web
from hub.automation.tracing.budgets import watch_limits
from hub.automation.tracing.spending import SpendingLog
from hub.automation.tracing.trace import plain_value
from hub.automation.tracing.trace_store import TraceStore
from hub.config.checked import Config
from hub.config.store import ConfigStore, ReloadResult
from hub.core.clock import Clock
from hub.core.events import EventBus, Unsubscribe
from hub.core.lanes import Lanes
from hub.core.phrases import phrase
from hub.core.repairs import Repairs
from hub.core.secret import SecretMask
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.hooks.registry import Hooks
from hub.memory.registry import MemoryRegistry
from hub.messaging.channels import ChannelRegistry
from hub.messaging.outbox.outbox import Outbox
from hub.models.registry import ModelRegistry
from hub.security.egress import Egress
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.file_watch import FileWatch
from hub.storage.history import HistoryStore
from hub.storage.homedir import Home
from hub.template.engine import TemplateEngine
from hub.tools.approval import Ask
from hub.tools.approvals import Approvals
from hub.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from hub.automation.services.commands import CommandServices
    from hub.automation.services.drafting import Drafted
    from hub.nodes.phones import Phones

COMMANDS = frozenset(NAMES)


class AutomationDependencies(Struct, frozen=True):
    """The dependencies of the engine.

    Attributes:
        people, zone, language: As configured now.
        reload: Reloads and applies the configuration.
        restart: Ends this hub and begins a new one.
        stop: Ends the process.
        sources: What triggers watch that other parts have, by its class.
        registries: Functions of templates over the registries of the home.
    """

    home: Home
    bus: EventBus
    states: StateMachine
    services: ServiceRegistry
    clock: Clock
    repairs: Repairs
    lanes: Lanes
    db: Database
    history: HistoryStore
    config: ConfigStore
    redactor: Redactor
    models: ModelRegistry
    tools: ToolRegistry
    memory: MemoryRegistry
    sessions: SessionStore
    agents: Agents
    workspaces: Workspaces
    runner: AgentRunner
    channels: ChannelRegistry
    outbox: Outbox
    approvals: Approvals
    egress: Egress
    people: Callable[[], People]
    phones: Callable[[], Phones]
    kinds: Kinds
    sources: Mapping[type, Any]
    zone: Callable[[], tzinfo]
    language: Callable[[], str]
    reload: Callable[[], Awaitable[Any]]
    restart: Callable[[], None]
    stop: Callable[[], None]
    registries: Mapping[str, Callable[..., Any]] = {}
    blueprint_folders: Callable[[], Iterable[Path]] = tuple


PERSONA = frozenset({"SOUL.md", "IDENTITY.md"})
APPROVAL_LIMIT_S = 86_400.0
"""How long an automation waits for the owner's word."""


class AutomationEngine:
    """The engine and all around it, built once; see `AutomationDependencies`."""

    def __init__(self, needs: AutomationDependencies) -> None:
        self._needs = needs
        clock, bus, db = needs.clock, needs.bus, needs.db
        tasks = self._tasks = TaskOwner("automations")
        self._addresses = Addresses(db, needs.people, needs.channels)
        self._delivery = ResultDelivery(db, needs.outbox, needs.sessions, bus, clock=clock, tasks=tasks)
        self._runs = AgentRuns(needs.runner, needs.sessions, db, needs.lanes, bus, clock=clock, tasks=tasks)
        self.system_events = SystemEvents(db, needs.sessions, bus, clock)
        needs.runner.on_begin(self.system_events.before)
        self.spending = SpendingLog(bus, needs.history, clock.time)
        self.traces = TraceStore(needs.history, needs.redactor, clock.time, needs.zone)
        functions = TemplateFunctions(needs.sessions, needs.memory, needs.agents, needs.people, needs.zone)
        self.parts = AutomationParts(
            bus,
            needs.states,
            needs.services,
            clock,
            Timetable(clock, self._tasks),
            TemplateEngine(
                needs.states,
                clock,
                needs.zone,
                functions.at_once(),
                functions.deferred(),
                registries=needs.registries,
                custom_templates=needs.home.path / "custom_templates",
            ),
            self._tasks,
            needs.repairs,
            needs.home.path,
            needs.zone,
            self._location,
            needs.people,
            needs.kinds,
            Judge(needs.models, needs.agents, self._persona, bus, needs.history, clock=clock),
            self.spending,
            needs.history,
            documents=needs.home.documents,
            sources={
                **needs.sources,
                Egress: needs.egress,
                FileWatch: FileWatch(needs.home.path, clock, self._tasks),
                Hooks: needs.runner.parts.hooks,
            },
        )
        waiting = WaitingRuns(db, clock.time)
        self._notices = ResultNotices(needs.egress, needs.repairs, clock, self._tasks, self._answer_of)
        environment = EngineEnvironment(
            self.parts,
            KeptStates(db, clock, self._tasks),
            self.traces,
            waiting,
            self._approve,
            self._discard,
            self._notices,
        )
        keep = needs.config.editor.history.keep
        self.blueprints = Blueprints(
            needs.home.path, needs.egress, keep, further=needs.blueprint_folders, kinds=needs.kinds
        )
        self.automations = Automations(environment, db, self.blueprints.expand, self._owner)
        self.scripts = Scripts(ScriptEnvironment(self.parts, {}, self.traces, waiting), self._expand_script)
        self.heartbeats = Heartbeats(
            HeartbeatDependencies(
                runs=self._runs,
                agents=needs.agents,
                workspaces=needs.workspaces,
                sessions=needs.sessions,
                events=self.system_events,
                tasks=self._tasks,
                addresses=self._addresses,
                delivery=self._delivery,
                db=db,
                states=needs.states,
                bus=bus,
                clock=clock,
                zone=needs.zone,
            )
        )
        self.system_events.look = self.heartbeats.look
        self.scheduled = ScheduleService(
            needs.config,
            db,
            self.automations,
            self._addresses,
            bus,
            clock=clock,
            zone=needs.zone,
            reload=needs.reload,
            default_agent=lambda: needs.agents.default().id,
        )
        self.editor = AutomationEditor(
            needs.config,
            AutomationsFile(needs.config),
            self.automations.place,
            self.blueprints.expand,
            needs.reload,
            keep_off=self.automations.keep_off,
            kinds=needs.kinds,
        )
        self._commands: CommandServices | None = None
        self._removers: list[Unsubscribe] = []
        self._armed_for: tuple[object, object] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that a stop would interrupt."""
        runs = self.automations.is_busy or any(each.current for each in self.scripts.all())
        return runs or bool(self.parts.holding) or self._notices.waiting > 0

    # --- life ---

    async def open(self) -> None:
        """Register the services, make the automations and arm them, and resume what was cut off."""
        await self.spending.open()
        await self.scheduled.name_accounts()
        config = self._needs.config.current
        self._removers = self._register()
        self._apply_commands(config)
        await self.scripts.open(config)
        self._armed_for = self.parts.zone(), self._location()
        await self.automations.open(config)
        await self.heartbeats.open()
        self._tasks.spawn(self._runs.give_up_orphans(), name="give up runs that nothing took up")

    async def close(self) -> None:
        """Disarm all automations and stop their runs; saved runs continue at the next start."""
        await self.automations.close()
        await self.scripts.close()
        if self._commands is not None:
            self._commands.apply({})
        for remove in self._removers:
            remove()
        self._removers = []
        self.spending.close()

    async def apply(self, changed: Collection[str]) -> None:
        """Put changed sections into force."""
        config = self._needs.config.current
        if "people" in changed:
            await self.automations.judge_again()
        if (self.parts.zone(), self._location()) != self._armed_for:
            self._armed_for = self.parts.zone(), self._location()
            await self.automations.arm_again()
        if not COMMANDS.isdisjoint(changed):
            self._apply_commands(config)
        if SCRIPTS in changed:
            await self.scripts.apply(config)
        if SECTION in changed:
            await self.automations.apply(config)

    async def reload(self) -> None:
        """Read the files again, blueprints too."""
        await self._needs.reload()
        config = self._needs.config.current
        await self.scripts.apply(config, again=True)
        await self.automations.apply(config, again=True)

    async def renew(self, kinds: frozenset[str]) -> None:
        """Rebuild the automations that use kinds or blueprints of a reloaded integration."""
        config = self._needs.config.current
        await self.scripts.apply(config, again=True)
        await self.automations.apply(config, again=True, kinds=kinds)

    # --- asking ---

    async def render(self, text: str, variables: Mapping[str, Any]) -> Any:
        """Return the current result of a template.

        Raises:
            TemplateFailed: It cannot be rendered; the message says where.
        """
        return await self.parts.templates.render_async(text, variables)

    async def simulate(
        self,
        name: str,
        trigger: str | None = None,
        at: float | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return what an automation would do; see `hub.automation.trial.simulation.simulate`."""
        from hub.automation.trial.simulation import simulate

        return await simulate(self.automations.get(name).config, self.parts, trigger, at, variables)

    async def backtest(self, name: str, since: float, until: float) -> dict[str, Any]:
        """Return what an automation would have done; see `hub.automation.trial.backtest.backtest`."""
        from hub.automation.trial.backtest import backtest

        return await backtest(self.automations.get(name).config, self.parts, since, until)

    async def draft(self, sentence: str) -> Drafted:
        """Return an automation that a model made of a sentence; see `hub.automation.services.drafting.Drafter`."""
        from hub.automation.services.drafting import Drafter

        needs, zone = self._needs, self.parts.zone
        drafter = Drafter(
            needs.models,
            needs.agents,
            needs.states,
            needs.services,
            needs.kinds,
            needs.history,
            clock=needs.clock,
            now=lambda: f"{datetime.fromtimestamp(needs.clock.time(), zone()):%A %Y-%m-%d %H:%M}",
        )
        return await drafter.draft(sentence)

    def explain(self, name: str) -> str:
        """Return an automation, or a script by its entity id, in plain words."""
        from hub.automation.definition.explain import explain, explain_script

        with self.parts.kinds.in_use():
            if name.startswith(f"{SCRIPTS}."):
                return explain_script(self.scripts.get(name).config)
            return explain(self.automations.get(name).config)

    # --- inside ---

    def _apply_commands(self, config: Config) -> None:
        """Put `shell_command:` and `rest_command:` into force."""
        if self._commands is None and any(config.get(name) for name in COMMANDS):
            from hub.automation.services.commands import CommandServices

            needs = self._needs
            self._commands = CommandServices(
                needs.services, self.parts.templates, needs.tools, needs.agents, needs.egress, needs.redactor.redact
            )
        if self._commands is not None:
            self._commands.apply(config)

    def _register(self) -> list[Unsubscribe]:
        needs = self._needs
        services = needs.services
        control = HubControl(self._check, self._reload_files, needs.restart, needs.stop)
        return [
            watch_limits(needs.bus),
            register_automation_services(services, self.automations, self.reload),
            AgentRunService(self._runs, needs.agents, self._addresses, self._delivery).register(services),
            Messages(self._addresses, self._delivery, needs.agents, needs.people, needs.phones).register(
                services, needs.bus
            ),
            MemoryServices(needs.memory, needs.agents, needs.clock).register(services),
            register_tools(services, needs.tools, needs.agents, needs.redactor.redact),
            register_system_events(services, self.system_events, needs.agents),
            register_web(services, needs.egress, RememberedPages(needs.home.storage / "pages", needs.home.documents)),
            register_hub(services, control),
            register_notices(services, needs.repairs, needs.bus),
            register_logbook(services, needs.bus),
            register_heartbeat(services, self.heartbeats, needs.agents),
        ]

    async def _check(self) -> list[dict[str, Any]]:
        errors = await asyncio.to_thread(self._needs.config.check_text, {})
        return [error.as_dict() for error in errors]

    async def _reload_files(self) -> Mapping[str, Any]:
        result: ReloadResult = await self._needs.reload()
        return result.as_dict()

    async def _approve(self, run: RunState) -> bool:
        details = {
            "automation": run.plan.owner_id,
            "trigger": plain_value(run.trace.trigger, run.plan.secrets),
            "actions": SecretMask(run.plan.actions).data,
        }
        what = run.trace.trigger.get("description")
        text = phrase("It was set off by {what}.", what=what) if what else phrase("It was set off by hand.")
        request = Ask(
            "automation",
            run.plan.alias,
            text,
            details,
            run.context,
            timeout_s=APPROVAL_LIMIT_S,
            id=f"automation:{run.id}",
            survives=True,
        )
        decision = await self._needs.approvals.ask(request)
        return decision.approved

    async def _discard(self, id: str) -> None:
        await self.scheduled.discard(id)

    async def _answer_of(self, run_id: str) -> str | None:
        answers = await self.scheduled.answers([run_id])
        return answers[run_id]["reply"] if run_id in answers else None

    def _expand_script(self, item: Mapping[str, Any]) -> dict[str, Any]:
        return self.blueprints.expand(item, SCRIPTS)

    def _owner(self) -> str | None:
        owners = self._needs.people().owners()
        return owners[0].id if owners else None

    def _location(self) -> Location | None:
        hub = self._needs.config.current.or_default("hub")
        if "latitude" not in hub:
            return None
        return Location(hub["latitude"], hub["longitude"], hub["elevation"])

    def _persona(self, agent_id: str) -> str:
        files = self._needs.workspaces.prompt_files(agent_id, private=False)
        return "\n\n".join(file.text for file in files if file.text and file.name in PERSONA)
