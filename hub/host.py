"""What an integration is given: the seams of the hub, each registration undone when the integration goes.

`setup(host, config)` registers; nothing has to be taken back by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from hub.agent.agents import Agents
from hub.agent.workspace import Workspaces
from hub.automation.assembly import AutomationEngine
from hub.config.checked import Config
from hub.config.store import ConfigStore
from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import Event, EventBus, Listener, Unsubscribe
from hub.core.repairs import Repairs
from hub.core.schema import Schema
from hub.core.services import AgentRule, Handler, ResponseMode, ServiceRegistry
from hub.core.states import EntityState, StateMachine
from hub.core.tasks import TaskOwner
from hub.gateway.calls.contract import Method, Push, Route
from hub.gateway.connection.server import Gateway
from hub.integration.json_storage import JsonStorage
from hub.integration.registrations import Registrations
from hub.memory.contract import Memory
from hub.memory.registry import MemoryRegistry
from hub.messaging.access import AccessPolicy
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands import ChatCommand, Commands
from hub.messaging.contract import Channel
from hub.models.registry import Factory, ModelRegistry
from hub.security.egress import Egress
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.tools.contract import Tool
from hub.tools.registry import ToolRegistry


class HubParts(Protocol):
    """The parts of the hub behind the hosts of all integrations."""

    home: Home
    config: ConfigStore
    bus: EventBus
    states: StateMachine
    services: ServiceRegistry
    repairs: Repairs
    clock: Clock
    db: Database
    egress: Egress
    models: ModelRegistry
    tools: ToolRegistry
    memory: MemoryRegistry
    sessions: SessionStore
    agents: Agents
    workspaces: Workspaces
    channels: ChannelRegistry
    commands: Commands
    automation: AutomationEngine
    gateway: Gateway

    @property
    def people(self) -> People:
        """The people of this home, as configured now."""


class IntegrationHost:
    """The hub as one integration sees it.

    What is added through `channels`, `tools`, `models`, `memory`, `services`, `commands`, `methods`, `routes`,
    `events`, `bus`, `states` and `spawn` is undone in reverse order when set-up fails and when the integration is
    reloaded or unloaded. Each `add` returns a function that undoes it earlier.

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
        self.services = HostServices(hub.services, registrations, domain)
        self.commands = HostCommands(hub.commands, registrations)
        self.methods = HostMethods(hub.gateway, registrations)
        self.routes = HostRoutes(hub.gateway, registrations)
        self.events = HostEvents(hub.bus, hub.gateway, registrations)
        self.bus = HostBus(hub.bus, registrations)
        self.states = HostStates(hub.states, registrations)
        self.egress = hub.egress
        self.clock = hub.clock
        self.repairs = hub.repairs
        self.home = hub.home
        self.database = hub.db
        self.agents = hub.agents
        self.sessions = hub.sessions
        self.workspaces = hub.workspaces
        self.scheduled = hub.automation.scheduled
        self._hub = hub
        self._registrations = registrations
        self._tasks = TaskOwner(domain)

    @property
    def config(self) -> Config:
        """The checked configuration that is in force, of all sections."""
        return self._hub.config.current

    @property
    def people(self) -> People:
        """The people of this home."""
        return self._hub.people

    @property
    def language(self) -> str:
        """The home's language."""
        return str(self.config.or_default("hub")["language"])

    @property
    def time_zone(self) -> ZoneInfo:
        """The home's time zone."""
        return ZoneInfo(str(self.config.or_default("hub")["time_zone"]))

    def storage(self, name: str = "data") -> JsonStorage:
        """Return a JSON file of this integration, `.storage/integrations/<domain>/<name>.json`."""
        return JsonStorage(self.home.storage / "integrations" / self.domain / f"{name}.json")

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


class HostChannels:
    """The channels of an integration."""

    def __init__(self, registry: ChannelRegistry, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    async def add(
        self, channel: Channel, access: AccessPolicy | None = None, *, home: bool = False
    ) -> Callable[[], Any]:
        """Start a channel.

        Args:
            channel: The channel.
            access: Who may talk through it; nobody but the owner without it.
            home: Whether the hub's own conversations (dashboard, command line, clients) are held on it.

        Raises:
            Conflict: That account of that channel is already logged in, or another channel is the home channel.
            InvalidRequest: Its text limit is too small for a sensible message.
        """
        self._registrations.require_open()
        await self._registry.add(channel, access, home=home)

        async def remove() -> None:
            await self._registry.remove(channel.name, channel.account)

        if self._registrations.closed:
            await remove()
            self._registrations.require_open()
        return self._registrations.keep(remove)


class HostTools:
    """The tools of an integration."""

    def __init__(self, registry: ToolRegistry, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    def add(self, *tools: Tool) -> None:
        """Offer tools to the agents.

        Raises:
            Conflict: There is a tool of that name already.
        """
        for tool in tools:
            self._registrations.keep(self._registry.register(tool))


class HostModels:
    """The model APIs of an integration."""

    def __init__(self, registry: ModelRegistry, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    def add(self, api: str, factory: Factory) -> Callable[[], Any]:
        """Serve the providers whose `api:` is this one; `factory` makes one from its name and configuration."""
        return self._registrations.keep(self._registry.register_api(api, factory))

    @property
    def registry(self) -> ModelRegistry:
        """All models, to look at."""
        return self._registry


class HostMemory:
    """The memory, which one integration keeps."""

    def __init__(self, registry: MemoryRegistry, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    def add(self, memory: Memory) -> Callable[[], Any]:
        """Keep the hub's memory.

        Raises:
            Conflict: Another integration keeps it.
        """
        return self._registrations.keep(self._registry.register(memory))

    def require(self) -> Memory:
        """Return the memory; see `MemoryRegistry.require`."""
        return self._registry.require()


class HostServices:
    """The services of an integration."""

    def __init__(self, registry: ServiceRegistry, registrations: Registrations, domain: str) -> None:
        self._registry, self._registrations, self._domain = registry, registrations, domain

    def register(
        self,
        name: str,
        handler: Handler,
        schema: Schema | None = None,
        response: ResponseMode = ResponseMode.NONE,
        agent: AgentRule = AgentRule.NEVER,
        **options: Any,
    ) -> Callable[[], Any]:
        """Add the service `<domain>.<name>`; see `ServiceRegistry.register`."""
        remove = self._registry.register(self._domain, name, handler, schema, response, agent, **options)
        return self._registrations.keep(remove)

    async def call(
        self, domain: str, name: str, data: Mapping[str, Any] | None = None, *, context: Context
    ) -> Mapping[str, Any] | None:
        """Call any service; see `ServiceRegistry.call`."""
        return await self._registry.call(domain, name, data, context=context)

    @property
    def registry(self) -> ServiceRegistry:
        """All services, to look at."""
        return self._registry


class HostCommands:
    """The slash commands of an integration."""

    def __init__(self, registry: Commands, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    def add(self, command: ChatCommand) -> Callable[[], Any]:
        """Answer a slash command."""
        return self._registrations.keep(self._registry.add(command))


class HostMethods:
    """The gateway methods of an integration."""

    def __init__(self, gateway: Gateway, registrations: Registrations) -> None:
        self._gateway, self._registrations = gateway, registrations

    def add(self, method: Method) -> Callable[[], Any]:
        """Serve a gateway method.

        Raises:
            InvalidRequest: Its name or scope is not valid.
            Conflict: Another part has this name.
        """
        return self._registrations.keep(self._gateway.methods.add(method))


class HostRoutes:
    """The HTTP routes of an integration."""

    def __init__(self, gateway: Gateway, registrations: Registrations) -> None:
        self._gateway, self._registrations = gateway, registrations

    def add(self, route: Route) -> Callable[[], Any]:
        """Serve an HTTP route.

        Raises:
            InvalidRequest: Its method, path or scope is not valid.
            Conflict: Another part has this method and path.
        """
        return self._registrations.keep(self._gateway.routes.add(route))


class HostEvents:
    """Events of the bus that WebSocket clients get from an integration."""

    def __init__(self, bus: EventBus, gateway: Gateway, registrations: Registrations) -> None:
        self._bus, self._gateway, self._registrations = bus, gateway, registrations

    def add(self, type: str, translate: Callable[[Event], Push | None]) -> Callable[[], Any]:
        """Push what `translate` makes of each event of a type; None pushes nothing."""

        def push(event: Event) -> None:
            translated = translate(event)
            if translated is not None:
                self._gateway.broadcast.push(translated)

        return self._registrations.keep(self._bus.listen(type, push))


class HostBus:
    """The event bus; listening ends when the integration is unloaded."""

    def __init__(self, bus: EventBus, registrations: Registrations) -> None:
        self._bus, self._registrations = bus, registrations

    def fire(self, type: str, data: dict[str, Any] | None = None, context: Context | None = None) -> None:
        """Fire an event; see `EventBus.fire`."""
        self._bus.fire(type, data, context)

    async def wait_for(
        self, type: str, where: Mapping[str, Any] | None = None, *, timeout_s: float | None = None
    ) -> Event:
        """Return the next matching event; see `EventBus.wait_for`."""
        return await self._bus.wait_for(type, where, timeout_s=timeout_s)

    def listen(self, type: str, callback: Listener, where: Mapping[str, Any] | None = None) -> Unsubscribe:
        """Call `callback` for each matching event; see `EventBus.listen`."""
        return self._registrations.keep(self._bus.listen(type, callback, where))


class HostStates:
    """The states of entities; those that the integration sets are removed when it is unloaded."""

    def __init__(self, machine: StateMachine, registrations: Registrations) -> None:
        self._machine, self._registrations = machine, registrations
        self._mine: dict[str, Callable[[], Any]] = {}

    def get(self, entity_id: str) -> EntityState | None:
        """Return the state of an entity, or None when there is no such entity."""
        return self._machine.get(entity_id)

    def set(
        self,
        entity_id: str,
        state: str,
        attributes: Mapping[str, Any] | None = None,
        context: Context | None = None,
    ) -> EntityState:
        """Set an entity's state; see `StateMachine.set`."""
        self._registrations.require_open()
        now = self._machine.set(entity_id, state, attributes, context)
        if entity_id not in self._mine:
            self._mine[entity_id] = self._registrations.keep(lambda: self._machine.remove(entity_id))
        return now

    def remove(self, entity_ids: str | Iterable[str]) -> None:
        """Remove entities that this integration has set."""
        for entity_id in [entity_ids] if isinstance(entity_ids, str) else list(entity_ids):
            undo = self._mine.pop(entity_id, None)
            if undo is not None:
                undo()

    @property
    def machine(self) -> StateMachine:
        """All states, to look at."""
        return self._machine
