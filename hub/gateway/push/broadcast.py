"""Events for many clients at once: encoded once, sent to those who may see them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hub.core.surfaces import READ, Push
from hub.gateway.connection.connection import UI_MODES, Connection
from hub.gateway.connection.outlet import DROPPABLE, EVENT
from hub.gateway.connection.protocol import encode_event
from hub.security.redaction import Redactor


class Broadcast:
    """The connected clients, and which of them get which event."""

    def __init__(self) -> None:
        self._connections: dict[str, Connection] = {}
        self.redactor: Redactor | None = None
        """Takes secrets out of a payload before it is sent."""
        self._watched: list[Callable[[bool], None]] = []
        self._clients: list[Callable[[Connection, bool], None]] = []
        self.watchers = 0
        """How many clients may see chats and are watched by a person."""
        self.programs = 0
        """How many clients may see chats and are not."""

    @property
    def readers(self) -> int:
        """How many clients may see chats."""
        return self.watchers + self.programs

    def on_watched(self, listener: Callable[[bool], None]) -> None:
        """Call `listener(True)` when the first client that may see chats connects, and with False after the last."""
        self._watched.append(listener)
        if self.readers:
            listener(True)

    def on_client(self, listener: Callable[[Connection, bool], None]) -> None:
        """Call `listener(connection, True)` after a client's handshake, with False when it has left."""
        self._clients.append(listener)

    def add(self, connection: Connection) -> None:
        """Add a client."""
        self._connections[connection.id] = connection
        for listener in self._clients:
            listener(connection, True)
        if connection.authority.has(READ):
            self._count(connection, 1)
            if self.readers == 1:
                self._tell(watched=True)

    def remove(self, connection: Connection) -> None:
        """Remove a client."""
        if self._connections.pop(connection.id, None) is None:
            return
        for listener in self._clients:
            listener(connection, False)
        if connection.authority.has(READ):
            self._count(connection, -1)
            if not self.readers:
                self._tell(watched=False)

    def push(self, push: Push, *, topic: str | None = None, ui: bool | None = None) -> int:
        """Send an event; return the number of clients.

        Args:
            push: The event.
            topic: Only to clients that subscribed to it.
            ui: Only to clients that a person watches, or only to the others.
        """
        encoded: bytes | None = None
        count = 0
        scope = push.scope
        only = push.connection_ids
        for connection in self._connections.values():
            if topic is not None and topic not in connection.topics:
                continue
            if ui is not None and (connection.client.mode in UI_MODES) is not ui:
                continue
            if only is not None and connection.id not in only:
                continue
            if scope is not None and scope not in connection.authority.scopes:
                continue
            if encoded is None:
                encoded = self._encoded(push)
            connection.outlet.send(encoded, DROPPABLE if push.droppable else EVENT)
            count += 1
        return count

    def _encoded(self, push: Push) -> bytes:
        """Return an event without secrets, encoded once for all clients."""
        if self.redactor is None or push.scope is None:
            return encode_event(push.event, push.payload, push.state_version)
        with suppress(TypeError):  # it holds a secret by its origin, perhaps
            encoded = encode_event(push.event, push.payload, push.state_version, plain_only=True)
            if self.redactor.is_clean(encoded.decode()):
                return encoded
        return encode_event(push.event, self.redactor.redact_data(push.payload), push.state_version)

    def _count(self, connection: Connection, by: int) -> None:
        if connection.client.mode in UI_MODES:
            self.watchers += by
        else:
            self.programs += by

    def _tell(self, *, watched: bool) -> None:
        for listener in self._watched:
            listener(watched)
