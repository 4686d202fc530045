"""The registrars of an integration's host: each adds to one part of the hub and remembers how to undo it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hub.core.context import Authority, Context
from hub.core.errors import Unauthorized
from hub.core.events import Event, EventBus, Listener, Unsubscribe
from hub.core.schema import Schema
from hub.core.services import AgentRule, Handler, ResponseMode, ServiceRegistry
from hub.core.states import EntityState, StateMachine
from hub.core.surfaces import Caller, Method, Push, Route
from hub.gateway.connection.server import Gateway
from hub.gateway.pages import FrameOrigin, Page, PageTable
from hub.hooks.contract import HookHandler
from hub.hooks.registry import Hook, Hooks
from hub.integration.registrations import Registrations
from hub.memory.contract import Memory
from hub.memory.registry import Embed, MemoryRegistry
from hub.messaging.access.access import AccessPolicy
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import ChatCommand, Commands
from hub.messaging.contract import Channel
from hub.messaging.outbox.outbound_policy import OutboundPolicy
from hub.models.registry import Factory, ModelRegistry
from hub.nodes.contract import NodeTransport
from hub.nodes.registry import NodeRegistry
from hub.sandbox.contract import Sandbox, SandboxEngine
from hub.sandbox.sandboxes import Sandboxes
from hub.tools.contract import Tool, ToolCall
from hub.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from aiohttp.web import BaseRequest

    from hub.nodes.phones import Carrier, Phone, Phones
    from hub.voice.component import VoiceComponent
    from hub.voice.contract import Line, Satellite
    from hub.voice.satellites import SatelliteRegistry
    from hub.voice.wake import WakeEngine


class HostChannels:
    """The channels of an integration."""

    def __init__(self, registry: ChannelRegistry, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    @property
    def registry(self) -> ChannelRegistry:
        """All channels, for reading."""
        return self._registry

    async def add(
        self,
        channel: Channel,
        access: AccessPolicy | None = None,
        *,
        home: bool = False,
        outbound: OutboundPolicy | None = None,
    ) -> Callable[[], Any]:
        """Start a channel.

        Args:
            channel: The channel.
            access: Its access policy; by default nobody but the owner.
            home: Whether the hub's own conversations (dashboard, command line, clients) are held on it.
            outbound: How messages are written and sent; as `messages:` says without it.

        Raises:
            Conflict: That account of that channel is already logged in, or another channel is the home channel.
            InvalidRequest: Its text limit is too small for a sensible message.
        """
        self._registrations.require_open()
        await self._registry.add(channel, access, home=home, outbound=outbound)

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

    def add(self, *tools: Tool) -> Callable[[], Any]:
        """Offer tools to the agents; return a function that removes the last of them.

        Raises:
            Conflict: There is a tool with that name already.
        """
        return [self._registrations.keep(self._registry.register(tool)) for tool in tools][-1]

    @property
    def registry(self) -> ToolRegistry:
        """All tools, for reading and calling."""
        return self._registry


class HostModels:
    """The model APIs of an integration."""

    def __init__(self, registry: ModelRegistry, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    def add(
        self,
        api: str,
        factory: Factory,
        *,
        provides: bool = False,
        speaks: bool = False,
        lists_speech: bool = False,
    ) -> Callable[[], Any]:
        """Serve the providers whose `api:` is this one; see `ModelRegistry.register_api`."""
        undo = self._registry.register_api(api, factory, provides=provides, speaks=speaks, lists_speech=lists_speech)
        return self._registrations.keep(undo)

    @property
    def registry(self) -> ModelRegistry:
        """All models, for reading."""
        return self._registry


class HostMemory:
    """The hub's memory, provided by one integration."""

    def __init__(self, registry: MemoryRegistry, registrations: Registrations) -> None:
        self._registry, self._registrations = registry, registrations

    def add(self, memory: Memory, embed: Embed | None = None) -> Callable[[], Any]:
        """Provide the hub's memory; `embed` makes its vectors.

        Raises:
            Conflict: Another integration keeps it.
        """
        return self._registrations.keep(self._registry.register(memory, embed))

    def require(self) -> Memory:
        """Return the memory; see `MemoryRegistry.require`."""
        return self._registry.require()


class HostNodes:
    """The node transports of an integration, its phones, and its ways to phones."""

    def __init__(self, registry: NodeRegistry, phones: Callable[[], Phones], registrations: Registrations) -> None:
        self._registry, self._phones, self._registrations = registry, phones, registrations

    @property
    def phones(self) -> Phones:
        """All phones, for reading and calling."""
        return self._phones()

    def add_phone(self, phone: Phone) -> Callable[[], Any]:
        """Offer a phone; see `Phones.add`."""
        return self._registrations.keep(self._phones().add(phone))

    def carry(self, carrier: Carrier) -> Callable[[], Any]:
        """Add a way to phones; see `Phones.carry`."""
        return self._registrations.keep(self._phones().carry(carrier))

    async def add(self, transport: NodeTransport) -> Callable[[], Any]:
        """Start a transport that nodes connect by.

        Raises:
            Conflict: There is one with that name.
        """
        self._registrations.require_open()
        await self._registry.add(transport)

        async def remove() -> None:
            await self._registry.remove(transport.name)

        if self._registrations.closed:
            await remove()
            self._registrations.require_open()
        return self._registrations.keep(remove)

    @property
    def registry(self) -> NodeRegistry:
        """All nodes, for reading and calling."""
        return self._registry


class HostSandboxes:
    """The sandbox engines of an integration, and the sandbox of a call."""

    def __init__(self, sandboxes: Sandboxes, registrations: Registrations) -> None:
        self._sandboxes, self._registrations = sandboxes, registrations

    def add(self, engine: SandboxEngine) -> Callable[[], Any]:
        """Make sandboxes with an engine; all of them are removed when the integration is unloaded.

        Raises:
            Conflict: There is one with that name.
        """
        forget = self._sandboxes.add(engine)

        async def remove() -> None:
            forget()
            await engine.close()

        return self._registrations.keep(remove)

    @property
    def mandatory(self) -> bool:
        """Whether no program runs in the hub."""
        return self._sandboxes.mandatory

    async def of(self, call: ToolCall) -> Sandbox | None:
        """Return the sandbox that a call's programs must run in; None for the hub. See `Sandboxes.of`."""
        return await self._sandboxes.of(call)

    async def open(self, call: ToolCall) -> Sandbox:
        """Return the sandbox of a call's conversation, even if it need not use one. See `Sandboxes.open`."""
        return await self._sandboxes.open(call.agent_id, call.session_key)

    @property
    def registry(self) -> Sandboxes:
        """All sandboxes."""
        return self._sandboxes


class HostSatellites:
    """The satellites of an integration, and all of them; the first use imports what listens and speaks."""

    def __init__(self, voice: VoiceComponent, registrations: Registrations) -> None:
        self._voice, self._registrations = voice, registrations

    def add(self, satellite: Satellite) -> tuple[Line, Callable[[], Any]]:
        """Add a satellite; return its line, and a function that removes it.

        Raises:
            Conflict: There is one with that id.
            InvalidRequest: The id is no slug.
        """
        self._registrations.require_open()
        line, remove = self._voice.satellites().add(satellite)
        return line, self._registrations.keep(remove)

    def open(self) -> SatelliteRegistry:
        """Return all satellites, and bring what a home with one has: those of another hub speak with this one."""
        return self._voice.open()

    def add_wake_engine(self, engine: WakeEngine) -> Callable[[], Any]:
        """Find wake words with an engine; return a function that removes it."""
        return self._registrations.keep(self._voice.add_wake_engine(engine))

    def configure(self, section: Mapping[str, Any]) -> None:
        """Put the valid section `voice` into force, until the integration is unloaded."""
        self._voice.configure(section)
        self._registrations.keep(lambda: self._voice.configure({}))

    @property
    def registry(self) -> SatelliteRegistry:
        """All satellites, for calling."""
        return self._voice.satellites()


class HostHooks:
    """The hooks of an integration."""

    def __init__(self, hooks: Hooks, registrations: Registrations, domain: str) -> None:
        self._hooks, self._registrations, self._source = hooks, registrations, f"integration {domain}"

    def add(
        self, name: str, handler: HookHandler, *, priority: int = 0, timeout_s: float | None = None
    ) -> Callable[[], Any]:
        """Handle a hook of `hub.hooks.contract`; those with a higher priority run before it.

        Raises:
            InvalidRequest: There is no such hook, or the time limit is out of range.
        """
        return self._registrations.keep(self._hooks.add(Hook(name, handler, self._source, priority, timeout_s)))


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
        *,
        domain: str = "",
        **options: Any,
    ) -> Callable[[], Any]:
        """Add the service `<domain>.<name>`; see `ServiceRegistry.register`.

        Args:
            domain: Of a service that another program has under that name; its own domain by default.
        """
        remove = self._registry.register(domain or self._domain, name, handler, schema, response, agent, **options)
        return self._registrations.keep(remove)

    async def call(
        self, domain: str, name: str, data: Mapping[str, Any] | None = None, *, context: Context
    ) -> Mapping[str, Any] | None:
        """Call any service; see `ServiceRegistry.call`."""
        return await self._registry.call(domain, name, data, context=context)

    @property
    def registry(self) -> ServiceRegistry:
        """All services, for reading."""
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

    async def call(self, caller: Caller, name: str, params: Mapping[str, Any]) -> Any:
        """Call a gateway method with the rights of a caller, and return its answer.

        Raises:
            HubError: What the method raises; the caller lacks its scope, or a credential of the caller has ended.
        """
        if not self.all_valid(caller.came_from):
            raise Unauthorized("the credential of this request has expired or was revoked; sign in again")
        method, prepared = self._gateway.dispatcher.prepare(name, params, caller)
        return await self._gateway.dispatcher.run(method, prepared)

    def links(self, caller: Caller) -> frozenset[str]:
        """Return the credentials that a caller's creations depend on; none for the owner."""
        return self._gateway.authenticator.links(caller)

    def authority_of(self, principal: str) -> Authority:
        """Return the present rights of a principal whose credential is still valid."""
        return self._gateway.authenticator.authority_of(principal)

    def all_valid(self, links: Iterable[str]) -> bool:
        """Whether all of these credentials are still valid."""
        return self._gateway.authenticator.all_valid(links)


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


class HostPages:
    """The pages that an integration adds to the dashboard."""

    def __init__(self, table: PageTable, registrations: Registrations, domain: str) -> None:
        self._table, self._registrations, self._domain = table, registrations, domain

    def add(self, page: Page) -> Callable[[], Any]:
        """Show a page, with an entry in the navigation.

        Raises:
            InvalidRequest: Its path is not valid, or there is no such template.
            Conflict: Another part has this address.
        """
        return self._registrations.keep(self._table.add(page, self._domain))

    def frame(self, origin: FrameOrigin) -> Callable[[], Any]:
        """Let pages show frames of an origin; see `PageTable.frame`."""
        return self._registrations.keep(self._table.frame(origin))

    def frame_origin(self, request: BaseRequest) -> str:
        """Return the origin that pages may show in a frame; empty if there is none."""
        return self._table.frame_origin(request)


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
    """The event bus; listening ends when the integration is unloaded.

    Attributes:
        fire: Fires an event; see `EventBus.fire`.
    """

    def __init__(self, bus: EventBus, registrations: Registrations) -> None:
        self._bus, self._registrations = bus, registrations
        self.fire = bus.fire

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
        """All states, for reading."""
        return self._machine
