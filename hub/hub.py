"""The composition root: builds every part, hands each what it needs, starts and stops them in order.

Nothing below imports this file; integrations are given an `IntegrationHost`, the dashboard the `Hub`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import tzinfo
from functools import partial
from zoneinfo import ZoneInfo

from msgspec import Struct

from hub import __version__
from hub.agent.agents import Agents
from hub.agent.remembering import AgentMemory, MemoryDependencies as RememberingNeeds
from hub.agent.runner import AgentRunner
from hub.agent.workspace import Workspaces
from hub.automation.assembly import AutomationDependencies, AutomationEngine
from hub.config.store import ConfigStore, ReloadResult
from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.events import EventBus
from hub.core.lanes import MAIN, Lanes
from hub.core.repairs import Repairs, Severity
from hub.core.services import ServiceRegistry
from hub.core.stages import Stage, Stages
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.gateway.access.devices import Devices
from hub.gateway.calls.idempotency import Idempotency
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.connection.server import Gateway, GatewayState
from hub.gateway.log_tail import LogTail
from hub.gateway.serve import CoreServices, HubServices, Served, serve
from hub.host import IntegrationHost
from hub.integration.catalog import find, model_apis
from hub.integration.control import IntegrationControl
from hub.integration.manager import IntegrationManager
from hub.integration.schemas import IntegrationSchemas
from hub.memory.registry import MemoryRegistry
from hub.messaging.approval_commands import add_approval_commands
from hub.messaging.approval_messages import ApprovalMessages
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands import Commands, add_session_commands
from hub.messaging.decide import MessagingSettings
from hub.messaging.inbox import Inbox
from hub.messaging.outbox import Outbox
from hub.messaging.queue import MessageQueue
from hub.messaging.retention import prune_daily
from hub.messaging.router import Router
from hub.models.registry import ModelRegistry
from hub.sections import all_sections, needed_domains, offer_kinds
from hub.security.egress import Egress
from hub.security.hub_token import hub_token
from hub.security.login_codes import LoginCodes
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.security.tokens import TokenStore
from hub.security.web_sessions import WebSessions
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.history import HistoryStore, Retention
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.recorder import history_stage
from hub.tools.approval_questions import ask_about_services
from hub.tools.approvals import Approvals
from hub.tools.registry import ToolRegistry
from hub.tools.rules_in_force import rules_in_force

_log = logging.getLogger(__name__)

EVENT_STARTED = "hub_started"
EVENT_STOPPING = "hub_stopping"
STOP_LIMIT_S = 1.0
DRAIN_LIMIT_S = 2.5
SETUP_WAIT_S = 5.0
CANCEL_LIMIT_S = 1.0


def _nothing() -> None:
    """Default callback: do nothing."""


class LoginLink(Struct, frozen=True):
    """A way to sign in to the dashboard once: the address with the code behind `#`, or the code typed in."""

    url: str
    code: str
    valid_s: float


class Hub:
    """The running hub and its components.

    Args:
        home: The home directory.
        redactor: Removes secrets at every sink; those of the configuration are registered with it.
        host, port: Take precedence over the configuration's `http`.
        log: The latest log lines.
    """

    def __init__(
        self,
        home: Home,
        *,
        redactor: Redactor | None = None,
        host: str | None = None,
        port: int | None = None,
        clock: Clock | None = None,
        log: LogTail | None = None,
    ) -> None:
        self.home = home
        self.version = __version__
        self.clock = clock or Clock()
        self.redactor = redactor or Redactor()
        self.tasks = TaskOwner("hub")
        self.bus = EventBus(self.tasks, self.clock.time)
        self.states = StateMachine(self.bus, self.clock.time)
        self.repairs = Repairs(self.bus, self.clock.time)
        self._host, self._port = host, port

        catalog = find(home)
        schemas = IntegrationSchemas(catalog)
        self.config = ConfigStore(home, all_sections(schemas), self.bus, self.repairs, wall_time=self.clock.time)
        self.config.load()
        section = self.config.current.or_default

        self.channels = ChannelRegistry(self.bus)
        self.people = People.from_config(section("people"), self.channels.is_home)
        self.lanes = Lanes({MAIN: section("messages")["parallel_runs"]})
        self.db = Database(home.hub_db, HUB_MIGRATIONS)
        self.approvals = Approvals(self.db, self.bus, self.clock, self.redactor)
        self.services = ServiceRegistry(self.bus, ask_about_services(self.approvals.ask))
        self.history = HistoryStore(
            home.history_db,
            retention=Retention.from_config(section("hub")["history"]),
            redact=self.redactor.redact,
            wall_time=self.clock.time,
        )
        self.models = ModelRegistry(section("models"), self.bus, self.clock, self.repairs, speakers=model_apis(catalog))
        self._register_secrets()
        self.tools = ToolRegistry(self.bus, rules_in_force(self.config.current, self.repairs), self.approvals.ask)
        self.memory = MemoryRegistry()
        self.sessions = SessionStore(
            self.db,
            home,
            self.clock,
            self.bus,
            redact=self.redactor.redact,
            open_transcripts=section("session")["open_transcripts"],
        )
        self.agents = Agents(section("agents"), home)
        self.workspaces = Workspaces(self.agents, self._people, home, self.clock, self._zone)
        self._runs = TaskOwner("runs")
        self.runner = AgentRunner(
            self.db,
            self.sessions,
            self.agents,
            self.workspaces,
            self.models,
            self.tools,
            self.lanes,
            self.bus,
            self.clock,
            self.history,
            self.redactor,
            self._runs,
        )
        self.commands = Commands(self._language)
        stores = (self.sessions, self.runner, self.models)
        add_session_commands(self.commands, *stores, self._people, self._language, self.agents)
        self.outbox = Outbox(self.db, self.channels, self.bus, self.clock, self.tasks, self.repairs)
        add_approval_commands(self.commands, self.approvals, self._language)
        ApprovalMessages(self.approvals, self.db, self.outbox, self.bus, self._language)
        self._messaging = self._messaging_settings()
        self.router = Router(self.channels, self.agents, self._people, lambda: self._messaging)
        queue = MessageQueue(self.db, self.router, self.runner, self.outbox, clock=self.clock, tasks=self._runs)
        self.inbox = Inbox(self.db, self.router, queue, self.commands, self.outbox, bus=self.bus, clock=self.clock)
        self.channels.connect(self.inbox.receive)
        self.integrations = IntegrationManager(
            partial(IntegrationHost, hub=self), catalog, self.repairs, self.bus, self.clock, self.tasks, schemas=schemas
        )

        self.integration_control = IntegrationControl(
            self.config, schemas, self.integrations, apply=self.apply, renew=self._renew_kinds
        )
        self.egress = Egress(lambda: self.config.current.or_default("network")["allow_private"])
        self.automation = AutomationEngine(self._needs())
        self.inbox.answer_with(self.automation.spoken.hear)
        self.remembering = AgentMemory(
            RememberingNeeds(
                home,
                self.db,
                self.runner,
                self.lanes,
                self.services,
                self.memory,
                self._people,
                lambda name: self.config.current.or_default(name),  # noqa: PLW0108  another one after each reload
            )
        )

        token = hub_token(home.path)
        self.redactor.register(token)
        self.gateway = Gateway(
            HttpSettings.from_config(section("http"), home.path, host=host, port=port),
            self.people,
            token,
            self.clock,
            self.bus,
            self.tasks,
            self.repairs,
            __version__,
        )
        self._devices = Devices(self.db, self.clock, self.bus, token)
        self._ground = CoreServices(
            self.db,
            self.config,
            self.repairs,
            TokenStore(self.db, self.clock),
            WebSessions(self.db, self.clock),
            LoginCodes(self.db, self.clock),
            self.redactor,
            self.tasks,
            self.integrations.statuses,
            log,
        )
        self._served: Served | None = None
        self._on_restart: Callable[[], None] = _nothing
        self._on_stop: Callable[[], None] = _nothing
        self._applying = asyncio.Lock()
        self._stages = Stages([])

    @property
    def recovery(self) -> bool:
        """Whether the configuration is so broken that only its editor runs."""
        return self.config.current.recovery

    @property
    def time_zone(self) -> str:
        """The home's IANA time zone."""
        return str(self.config.current.or_default("hub")["time_zone"])

    @property
    def language(self) -> str:
        """The home's language."""
        return str(self.config.current.or_default("hub")["language"])

    async def login_link(self) -> LoginLink:
        """Return a fresh link that signs in to the dashboard once."""
        if self._served is None:
            raise Unavailable("the hub does not serve yet")
        made = await self._served.state.link()
        return LoginLink(made["url"], made["code"], made["valid_s"])

    # --- life ---

    async def start(
        self,
        *,
        on_restart: Callable[[], None] = _nothing,
        on_stop: Callable[[], None] = _nothing,
        before_open: Sequence[Stage] = (),
    ) -> None:
        """Bring everything up, in order; the gateway answers health from the first moment on.

        Args:
            on_restart: Called when a new hub is wanted in this one's place: the configuration was mended, or a service
                asks for it.
            on_stop: Called when a service asks for the end of the process.
            before_open: Further stages, behind all parts and before anybody is let in.

        Raises:
            HubError: A part could not be brought up; call `stop`.
        """
        self._on_restart, self._on_stop = on_restart, on_stop
        self._stages = Stages([*self._ground_stages(), *self._house_stages(), *before_open, self._opening()])
        await self._stages.start()
        self.bus.fire(EVENT_STARTED, {"version": self.version, "recovery": self.recovery})

    async def stop(self, *, restarting: bool = False) -> list[str]:
        """Take everything down in reverse; return the names of what did not stop in time."""
        self.bus.fire(EVENT_STOPPING, {"restarting": restarting})
        slow = await self._stages.stop()
        return slow + await self.tasks.cancel_all(timeout_s=STOP_LIMIT_S)

    def _ground_stages(self) -> list[Stage]:
        return [
            Stage("gateway", self.gateway.start, self.gateway.stop),
            Stage("hub database", self._open_database, self.db.close, start_limit_s=120.0),
            history_stage(self.history, self.bus, self.repairs),
            Stage("credentials", self._open_credentials),
        ]

    def _house_stages(self) -> list[Stage]:
        if self.recovery:
            return [Stage("watch of the configuration", self._watch)]
        return [
            Stage("approvals", self.approvals.open, self.approvals.close),
            Stage("sessions", self.sessions.open, self.sessions.close),
            Stage("workspaces", self._ensure_workspaces),
            Stage("integrations", self._start_integrations, self.integrations.stop, 90.0, 2.5),
            Stage("models", self.models.start, self.models.close),
            Stage("remembering", self.remembering.open, self.remembering.close),
            Stage("runs", self._start_runs, self._stop_runs, stop_limit_s=6.0),
            Stage("automations", self.automation.open, self.automation.close, 60.0),
            Stage("watch of the configuration", self._watch),
        ]

    def _opening(self) -> Stage:
        async def let_in() -> None:
            self.gateway.open(GatewayState.RECOVERY if self.recovery else GatewayState.RUNNING)

        return Stage("the door", let_in, self.gateway.stop)

    async def _open_database(self) -> None:
        self.db.on_damage(partial(asyncio.get_running_loop().call_soon_threadsafe, self._tell_suspect))
        await self.db.open()
        if self.db.damage is not None:
            self.repairs.raise_("storage", "hub_db", "The hub database was damaged", self.db.damage.text)

    async def _open_credentials(self) -> None:
        ground = self._ground
        await ground.tokens.open()
        await ground.web_sessions.open()
        await ground.codes.open()
        await self._devices.open()
        idempotency = Idempotency(self.db, self.clock, self.tasks)
        self.gateway.attach(ground.tokens, ground.web_sessions, self._devices, idempotency)
        self._served = serve(self.gateway, ground, None if self.recovery else self._house())

    async def _ensure_workspaces(self) -> None:
        for agent in self.agents.all():
            try:
                self.workspaces.ensure(agent.id)
                self.repairs.clear("agents", agent.id)
            except HubError as error:
                title = f"The workspace of the agent {agent.id} cannot be used"
                self.repairs.raise_("agents", agent.id, title, error.message)

    async def _start_integrations(self) -> None:
        """Set integrations up; those that take long go on beside a hub that is open already."""
        work = self.integrations.start(self.config.current, self._needed())
        task = self.tasks.spawn(work, name="set up integrations")
        done, _ = await asyncio.wait({task}, timeout=SETUP_WAIT_S)
        if done:
            task.result()
            return
        slow = [each["domain"] for each in self.integrations.statuses() if each["state"] == "unloaded"]
        _log.warning("the hub opens while these are still being set up: %s", ", ".join(slow) or "some integrations")

    async def _start_runs(self) -> None:
        await self.outbox.open()
        again = await self.inbox.recover()
        self.tasks.spawn(
            prune_daily(self.db, self.clock, lambda: int(self.config.current.or_default("messages")["keep_days"])),
            name="take out old messages",
        )
        if again:
            _log.info("%d messages that were not answered before the stop are answered now", again)

    async def _stop_runs(self) -> None:
        """Let what goes on end if it is quick; what is cut off is taken up at the next start."""
        if not await self._runs.drain(timeout_s=DRAIN_LIMIT_S):
            await self._runs.cancel_all(timeout_s=CANCEL_LIMIT_S)
        await self.outbox.close()

    async def _watch(self) -> None:
        await self.config.watch(self.tasks, self.apply)

    # --- change ---

    async def apply(self, result: ReloadResult) -> None:
        """Put a changed configuration into force: only what changed is set up again."""
        if result.left_recovery:
            self._on_restart()
            return
        async with self._applying:  # who finds nothing changed waits for whoever is putting the same change into force
            if not result.applied or self.recovery or not result.changed:
                return
            section = self.config.current.or_default
            changed = result.changed
            if "people" in changed:
                self.people = People.from_config(section("people"), self.channels.is_home)
            if changed & {"people", "http"}:
                settings = HttpSettings.from_config(section("http"), self.home.path, host=self._host, port=self._port)
                self.gateway.configure(settings, self.people)
            if "models" in changed:
                self.models.configure(section("models"))
            if "tools" in changed:
                self.tools.configure(rules_in_force(self.config.current, self.repairs))
            if "agents" in changed:
                self.agents.configure(section("agents"))
                await self._ensure_workspaces()
            if "hub" in changed:
                self.history.set_retention(Retention.from_config(section("hub")["history"]))
            if "session" in changed:
                self.sessions.configure(open_transcripts=section("session")["open_transcripts"])
            if "messages" in changed:
                self.lanes.set_limits({MAIN: section("messages")["parallel_runs"]})
            self._register_secrets()
            self._messaging = self._messaging_settings()
            await self.integrations.apply(changed, self.config.current, self._needed())
            await self.automation.apply(changed)

    # --- inside ---

    def _tell_suspect(self) -> None:
        self.repairs.raise_(
            "storage",
            "hub_db",
            "The hub database is damaged",
            f"A page of {self.home.hub_db} cannot be read. Restart the hub: it saves what can be read and keeps the "
            "damaged file beside it.",
            severity=Severity.CRITICAL,
        )

    def _people(self) -> People:
        return self.people

    def _language(self) -> str:
        return self.language

    def _zone(self) -> tzinfo:
        return ZoneInfo(self.time_zone)

    def _needed(self) -> set[str]:
        return needed_domains(self.config.current, self.integrations.catalog)

    async def _renew_kinds(self, schemas: IntegrationSchemas, kinds: frozenset[str]) -> None:
        offer_kinds(schemas)
        if kinds:
            await self.automation.renew(kinds)

    def _register_secrets(self) -> None:
        for secret in (*self.config.current.secrets, *self.models.secrets()):
            self.redactor.register(secret)

    def _messaging_settings(self) -> MessagingSettings:
        return MessagingSettings.from_config(self.config.current.or_default, self.language)

    async def _reload(self) -> ReloadResult:
        result = await self.config.reload()
        await self.apply(result)
        return result

    def _needs(self) -> AutomationDependencies:
        return AutomationDependencies(
            home=self.home,
            bus=self.bus,
            states=self.states,
            services=self.services,
            clock=self.clock,
            repairs=self.repairs,
            lanes=self.lanes,
            db=self.db,
            history=self.history,
            config=self.config,
            redactor=self.redactor,
            models=self.models,
            tools=self.tools,
            memory=self.memory,
            sessions=self.sessions,
            agents=self.agents,
            workspaces=self.workspaces,
            runner=self.runner,
            channels=self.channels,
            outbox=self.outbox,
            approvals=self.approvals,
            egress=self.egress,
            people=self._people,
            zone=self._zone,
            language=self._language,
            reload=self._reload,
            restart=lambda: self._on_restart(),  # noqa: PLW0108  set at start
            stop=lambda: self._on_stop(),  # noqa: PLW0108
        )

    def _house(self) -> HubServices:
        return HubServices(
            self.agents,
            self.sessions,
            self.models,
            self.tools,
            self.runner,
            self.inbox,
            self.outbox,
            self.lanes,
            self.approvals,
            self.automation,
            self.memory,
            self.remembering,
            self.integration_control,
        )
