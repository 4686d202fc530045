"""The contracts of a node, and of a transport that nodes connect by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

EVENT_NOTICE = "person_notified"
"""Tells the browsers of a person something while they are closed: `topic`, `title`, `body`, and see `push.web.send`."""


class Node(Protocol):
    """A connected device.

    Attributes:
        id: Its identity, which the transport has proved; it never changes.
        name: The name shown to people.
        platform: `ios`, `android`, `macos`, `linux`, …
        commands: Its commands: `camera.snap`, `location.get`, …
        permissions: The permissions its owner gave it, by name.

    It may also have an attribute `about`, a mapping of what else it reports about itself: `version`,
    `caps`, `clientId`, `deviceFamily`, `modelIdentifier`; and `host`, by which it reaches the hub.
    """

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def platform(self) -> str: ...

    @property
    def commands(self) -> frozenset[str]: ...

    @property
    def permissions(self) -> Mapping[str, bool]: ...

    async def invoke(
        self, command: str, params: Mapping[str, Any], *, timeout_s: float, idempotency_key: str
    ) -> Mapping[str, Any]:
        """Run a command and return its result.

        Args:
            command: One of `commands`.
            params: The parameters as the command has them.
            timeout_s: Seconds after which the hub no longer waits, and cancels.
            idempotency_key: The same key means the same invocation: the node does not act twice.

        Raises:
            HubError: It cannot, or is not permitted to.
        """


Disconnect = Callable[[str], None]
"""Reports that a node has gone, with the reason; calling it twice does no harm."""
Connect = Callable[[Node], Disconnect]
"""Reports a node that has connected."""


class NodeTransport(Protocol):
    """A transport that nodes connect by: a WebSocket, MQTT, …

    It moves bytes and proves who a node is. What a node may be asked is decided by the hub, never here.
    """

    name: str

    async def start(self, connect: Connect) -> None:
        """Begin to accept nodes; each is passed to `connect`."""

    async def stop(self) -> None:
        """Disconnect all nodes."""
