"""The hub as an integration sees it; every registration is undone when the integration is unloaded.

`setup(host, config)` registers; nothing has to be undone by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from zoneinfo import ZoneInfo

from hub.agent.agents import Agents
from hub.agent.exchanges.exchanges import Exchanges
from hub.agent.subagents.subagents import Subagents
from hub.agent.workspace.workspace import Workspaces
from hub.automation.assembly import AutomationEngine
from hub.automation.services.agent_messages import AgentMessages
from hub.automation.services.system_event_queue import SystemEvents
from hub.config.checked import Config
from hub.config.paths import KeyPath
from hub.config.store import ConfigStore, ReloadResult
from hub.core.clock import Clock, Lease
from hub.core.errors import HubError
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.entities.entities import HomeEntities
from hub.entities.targets import Targets
from hub.foundation import Share
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.connection.server import Gateway, GatewayState
from hub.gateway.pages import PageTable
from hub.hooks.registry import Hooks
from hub.host.credentials import HostCredentials
from hub.host.home_entities import HostEntities
from hub.host.registrars import (
    HostBus,
    HostChannels,
    HostCommands,
    HostEvents,
    HostHooks,
    HostMemory,
    HostMethods,
    HostModels,
    HostNodes,
    HostPages,
    HostRoutes,
    HostSandboxes,
    HostSatellites,
    HostServices,
    HostStates,
    HostTools,
)
from hub.integration.in_use import platform_items
from hub.integration.json_storage import JsonStorage
from hub.integration.registrations import Registrations
from hub.memory.registry import MemoryRegistry
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import Commands
from hub.messaging.inbox.inbox import Inbox
from hub.models.registry import ModelRegistry
from hub.nodes.registry import NodeRegistry
from hub.sandbox.sandboxes import Sandboxes
from hub.security.egress import Egress
from hub.security.people import People
from hub.security.rate_limit import AttemptLimiter
from hub.security.redaction import Redactor
from hub.sessions.search import TranscriptSearch
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.tools.agent_secrets import AgentSecrets
from hub.tools.approvals import Approvals
from hub.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from hub.nodes.phones import Phones
    from hub.voice.component import VoiceComponent


class HubParts(Protocol):
    """The parts of the hub behind the hosts of all integrations."""

    home: Home
    config: ConfigStore
    bus: EventBus
    states: StateMachine
    services: ServiceRegistry
    repairs: Repairs
    clock: Clock
    lease: Lease
    share: Share | None
    db: Database
    egress: Egress
    redactor: Redactor
    models: ModelRegistry
    tools: ToolRegistry
    memory: MemoryRegistry
    sessions: SessionStore
    transcript_search: TranscriptSearch
    agents: Agents
    workspaces: Workspaces
    channels: ChannelRegistry
    commands: Commands
    automation: AutomationEngine
    agent_messages: AgentMessages
    inbox: Inbox
    subagents: Subagents
    approvals: Approvals
    agent_secrets: AgentSecrets
    exchanges: Exchanges
    gateway: Gateway
    pages: PageTable
    nodes: NodeRegistry
    phones_here: Callable[[], Phones]
    voice: VoiceComponent
    entities: HomeEntities
    targets: Targets
    sandboxes: Sandboxes
    hooks: Hooks

    @property
    def people(self) -> People:
        """The people of this home, as configured now."""

    async def apply(self, result: ReloadResult) -> None:
        """Put a changed configuration into force."""


class IntegrationHost:
    """The hub as one integration sees it.

    What is added through `channels`, `tools`, `models`, `memory`, `nodes`, `sandboxes`, `satellites`, `services`,
    `commands`, `methods`, `routes`, `pages`, `events`, `hooks`, `bus`, `states`, `entities` and `spawn` is undone in
    reverse order when set-up fails and when the integration is reloaded or unloaded. Each `add` returns a function that
    undoes it earlier.

    Args:
        domain: The integration.
        registrations: The record of what it registers.
        hub: The parts behind it.
    """

    def __init__(self, domain: str, registrations: Registrations, hub: HubParts) -> None:
        self.domain = domain
        self.channels = HostChannels(hub.channels, registrations)
        self.tools = HostTools(hub.tools, registrations)
        self.models = HostModels(hub.models, registrations)
        self.memory = HostMemory(hub.memory, registrations)
        self.nodes = HostNodes(hub.nodes, hub.phones_here, registrations)
        self.sandboxes = HostSandboxes(hub.sandboxes, registrations)
        self.satellites = HostSatellites(hub.voice, registrations)
        self.services = HostServices(hub.services, registrations, domain)
        self.commands = HostCommands(hub.commands, registrations)
        self.credentials = HostCredentials(hub.gateway)
        self.methods = HostMethods(hub.gateway, registrations)
        self.routes = HostRoutes(hub.gateway, registrations)
        self.pages = HostPages(hub.pages, registrations, domain)
        self.events = HostEvents(hub.bus, hub.gateway, registrations)
        self.hooks = HostHooks(hub.hooks, registrations, domain)
        self.bus = HostBus(hub.bus, registrations)
        self.states = HostStates(hub.states, registrations)
        self.entities = HostEntities(hub.entities, hub.targets, registrations, domain)
        self.egress = hub.egress
        self.redactor = hub.redactor
        self.clock = hub.clock
        self.lease = hub.lease
        self.share = hub.share
        self.repairs = hub.repairs
        self.home = hub.home
        self.database = hub.db
        self.agents = hub.agents
        self.sessions = hub.sessions
        self.transcript_search = hub.transcript_search
        self.workspaces = hub.workspaces
        self.automation = hub.automation.parts
        self.scheduled = hub.automation.scheduled
        self.messages = hub.agent_messages
        self.subagents = hub.subagents
        self.exchanges = hub.exchanges
        self.ask = hub.approvals.ask
        self.agent_secrets = hub.agent_secrets
        self.inbox = hub.inbox
        self._hub = hub
        self._registrations = registrations
        self._tasks = TaskOwner(domain)

    @property
    def config(self) -> Config:
        """The checked configuration that is in force, of all sections."""
        return self._hub.config.current

    def platform_items(self, section: str) -> list[Mapping[str, Any]]:
        """Return the valid items of `sensor`, `light` or the like that name this integration as their platform."""
        return platform_items(self.config, self.domain).get(section, [])

    @property
    def people(self) -> People:
        """The people of this home."""
        return self._hub.people

    @property
    def language(self) -> str:
        """The home's language."""
        return str(self.config.or_default("hub")["language"])

    @property
    def dashboard_url(self) -> str:
        """The address of the dashboard for a browser on this machine."""
        return self._hub.gateway.url

    @property
    def lan_url(self) -> str:
        """The address of the hub for a browser in the home's network; that for this machine when no other is known."""
        return self._hub.gateway.lan_url

    def signed_url(self, path: str, life_s: float) -> str:
        """Return an address in the home's network that opens a path for a while, whoever asks.

        Args:
            path: Of a route that is `signable`, such as `/api/camera_proxy/camera.door`.
            life_s: How long it is good, and no longer than the hub runs.
        """
        return self.lan_url + self._hub.gateway.signed_paths.sign(path, life_s)

    @property
    def attempts(self) -> AttemptLimiter:
        """Counts failed attempts, for integrations that check credentials of their own."""
        return self._hub.gateway.authenticator.attempts

    @property
    def http(self) -> HttpSettings:
        """The settings of the gateway."""
        return self._hub.gateway.settings

    @property
    def time_zone(self) -> ZoneInfo:
        """The home's time zone."""
        return ZoneInfo(str(self.config.or_default("hub")["time_zone"]))

    @property
    def system_events(self) -> SystemEvents:
        """The queue of system events for agents."""
        return self._hub.automation.system_events

    async def started(self) -> None:
        """Wait until the hub has started; return at once when it runs already."""
        if self._hub.gateway.state is GatewayState.STARTING:
            await self.bus.wait_for("hub_started")

    async def configure(self, keys: KeyPath, value: Any, secrets: Mapping[str, str] | None = None) -> None:
        """Write a value into the configuration, on behalf of a person with the right to it, and apply it.

        Args:
            keys: The path of keys.
            value: The new value; `Tagged("!secret", NAME)` is a secret.
            secrets: Such secrets by name, for secrets.yaml.

        Raises:
            ConfigInvalid: The configuration would have errors that it has not now; it is as before.
            EditRefused: It is written in a way that only a person should change.
        """
        config = self._hub.config

        def write() -> None:
            before = config.editor.set_secrets(secrets) if secrets else None
            try:
                config.editor.set_value(keys, value)
            except HubError:
                if before is not None:
                    config.editor.put_back_secrets(before)
                raise

        await asyncio.to_thread(write)
        await self._hub.apply(await config.reload())

    def storage(self, name: str = "data") -> JsonStorage:
        """Return a JSON file of this integration, `.storage/integrations/<domain>/<name>.json`."""
        path = self.home.storage / "integrations" / self.domain / f"{name}.json"
        return JsonStorage(path, self.home.documents)

    def spawn(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Run a coroutine as a task until it ends or the integration is unloaded, which cancels it."""
        task = self._tasks.spawn(work, name=name)

        async def cancel() -> None:
            task.cancel()
            await asyncio.wait({task})

        forget = self._registrations.forgettable(cancel)
        task.add_done_callback(lambda _: forget())
        return task

    def on_unload(self, undo: Callable[[], Any]) -> None:
        """Call a function or coroutine function when the integration is unloaded or its set-up fails."""
        self._registrations.keep(undo)
