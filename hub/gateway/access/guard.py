"""The guard in front of the HTTP parser: what a socket may do before it has shown a credential.

At most a few such sockets at once, in all and per address, 64 KiB of raw bytes each, and a few seconds. A burst of
honest clients (a hundred connect at once and each proves itself in a millisecond) waits in line, unread; for each that
waits, the oldest unproved socket of the most crowded address is closed once it has had a quarter of a second. A socket
whose request was authenticated is admitted, within the quota of its credential, and its place is free.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest

from hub.core.errors import LimitExceeded
from hub.gateway.access.hosts import plain_address
from hub.gateway.access.request import GatewayRequest
from hub.gateway.access.unix_socket import is_own_user, is_unix
from hub.gateway.calls.settings import GatewayLimits

_log = logging.getLogger(__name__)

RAW_LIMIT_BYTES = 65_536
"""Raw bytes a socket may send before it is authenticated, counted in front of the parser."""
HEADER_LIMIT_S = 2.0
"""How long a socket may take to send its first complete header."""
AUTH_LIMIT_S = 10.0
HANDSHAKE_LIMIT_S = 15.0
PUBLIC_ANSWER_LIMIT_S = 30.0
"""How long a public answer (a page, a script) may take to be fetched."""
LINE_LIMIT_S = 5.0
GRACE_S = 0.25
"""How long an unproved socket keeps its place while others wait."""
OWNER_PLACES = 50
"""Connections that only credentials of the owner may use, as opposed to tokens and devices."""
MADE_FOR_OTHERS = ("token:", "device:")
KEEPALIVE_S = 75.0
REVOKED_LIMIT_S = 0.5
HELD_LIMIT_BYTES = 1_048_576
PROXY_GROUP = "proxy"
"""Under what the connections on the Unix socket of a trusted proxy are counted."""
SWEEP_S = 0.25


def address_group(address: str) -> str:
    """Return what is counted as one address: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(plain_address(address))
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.is_loopback:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


class Socket(RequestHandler):
    """One TCP connection: aiohttp's request handler with the guard in front of its parser."""

    def __init__(self, manager: web.Server, guard: Guard, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(manager, loop=loop, **options)
        self._guard = guard
        self.seen_bytes = 0
        self._held = bytearray()
        self._waiting_in_line = False
        self.trusted = False
        self.unix = False
        """Whether it came over the hub's Unix socket, from a process of the hub's own user."""
        self.of_proxy = False
        """Whether it came over the Unix socket of the trusted proxy; who may open that, the file system says."""
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

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if is_unix(transport) and not self.of_proxy:
            self.unix = self.trusted = is_own_user(transport)
            self._guard.arrive_locally(self)
            if not self.unix:
                cast(asyncio.Transport, transport).abort()
                return
            super().connection_made(transport)
            return
        peer = transport.get_extra_info("peername")
        self.group = PROXY_GROUP if self.of_proxy else address_group(peer[0] if peer else "local")
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
        room = RAW_LIMIT_BYTES - self.seen_bytes
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
        """Answer a request that is not HTTP; anyone can send those, so only one debug line is logged."""
        _log.debug("from %s: %d %s", self.group, status, message or exc)
        code, text = ("INVALID_REQUEST", "this is not a valid HTTP request") if status < 500 else ("INTERNAL", "failed")
        response = web.Response(
            status=status,
            body=b'{"error":{"code":"%b","message":"%b"}}' % (code.encode(), text.encode()),
            content_type="application/json",
            headers={"Server": "homarus", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"},
        )
        response.force_close()
        return response

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.on_writable is not None:
            self.on_writable()

    def trust(self, credentials: frozenset[str]) -> None:
        """Lift the bounds: a request on this socket was authenticated with these credentials.

        Raises:
            LimitExceeded: A credential has too many connections already; this one is closed after the answer.
        """
        if self.credentials != credentials:
            self._guard.bind(self, credentials)
        if self.trusted:
            return
        self.trusted = True
        self._guard.admit(self)
        if self._held and not self.closing:
            held = bytes(self._held)
            self._held.clear()
            super().data_received(held)
            if not self._reading_paused and not self._buffer_paused:
                super()._resume_transport_reading()

    def begin_request(self) -> None:
        """A complete header has arrived."""
        if not self.trusted:
            self.deadline = self._loop.time() + AUTH_LIMIT_S

    def begin_public(self) -> None:
        """A public request is being answered: it has time to be fetched."""
        if not self.trusted:
            self.idle = False
            self.deadline = self._loop.time() + PUBLIC_ANSWER_LIMIT_S

    def end_public(self) -> None:
        """It was answered: the count and the time start again."""
        if not self.trusted:
            self.idle = True
            self.seen_bytes = len(self._held)
            self.deadline = self._loop.time() + AUTH_LIMIT_S

    def begin_handshake(self) -> None:
        """A WebSocket was opened that proves itself by its first frame."""
        self.deadline = self._loop.time() + HANDSHAKE_LIMIT_S

    def enter(self) -> None:
        """Leave the line: the socket may be read now."""
        self._waiting_in_line = False
        self._resume_transport_reading()

    def stand_in_line(self) -> None:
        """Wait, unread, for a place."""
        self._waiting_in_line = True
        self.deadline = self._loop.time() + LINE_LIMIT_S

    def abort(self) -> None:
        """Drop the connection at once."""
        self.closing = True
        if self.transport is not None:
            self.transport.abort()

    def abort_soon(self) -> None:
        """Take no further request; drop the connection after the answer under way, or in half a second."""
        self.last_answer = True
        self.close()
        self._loop.call_later(REVOKED_LIMIT_S, self.abort)

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > HELD_LIMIT_BYTES:
            self.abort()
            return
        self._pause_transport_reading()

    def _resume_transport_reading(self) -> None:
        if not self._held and not self._waiting_in_line:
            super()._resume_transport_reading()


class Guard:
    """Counts the sockets that have not proved themselves, and knows which credential the others used.

    Args:
        limits: How many sockets.
    """

    def __init__(self, limits: GatewayLimits) -> None:
        self._limits = limits
        self._all: set[Socket] = set()
        self._local: set[Socket] = set()
        self._inside: dict[Socket, None] = {}
        self._line: dict[Socket, None] = {}
        self._per_group: Counter[str] = Counter()
        self._by_credential: dict[str, set[Socket]] = {}
        self._made_for_others: set[Socket] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self.refused = 0

    @property
    def connections(self) -> int:
        """How many sockets are open."""
        return len(self._all)

    @property
    def unproved(self) -> int:
        """How many sockets have not proved themselves, without those in line."""
        return len(self._inside)

    def unproved_sockets(self) -> list[Socket]:
        """Return the sockets that have not proved themselves, oldest first."""
        return list(self._inside)

    def arrive(self, socket: Socket, transport: asyncio.Transport) -> bool:
        """Take in a new socket, or put it in line; return False when it must go."""
        if len(self._all) >= self._limits.connections and not self._evict(self._inside or self._line):
            self.refused += 1
            return False
        self._all.add(socket)
        if not self._has_room(socket.group):
            self._make_room(socket.group)
        if self._has_room(socket.group):
            self._let_in(socket)
        else:
            self._line[socket] = None
            socket.stand_in_line()
        self._arm()
        return True

    def arrive_locally(self, socket: Socket) -> None:
        """Take in a socket of the hub's own user, which needs no place."""
        self._local.add(socket)

    def admit(self, socket: Socket) -> None:
        """Free the place of a socket that proved itself."""
        self._free(socket)

    def bind(self, socket: Socket, credentials: frozenset[str]) -> None:
        """Remember which credentials a socket used.

        Raises:
            LimitExceeded: One of them has too many connections already.
        """
        self._unbind(socket)
        made = [each for each in credentials if each.startswith(MADE_FOR_OTHERS)]
        quota = self._limits.connections_per_credential
        if any(len(self._by_credential.get(each, ())) >= quota for each in made):
            socket.last_answer = True
            raise LimitExceeded(f"this credential has {quota} connections open already")
        owner_places = min(OWNER_PLACES, self._limits.connections // 4)
        if made and len(self._made_for_others) >= self._limits.connections - owner_places:
            socket.last_answer = True
            raise LimitExceeded("too many connections are open already")
        if made:
            self._made_for_others.add(socket)
        socket.credentials = credentials
        for credential_id in credentials:
            self._by_credential.setdefault(credential_id, set()).add(socket)

    def leave(self, socket: Socket) -> None:
        """Forget a socket that was closed."""
        self._all.discard(socket)
        self._local.discard(socket)
        self._line.pop(socket, None)
        self._unbind(socket)
        self._free(socket)

    def sockets_of(self, credential_id: str) -> list[Socket]:
        """Return the open sockets that used a credential."""
        return list(self._by_credential.get(credential_id, ()))

    def credentials(self) -> list[str]:
        """Return the credentials that open sockets used."""
        return list(self._by_credential)

    def close(self) -> None:
        """Stop sweeping."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def _has_room(self, group: str) -> bool:
        return len(self._inside) < self._limits.sockets and self._per_group[group] < self._limits.sockets_per_address

    def _make_room(self, group: str) -> None:
        """Close the unproved socket that is in the way of a newcomer from `group`, unless it has only just come."""
        if self._per_group[group] < self._limits.sockets_per_address:
            group = max(self._per_group, key=self._per_group.__getitem__)
        latest_s = asyncio.get_running_loop().time() - GRACE_S
        self._evict(each for each in self._inside if each.group == group and (each.idle or each.entered_s <= latest_s))

    def _evict(self, sockets: Iterable[Socket]) -> bool:
        """Close the first, and so the oldest, of some sockets; return whether there was one."""
        oldest = next(iter(sockets), None)
        if oldest is None:
            return False
        self.refused += 1
        oldest.abort()
        self.leave(oldest)
        return True

    def _let_in(self, socket: Socket) -> None:
        self._inside[socket] = None
        self._per_group[socket.group] += 1
        socket.entered_s = asyncio.get_running_loop().time()
        socket.deadline = socket.entered_s + HEADER_LIMIT_S

    def _free(self, socket: Socket) -> None:
        if socket not in self._inside:
            return
        del self._inside[socket]
        self._per_group[socket.group] -= 1
        if not self._per_group[socket.group]:
            del self._per_group[socket.group]
        self._advance()

    def _advance(self) -> None:
        for waiting in list(self._line):
            if len(self._inside) >= self._limits.sockets:
                return
            if self._has_room(waiting.group):
                del self._line[waiting]
                self._let_in(waiting)
                waiting.enter()

    def _unbind(self, socket: Socket) -> None:
        for credential_id in socket.credentials:
            users = self._by_credential[credential_id]
            users.discard(socket)
            if not users:
                del self._by_credential[credential_id]
        socket.credentials = frozenset()
        self._made_for_others.discard(socket)

    def _arm(self) -> None:
        if self._sweep is None and (self._inside or self._line):
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep_late)

    def _sweep_late(self) -> None:
        self._sweep = None
        now = asyncio.get_running_loop().time()
        for late in [each for each in (*self._line, *self._inside) if each.deadline <= now]:
            self.refused += 1
            late.abort()
        for waiting in list(self._line):
            if not self._has_room(waiting.group):
                self._make_room(waiting.group)
        self._advance()
        self._arm()


class GuardedServer(web.Server):
    """aiohttp's low-level server whose connections stand behind the guard."""

    def __init__(self, handler: Any, guard: Guard, app: web.Application, **options: Any) -> None:
        super().__init__(handler, handler_cancellation=True, request_factory=self._request)
        self._guard = guard
        self._app = app
        self._options = {
            "keepalive_timeout": KEEPALIVE_S,
            "access_log": None,
            "auto_decompress": False,
            "lingering_time": 2.0,
            **options,
        }

    def __call__(self) -> RequestHandler:
        return Socket(self, self._guard, self._loop, **self._options)

    def of_proxy(self) -> RequestHandler:
        """Return the handler of a connection on the Unix socket of a trusted proxy."""
        made = Socket(self, self._guard, self._loop, **self._options)
        made.of_proxy = True
        return made

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.Request:
        return GatewayRequest(self._app, message, payload, protocol, writer, task, self._loop)
