"""The registry of channels that are logged in now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from hub.core.context import Authority, Context
from hub.core.errors import Conflict, InvalidRequest, Unavailable
from hub.core.events import EventBus
from hub.messaging.access import AccessPolicy
from hub.messaging.capabilities import Capability, capabilities_of
from hub.messaging.chunking import SMALLEST_LIMIT
from hub.messaging.contract import Channel, ClientMessage, Inbound, Receipt, Receive

EVENT_CHANNEL_ADDED = "channel_added"
EVENT_CHANNEL_REMOVED = "channel_removed"

ReceiveAs = Callable[[Inbound, Context], Awaitable[Receipt]]


class Attached(Struct, frozen=True):
    """A channel, who may talk through it, and what it can do."""

    channel: Channel
    access: AccessPolicy
    capabilities: frozenset[Capability]


class ChannelRegistry:
    """Knows every channel by name and account, starts and stops them.

    Args:
        bus: Told when a channel comes or goes.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._attached: dict[tuple[str, str], Attached] = {}
        self._receive: ReceiveAs | None = None
        self._home: str | None = None

    def connect(self, receive: ReceiveAs) -> None:
        """Set where messages go; called once, before any channel is added."""
        self._receive = receive

    @property
    def home(self) -> str:
        """The channel of the hub's own conversations: those of the dashboard, the command line and other clients.

        Raises:
            Unavailable: None was added yet.
        """
        if self._home is None:
            raise Unavailable("no channel for the hub's own conversations is loaded")
        return self._home

    def is_home(self, name: str) -> bool:
        """Whether this is the channel of the hub's own conversations."""
        return name == self._home

    async def add(self, channel: Channel, access: AccessPolicy | None = None, *, home: bool = False) -> None:
        """Start a channel.

        Args:
            channel: The channel.
            access: The access rules; by default only the owner may talk through it.
            home: Whether the hub's own conversations are held on it, whose callers the gateway authenticates.

        Raises:
            Conflict: That account of that channel is already there, or another channel is the home channel.
            InvalidRequest: Its text limit is too small for a sensible message.
        """
        if channel.limits.text < SMALLEST_LIMIT:
            raise InvalidRequest(
                f"{channel.name}: a text limit of {channel.limits.text} is too small; "
                f"it must be {SMALLEST_LIMIT} at least"
            )
        key = (channel.name, channel.account)
        if key in self._attached:
            raise Conflict(f"{channel.name} account {channel.account!r} is already logged in")
        if home and self._home not in (None, channel.name):
            raise Conflict(f"{self._home} is the channel of the hub's own conversations already")
        if self._receive is None:
            raise RuntimeError("the inbox is not connected yet")
        capabilities = capabilities_of(channel)
        self._attached[key] = Attached(channel, access or AccessPolicy(), capabilities)
        try:
            await channel.start(_entrance(channel, self._receive))
        except BaseException:
            del self._attached[key]
            raise
        if home:
            self._home = channel.name
        told = {"channel": channel.name, "account": channel.account, "capabilities": sorted(capabilities)}
        self._bus.fire(EVENT_CHANNEL_ADDED, told)

    async def remove(self, name: str, account: str = "default") -> None:
        """Stop a channel; nothing happens when it is not there."""
        attached = self._attached.pop((name, account), None)
        if attached is None:
            return
        await attached.channel.stop()
        self._bus.fire(EVENT_CHANNEL_REMOVED, {"channel": name, "account": account})

    def get(self, name: str, account: str = "default") -> Attached | None:
        """Return a channel, or None when it is not logged in."""
        return self._attached.get((name, account))

    def all(self) -> list[Attached]:
        """Return all channels, by name and account."""
        return [self._attached[key] for key in sorted(self._attached)]


def _entrance(channel: Channel, receive: ReceiveAs) -> Receive:
    """Return the way in for one channel: it receives messages of its own account and senders and has no rights."""
    name, account, senders = channel.name, channel.account, f"{channel.name}:"

    async def enter(inbound: Inbound) -> Receipt:
        address = inbound.address
        if (address.channel, address.account) != (name, account):
            raise InvalidRequest(f"{name} ({account}) cannot receive for {address.channel} ({address.account})")
        if isinstance(inbound, ClientMessage):
            raise InvalidRequest(f"{name}: only callers of the gateway choose session, run and model")
        if inbound.sender and not inbound.sender.startswith(senders):
            raise InvalidRequest(f"{name}: a sender's identity begins with {senders!r}, not {inbound.sender[:80]!r}")
        return await receive(inbound, Context(Authority(f"peer:{inbound.sender or 'unknown'}")))

    return enter
