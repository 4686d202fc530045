"""The connections of a worker's port, bounded until and between requests: time, bytes of headers, how many of whom."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest

from hub.gateway.access.guarded_socket import address_group, refuse_bytes

_log = logging.getLogger(__name__)

HEAD_LIMIT_S = 10.0
"""How long a connection may take to send the header of a request."""
HEAD_LIMIT_BYTES = 65_536
KEEPALIVE_S = 75.0
SILENT_PER_ADDRESS = 32
"""Connections of one address that have not sent a header yet; the oldest is closed when there are more."""
GRACE_S = 0.25
"""How long such a connection is not closed for another one: many honest clients may come at once."""
SILENT_LIMIT = 512
"""How many of one address there may be at all."""
CONNECTIONS = 8_192


class Connections:
    """Counts the connections, and closes idle ones when there is no room."""

    def __init__(self, limit: int = CONNECTIONS) -> None:
        self._limit = limit
        self._all: set[DoorSocket] = set()
        self._idle: dict[DoorSocket, None] = {}
        self._silent: dict[str, dict[DoorSocket, None]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def arrive(self, socket: DoorSocket) -> bool:
        """Accept a new connection; return False to refuse it."""
        silent = self._silent.get(socket.group, {})
        if len(silent) >= SILENT_PER_ADDRESS:
            oldest = next(iter(silent))
            if asyncio.get_running_loop().time() - oldest.arrived_s >= GRACE_S:
                self._drop(oldest)
            elif len(silent) >= SILENT_LIMIT:
                return False
        if len(self._all) >= self._limit and not self._make_room():
            return False
        self._all.add(socket)
        self._idle[socket] = None
        self._silent.setdefault(socket.group, {})[socket] = None
        return True

    def begin(self, socket: DoorSocket) -> None:
        """Note that a request is under way: its connection is not closed to make room."""
        self._speak(socket)
        self._idle.pop(socket, None)

    def end(self, socket: DoorSocket) -> None:
        """Note that a request is answered."""
        if socket in self._all:
            self._idle[socket] = None

    def leave(self, socket: DoorSocket) -> None:
        """Forget a connection that ended."""
        self._speak(socket)
        self._all.discard(socket)
        self._idle.pop(socket, None)

    def _make_room(self) -> bool:
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        self._drop(oldest)
        return True

    def _speak(self, socket: DoorSocket) -> None:
        silent = self._silent.get(socket.group, {})
        silent.pop(socket, None)
        if not silent:
            self._silent.pop(socket.group, None)

    def _drop(self, socket: DoorSocket) -> None:
        socket.abort()
        self.leave(socket)


class DoorSocket(RequestHandler):
    """One connection of a client or of another worker."""

    def __init__(
        self, manager: web.Server, connections: Connections, loop: asyncio.AbstractEventLoop, **options: Any
    ) -> None:
        super().__init__(manager, loop=loop, **options)
        self._connections = connections
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._busy = False
        self.arrived_s = loop.time()
        self.group = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.group = address_group(peer[0]) if peer else "local"
        if not self._connections.arrive(self):
            cast(asyncio.Transport, transport).abort()
            return
        super().connection_made(transport)
        self._deadline = self._loop.call_later(HEAD_LIMIT_S, self.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.leave(self)
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._messages or self._busy or self._upgraded:
            self._stop_waiting()
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_LIMIT_BYTES:
            self.abort()
        elif self._deadline is None and self._head_bytes:
            self._deadline = self._loop.call_later(HEAD_LIMIT_S, self.abort)

    def handle_error(
        self, request: BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a request that is not HTTP."""
        if status >= 500:
            _log.error("a request of %s failed", self.group, exc_info=exc)
        return refuse_bytes(self.group, status, message or exc)

    def begin(self) -> None:
        """Begin to answer a request."""
        self._busy = True
        self._connections.begin(self)

    def end(self) -> None:
        """End an answer."""
        self._busy = False
        self._connections.end(self)

    def abort(self) -> None:
        """Drop the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    def _stop_waiting(self) -> None:
        self._head_bytes = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class DoorServer(web.Server):
    """aiohttp's low-level server with bounded connections."""

    def __init__(self, handler: Any, connections: Connections) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._bounds = connections

    def __call__(self) -> RequestHandler:
        return DoorSocket(
            self,
            self._bounds,
            self._loop,
            keepalive_timeout=KEEPALIVE_S,
            access_log=None,
            auto_decompress=False,
            lingering_time=2.0,
        )
