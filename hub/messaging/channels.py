"""The registry of logged-in channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import ALWAYS, Clock, Lease
from hub.core.errors import Conflict, InvalidRequest, Unavailable
from hub.core.events import EventBus
from hub.core.phrases import phrase
from hub.core.repairs import Repairs
from hub.messaging.access.access import AccessPolicy
from hub.messaging.capabilities import Capability, capabilities_of
from hub.messaging.channel_receiver import Admits, ChannelReceiver, ReceiveAs
from hub.messaging.contract import Channel, ChannelState, ChannelStatus
from hub.messaging.cursors import Cursors
from hub.messaging.outbox.chunking import SMALLEST_LIMIT
from hub.messaging.outbox.outbound_policy import OutboundPolicy
from hub.messaging.places import ChannelPlace, account_in
from hub.sessions.keys import SessionKey, SessionKind

EVENT_CHANNEL_ADDED = "channel_added"
EVENT_CHANNEL_REMOVED = "channel_removed"
EVENT_CHANNEL_STATUS = "channel_status"


class Attached(Struct, frozen=True):
    """A channel, its access policy, its capabilities and its status."""

    channel: Channel
    access: AccessPolicy
    capabilities: frozenset[Capability]
    receiver: ChannelReceiver
    outbound: OutboundPolicy = OutboundPolicy()

    @property
    def status(self) -> ChannelStatus:
        """Its present status."""
        return self.receiver.status


class ChannelRegistry:
    """Knows every channel by name and account, starts and stops them.

    Args:
        bus: Receives an event when a channel is added or removed, and when its status changes.
        repairs: Has one for each channel that takes a person to work again.
        lease: To be waited for before anything is sent.
    """

    def __init__(self, bus: EventBus, clock: Clock, repairs: Repairs, lease: Lease = ALWAYS) -> None:
        self._bus = bus
        self._clock = clock
        self._repairs = repairs
        self.lease = lease
        self._attached: dict[tuple[str, str], Attached] = {}
        self._inbox: tuple[ReceiveAs, Cursors, Admits] | None = None
        self._home: str | None = None
        self._whole: set[str] = set()
        self._configured: Callable[[], Iterable[ChannelPlace]] = tuple

    def connect(self, receive: ReceiveAs, cursors: Cursors, admits: Admits) -> None:
        """Set the receiver, the positions, and the access rules; before any channel is added."""
        self._inbox = (receive, cursors, admits)

    def count_in(self, configured: Callable[[], Iterable[ChannelPlace]]) -> None:
        """Set the function that returns all configured accounts, logged in or not."""
        self._configured = configured

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

    def takes_whole_messages(self, name: str) -> bool:
        """Whether each message of a channel is whole, so that none waits for more of its sender."""
        return name in self._whole

    def serves(self, session_key: str) -> bool:
        """Whether messages of a conversation may come through a chat app: its own, or any in a main conversation."""
        apps = {name for name, _ in self._attached} - {self._home}
        try:
            key = SessionKey.parse(session_key)
        except InvalidRequest:
            return False
        return bool(apps) if key.kind is SessionKind.MAIN else key.channel in apps

    async def add(
        self,
        channel: Channel,
        access: AccessPolicy | None = None,
        *,
        home: bool = False,
        outbound: OutboundPolicy | None = None,
    ) -> None:
        """Start a channel.

        Args:
            channel: The channel.
            access: The access rules; by default only the owner may talk through it.
            home: Whether the hub's own conversations are held on it, whose callers the gateway authenticates.
            outbound: How messages are written and sent; by default as `messages:` says.

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
        if self._inbox is None:
            raise RuntimeError("the inbox is not connected yet")
        capabilities = capabilities_of(channel)
        receiver = ChannelReceiver(channel, *self._inbox, self._clock, partial(self._status_changed, channel))
        outbound = outbound or OutboundPolicy()
        access = replace(access or AccessPolicy(), weak_identity=channel.limits.weak_identity)
        self._attached[key] = Attached(channel, access, capabilities, receiver, outbound)
        try:
            await channel.start(receiver)
        except BaseException:
            del self._attached[key]
            raise
        if home:
            self._home = channel.name
        if home or channel.limits.is_speech:
            self._whole.add(channel.name)
        told = {"channel": channel.name, "account": channel.account, "capabilities": sorted(capabilities)}
        self._bus.fire(EVENT_CHANNEL_ADDED, told)

    async def remove(self, name: str, account: str = "default") -> None:
        """Stop a channel; nothing happens when it is not there."""
        attached = self._attached.pop((name, account), None)
        if attached is None:
            return
        await attached.channel.stop()
        self._repairs.clear("channels", f"{name}:{account}")
        self._bus.fire(EVENT_CHANNEL_REMOVED, {"channel": name, "account": account})

    def get(self, name: str, account: str = "default") -> Attached | None:
        """Return a channel, or None when it is not logged in."""
        return self._attached.get((name, account))

    def all(self) -> list[Attached]:
        """Return all channels, by name and account."""
        return [self._attached[key] for key in sorted(self._attached)]

    def places(self) -> frozenset[ChannelPlace]:
        """Return channel and account of all possible destinations: configured or logged in."""
        return frozenset({*self._attached, *self._configured()})

    def account(self, name: str, account: str = "default") -> str:
        """Return the account that an address means; see `account_in`."""
        return account_in(self.places(), name, account)

    def _status_changed(self, channel: Channel, status: ChannelStatus) -> None:
        name, account = channel.name, channel.account
        told = {"channel": name, "account": account, "state": status.state.value, "error": status.error}
        self._bus.fire(EVENT_CHANNEL_STATUS, told | {"account_id": status.account_id})
        if status.state is not ChannelState.FAILED:
            self._repairs.clear("channels", f"{name}:{account}")
            return
        self._repairs.raise_(
            "channels",
            f"{name}:{account}",
            phrase("{channel} does not work", channel=name),
            phrase("Account {account}: {error}", account=account, error=status.error or phrase("no reason given")),
        )
