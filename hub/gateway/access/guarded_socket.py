"""One connection in front of the HTTP parser, limited until a credential is shown on it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable
from typing import Any, Protocol, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest

from hub.core.surfaces import RAW_LIMIT_BYTES
from hub.gateway.access.hosts import plain_address
from hub.gateway.access.unix_socket import is_own_user, is_unix

_log = logging.getLogger(__name__)

AUTH_LIMIT_S = 10.0


HANDSHAKE_LIMIT_S = 15.0


PUBLIC_ANSWER_LIMIT_S = 30.0
"""How long a public answer (a page, a script) may take to be fetched."""


LINE_LIMIT_S = 5.0


REVOKED_LIMIT_S = 0.5


HELD_LIMIT_BYTES = 1_048_576


PROXY_GROUP = "proxy"
"""Under what the connections on the Unix socket of a trusted proxy are counted."""


FRONT_GROUP = "front"
"""Under what those of the worker's front door are counted, which bounds them by address itself."""


def address_group(address: str) -> str:
    """Return the group that an address is counted in: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(plain_address(address))
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.is_loopback:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


class SocketGuard(Protocol):
    """Counts sockets; `hub.gateway.access.guard.Guard` does."""

    def arrive(self, socket: Socket, transport: asyncio.Transport) -> bool:
        """Accept a new socket, or queue it; return False to refuse it."""
        ...

    def arrive_locally(self, socket: Socket) -> None:
        """Accept a socket of the hub's own user."""
        ...

    def admit(self, socket: Socket) -> None:
        """Free the place of a socket that proved itself."""
        ...

    def bind(self, socket: Socket, credentials: frozenset[str]) -> None:
        """Remember which credentials a socket used; raises `LimitExceeded`."""
        ...

    def leave(self, socket: Socket) -> None:
        """Forget a socket that was closed."""
        ...


class Socket(RequestHandler):
    """One TCP connection: aiohttp's request handler with the guard in front of its parser."""

    def __init__(
        self, manager: web.Server, guard: SocketGuard, loop: asyncio.AbstractEventLoop, **options: Any
    ) -> None:
        super().__init__(manager, loop=loop, **options)
        self._guard = guard
        self.seen_bytes = 0
        self._raw_limit = RAW_LIMIT_BYTES
        self._held = bytearray()
        self._waiting_in_line = False
        self.trusted = False
        self.unix = False
        """Whether it came over the hub's Unix socket, from a process of the hub's own user."""
        self.of_proxy = False
        """Whether it came over the Unix socket of the trusted proxy; who may open that, the file system says."""
        self.of_front = False
        """Whether it came from the front door of the worker, which says whose it is and knows the home's names."""
        self.group = ""
        self.deadline = 0.0
        self.entered_s = 0.0
        self.idle = False
        """Nothing is under way: it has been answered and may be closed to make room."""
        self.credentials: frozenset[str] = frozenset()
        self.on_writable: Callable[[], None] | None = None
        self.closing = False
        self.last_answer = False
        """What it used was revoked: the answer under way is the last."""

    @property
    def proxy(self) -> str:
        """The name of what forwards the requests of clients over a Unix socket; empty for any other connection."""
        return PROXY_GROUP if self.of_proxy else FRONT_GROUP if self.of_front else ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.of_front and not is_own_user(transport):
            cast(asyncio.Transport, transport).abort()
            return
        if is_unix(transport) and not self.proxy:
            self.unix = self.trusted = is_own_user(transport)
            self._guard.arrive_locally(self)
            if not self.unix:
                cast(asyncio.Transport, transport).abort()
                return
            super().connection_made(transport)
            return
        peer = transport.get_extra_info("peername")
        self.group = self.proxy or address_group(peer[0] if peer else "local")
        if not self._guard.arrive(self, cast(asyncio.Transport, transport)):
            cast(asyncio.Transport, transport).abort()
            return
        super().connection_made(transport)
        if self._waiting_in_line:
            cast(asyncio.Transport, transport).pause_reading()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._held.clear()
        self.closing = True
        self._guard.leave(self)
        if self.on_writable is not None:
            self.on_writable()
            self.on_writable = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.trusted or not data:
            super().data_received(data)
            return
        if self._held:
            self._hold(data)
            return
        self.idle = False
        room = self._raw_limit - self.seen_bytes
        self.seen_bytes += min(len(data), room)
        if len(data) <= room:
            super().data_received(data)
            return
        if self._upgraded:
            _log.info("closed a WebSocket from %s: over %d bytes before its handshake", self.group, RAW_LIMIT_BYTES)
            self.abort()
            return
        self._hold(data[room:])
        if room:
            super().data_received(data[:room])

    def handle_error(
        self, request: BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a request that is not HTTP; since anyone can send those, only one debug line is logged."""
        return refuse_bytes(self.group, status, message or exc)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.on_writable is not None:
            self.on_writable()

    def trust(self, credentials: frozenset[str]) -> None:
        """Lift the limits: a request on this socket was authenticated with these credentials.

        Raises:
            LimitExceeded: A credential has too many connections already; this one is closed after the answer.
        """
        if self.credentials != credentials:
            self._guard.bind(self, credentials)
        if self.trusted:
            return
        self.trusted = True
        self._guard.admit(self)
        self._release()

    def widen(self, body_bytes: int) -> None:
        """Allow a body of this size from an unproved socket for the current request, as its route permits."""
        if not self.trusted and body_bytes > RAW_LIMIT_BYTES:
            self._raw_limit = RAW_LIMIT_BYTES + body_bytes
            self._release()

    def begin_request(self) -> None:
        """Handle a complete header."""
        if not self.trusted:
            self.deadline = self._loop.time() + AUTH_LIMIT_S

    def begin_public(self) -> None:
        """Begin to answer a public request, with time to fetch it."""
        if not self.trusted:
            self.idle = False
            self.deadline = self._loop.time() + PUBLIC_ANSWER_LIMIT_S

    def end_public(self) -> None:
        """End a public answer: the count and the time start again."""
        if not self.trusted:
            self.idle = True
            self._raw_limit = RAW_LIMIT_BYTES
            self.seen_bytes = len(self._held)
            self.deadline = self._loop.time() + AUTH_LIMIT_S

    def begin_handshake(self) -> None:
        """Begin a WebSocket that authenticates with its first frame."""
        self.deadline = self._loop.time() + HANDSHAKE_LIMIT_S

    def enter(self) -> None:
        """Leave the queue: the socket may be read now."""
        self._waiting_in_line = False
        self._resume_transport_reading()

    def wait_in_line(self) -> None:
        """Wait, unread, for a place."""
        self._waiting_in_line = True
        self.deadline = self._loop.time() + LINE_LIMIT_S

    def abort(self) -> None:
        """Drop the connection at once."""
        self.closing = True
        if self.transport is not None:
            self.transport.abort()

    def abort_soon(self) -> None:
        """Accept no further request; drop the connection after the current answer, or in half a second."""
        self.last_answer = True
        self.close()
        self._loop.call_later(REVOKED_LIMIT_S, self.abort)

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > HELD_LIMIT_BYTES:
            self.abort()
            return
        self._pause_transport_reading()

    def _release(self) -> None:
        """Read the held-back data, as far as there is room now."""
        if not self._held or self.closing:
            return
        held = bytes(self._held)
        self._held.clear()
        self.data_received(held)
        if not self._held and not self._reading_paused and not self._buffer_paused:
            super()._resume_transport_reading()

    def _resume_transport_reading(self) -> None:
        if not self._held and not self._waiting_in_line:
            super()._resume_transport_reading()


def refuse_bytes(group: str, status: int, reason: object) -> web.Response:
    """Return the answer to what is not HTTP, and the end of its connection."""
    _log.debug("from %s: %d %s", group, status, reason)
    code, text = ("INVALID_REQUEST", "this is not a valid HTTP request") if status < 500 else ("INTERNAL", "failed")
    response = web.Response(
        status=status,
        body=b'{"error":{"code":"%b","message":"%b"}}' % (code.encode(), text.encode()),
        content_type="application/json",
        headers={"Server": "homarus", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"},
    )
    response.force_close()
    return response


def keep_guest(request: web.Request, credential: str) -> None:
    """Lift the limits of a socket whose caller was authenticated by the handler of a route with `Open.SELF`.

    Args:
        request: The one that it came by.
        credential: `visitor:<of what>`: under which its connections are counted.

    Raises:
        LimitExceeded: There are too many of these already.
    """
    if isinstance(request.protocol, Socket):  # another server than the gateway has no such limits
        request.protocol.trust(frozenset({credential}))
