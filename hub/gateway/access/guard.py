"""The guard in front of the HTTP parser: limits sockets that have not shown a credential.

At most a few such sockets at once, in all and per address, 64 KiB of raw bytes each, and a few seconds. A burst of
honest clients (a hundred connect at once and each proves itself in a millisecond) waits in line, unread; for each that
waits, the oldest unproved socket of the most crowded address is closed once it has had a quarter of a second. A socket
whose request was authenticated is admitted, within the quota of its credential, and its place is free.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from hub.core.errors import LimitExceeded
from hub.core.phrases import phrase
from hub.gateway.access.guarded_socket import FRONT_GROUP, Socket
from hub.gateway.access.request import GatewayRequest
from hub.gateway.calls.settings import GatewayLimits

_log = logging.getLogger(__name__)

HEADER_LIMIT_S = 2.0
"""How long a socket may take to send its first complete header."""
GRACE_S = 0.25
"""How long an unproved socket keeps its place while others wait."""
OWNER_PLACES = 50
"""Connections that only credentials of the owner may use, as opposed to tokens and devices."""
MADE_FOR_OTHERS = ("token:", "device:", "visitor:")
KEEPALIVE_S = 75.0
SWEEP_S = 0.25


class Guard:
    """Counts the unproved sockets, and knows the credentials of the others.

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

    def unauthenticated_sockets(self) -> list[Socket]:
        """Return the sockets that have not proved themselves, oldest first."""
        return list(self._inside)

    def arrive(self, socket: Socket, transport: asyncio.Transport) -> bool:
        """Accept a new socket, or queue it; return False to refuse it."""
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
            socket.wait_in_line()
        self._arm()
        return True

    def arrive_locally(self, socket: Socket) -> None:
        """Accept a socket of the hub's own user, which needs no place."""
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
            raise LimitExceeded(phrase("this credential has {count} connections open already", count=quota))
        owner_places = min(OWNER_PLACES, self._limits.connections // 4)
        if made and len(self._made_for_others) >= self._limits.connections - owner_places:
            socket.last_answer = True
            raise LimitExceeded(phrase("too many connections are open already"))
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
        if len(self._inside) >= self._limits.sockets:
            return False
        return group == FRONT_GROUP or self._per_group[group] < self._limits.sockets_per_address

    def _make_room(self, group: str) -> None:
        """Close the unproved socket that blocks a newcomer from `group`, unless it is very recent."""
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
    """aiohttp's low-level server, with its connections behind the guard."""

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

    def of_front(self) -> RequestHandler:
        """Return the handler of a connection from the front door of the worker."""
        made = Socket(self, self._guard, self._loop, **self._options)
        made.of_front = True
        return made

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.Request:
        return GatewayRequest(self._app, message, payload, protocol, writer, task, self._loop)
