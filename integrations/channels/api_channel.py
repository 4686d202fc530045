"""Shared by the channels of platforms with an HTTP API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.messaging.contract import Address, Delivery, Media, OutboundMessage, Receiver
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.reconnecting import keep_connected


class Api(Protocol):
    """What an account asks; see `HttpApi`.

    Attributes:
        is_open: Whether requests are sent.
    """

    is_open: bool

    async def close(self) -> None:
        """Close the connections."""

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield the file that a message refers to."""
        ...


class ApiChannel(ABC):
    """A channel that works with one API while a connection is kept up.

    Args:
        account: Its name in the configuration.
    """

    name: str
    _api: Api

    def __init__(self, account: str, clock: Clock) -> None:
        self.account = account
        self._clock = clock
        self._tasks = TaskOwner(f"{self.name} {account}")

    def _keep_connected(self, connect: Callable[[], Awaitable[str | None]], receive: Receiver) -> None:
        self._tasks.spawn(keep_connected(connect, receive, self._clock), name="connection")

    async def stop(self) -> None:
        """Stop sending, and close the connection."""
        self._api.is_open = False  # what begins now would be cut off, sent or not
        await self._tasks.cancel_all()
        try:
            await self._leave()
        finally:
            await self._api.close()

    async def _leave(self) -> None:  # noqa: B027  most keep nothing
        """Save state that must survive a restart."""

    async def probe(self) -> dict[str, Any]:
        """Return whether the platform answers, and who the account is."""
        try:
            return {"ok": True, **await self._who()}
        except PlatformError as error:
            return {"ok": False, "error": error.message}

    @abstractmethod
    async def _who(self) -> dict[str, Any]:
        """Return the identity of the account on the platform, and the rights that it lacks there; see `probe`."""

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment; see `CanFetch`."""
        async for piece in self._api.fetch(media.reference):
            yield piece

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; see `Channel`."""
        return await delivery_of(self._send(message))

    @abstractmethod
    async def _send(self, message: OutboundMessage) -> str | None:
        """Send a message and return its id."""
