"""The registry of channels that are logged in now."""

from __future__ import annotations

from msgspec import Struct

from hub.core.errors import Conflict, InvalidRequest
from hub.core.events import EventBus
from hub.messaging.access import AccessPolicy
from hub.messaging.chunking import SMALLEST_LIMIT
from hub.messaging.contract import Channel, Receive

EVENT_CHANNEL_ADDED = "channel_added"
EVENT_CHANNEL_REMOVED = "channel_removed"


class Attached(Struct, frozen=True):
    """A channel and who may talk through it."""

    channel: Channel
    access: AccessPolicy


class ChannelRegistry:
    """Knows every channel by name and account, starts and stops them.

    Args:
        bus: Told when a channel comes or goes.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._attached: dict[tuple[str, str], Attached] = {}
        self._receive: Receive | None = None

    def connect(self, receive: Receive) -> None:
        """Set where messages go; called once, before any channel is added."""
        self._receive = receive

    async def add(self, channel: Channel, access: AccessPolicy | None = None) -> None:
        """Start a channel and answer who talks through it.

        Raises:
            Conflict: That account of that channel is already there.
            InvalidRequest: Its text limit is too small for a sensible message.
        """
        if channel.capabilities.text_limit < SMALLEST_LIMIT:
            raise InvalidRequest(
                f"{channel.name}: a text limit of {channel.capabilities.text_limit} characters is too small; "
                f"it must be {SMALLEST_LIMIT} at least"
            )
        key = (channel.name, channel.account)
        if key in self._attached:
            raise Conflict(f"{channel.name} account {channel.account!r} is already logged in")
        if self._receive is None:
            raise RuntimeError("the inbox is not connected yet")
        self._attached[key] = Attached(channel, access or AccessPolicy())
        try:
            await channel.start(self._receive)
        except BaseException:
            del self._attached[key]
            raise
        self._bus.fire(EVENT_CHANNEL_ADDED, {"channel": channel.name, "account": channel.account})

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
