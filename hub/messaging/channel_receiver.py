"""The entrance for one channel: checks what it delivers, and keeps its status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.errors import InvalidRequest, Unavailable
from hub.messaging.contract import Channel, ChannelState, ChannelStatus, ClientMessage, Inbound, Receipt
from hub.messaging.cursors import Cursors

ReceiveAs = Callable[[Inbound, Context], Awaitable[Receipt]]
Admits = Callable[[Inbound, Context], bool]


class ChannelReceiver:
    """Receives messages of one channel's own account and senders, without any rights.

    Args:
        channel: The channel.
        receive: The inbox.
        cursors: Keeps how far the account was read.
        admits: Whether a sender may talk.
        changed: Called with the channel's status when its state, account or error is another one.
    """

    def __init__(
        self,
        channel: Channel,
        receive: ReceiveAs,
        cursors: Cursors,
        admits: Admits,
        clock: Clock,
        changed: Callable[[ChannelStatus], None],
    ) -> None:
        self._channel = channel
        self._receive = receive
        self._cursors = cursors
        self._admits = admits
        self._clock = clock
        self._changed = changed
        self.status = ChannelStatus()

    async def __call__(self, inbound: Inbound) -> Receipt:
        """Take a message or event; see `Receiver`."""
        name, account, address = self._channel.name, self._channel.account, inbound.address
        if (address.channel, address.account) != (name, account):
            raise InvalidRequest(f"{name} ({account}) cannot receive for {address.channel} ({address.account})")
        if isinstance(inbound, ClientMessage):
            raise InvalidRequest(f"{name}: only callers of the gateway choose session, run and model")
        if inbound.sender and not inbound.sender.startswith(f"{name}:"):
            raise InvalidRequest(f"{name}: a sender's identity begins with '{name}:', not {inbound.sender[:80]!r}")
        now = self._clock.time()
        self.status = replace(self.status, last_progress_at=now, last_received_at=now)
        return await self._receive(*self._as_ours(inbound))

    def admits(self, inbound: Inbound) -> bool:
        """Whether the sender may talk here; see `Receiver`."""
        return self._admits(*self._as_ours(inbound))

    def identified(self, account_id: str | None, name: str | None = None) -> None:
        """Note whose account it is; see `Receiver`."""
        known = self.status
        self._become(replace(known, account_id=account_id or known.account_id, account_name=name or known.account_name))

    def connected(self) -> None:
        """Note that the platform was reached; see `Receiver`."""
        now = self._clock.time()
        since = self.status.connected_at if self.status.state is ChannelState.CONNECTED else now
        self._become(
            replace(self.status, state=ChannelState.CONNECTED, connected_at=since, last_progress_at=now, error=None)
        )

    def progress(self) -> None:
        """Record activity of the platform."""
        self.status = replace(self.status, last_progress_at=self._clock.time())

    def disconnected(self, error: str, *, permanent: bool = False) -> None:
        """Note that the platform cannot be reached; see `Receiver`."""
        state = ChannelState.FAILED if permanent else ChannelState.DISCONNECTED
        self._become(replace(self.status, state=state, error=error))

    async def cursor(self, name: str = "position") -> str | None:
        """Return a position of the account."""
        return await self._cursors.get(self._channel.name, self._known_account(), name)

    async def keep_cursor(self, value: str, name: str = "position") -> None:
        """Keep a position of the account."""
        await self._cursors.keep(self._channel.name, self._known_account(), name, value)

    def _as_ours(self, inbound: Inbound) -> tuple[Inbound, Context]:
        address = replace(inbound.address, account_id=self.status.account_id)
        return replace(inbound, address=address), Context(Authority(f"peer:{inbound.sender or 'unknown'}"))

    def _known_account(self) -> str:
        if self.status.account_id is None:
            raise Unavailable(f"{self._channel.name}: a position needs an account; call identified(account_id) first")
        return self.status.account_id

    def _become(self, status: ChannelStatus) -> None:
        before, self.status = self.status, status
        shown = ("state", "account_id", "account_name", "error")
        if any(getattr(before, each) != getattr(status, each) for each in shown):
            self._changed(status)
