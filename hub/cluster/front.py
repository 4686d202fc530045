"""The front door of a worker: one port for the clients of every home, whichever worker has it open.

A request is brought to the hub of its home in this process, or to the worker that owns the home, which proves itself
to by a shared secret. No credential of a client is judged here: its hub does that.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import cast

import aiohttp
import orjson
from aiohttp import web
from msgspec import Struct

from hub.cluster import relay
from hub.cluster.bridge import Bridge
from hub.cluster.contract import Homes, Owner
from hub.cluster.door import HEAD_LIMIT_S, Connections, DoorServer, DoorSocket
from hub.cluster.finding import POLL_S, WAIT_S, Finder, Place, not_open
from hub.cluster.forwarding import Body, answer_headers, is_websocket, request_headers
from hub.cluster.naming import Destination, HomeNames, destination
from hub.cluster.relay import Client, Relayed
from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner
from hub.gateway.access.cross_origin import API_PATHS
from hub.gateway.access.hosts import client_address, forwarded_scheme, is_trusted_proxy, plain_address
from hub.gateway.calls.settings import Network

_log = logging.getLogger(__name__)

CONNECT_LIMIT_S = 3.0
WATCH_S = 2.0
"""How often it is looked whether homes are still where their clients were brought to."""
STOP_LIMIT_S = 1.0
HEALTH = frozenset({"/healthz", "/readyz"})
AUTOMATIC = frozenset({"User-Agent", "Accept", "Accept-Encoding", "Content-Type"})
"""Headers that aiohttp would add."""
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})


class FrontSettings(Struct, frozen=True):
    """Where a front door listens, and whom it knows.

    Attributes:
        url: Where the other workers reach it.
        secret: What all workers of these homes share.
        tls: Certificate and key files.
        authority: The certificates that the other workers' are checked with; None means the system's.
        trusted_proxies: Networks whose forwarded headers count.
    """

    host: str
    port: int
    url: str
    secret: Secret
    names: HomeNames
    tls: tuple[Path, Path] | None = None
    authority: Path | None = None
    trusted_proxies: tuple[Network, ...] = ()


class Visit(Struct, frozen=True):
    """A request, and where it belongs."""

    request: web.BaseRequest
    home: str
    asked: Destination
    client: Client
    body: Body
    from_proxy: bool


class NotThere(Exception):
    """A home was not where it was said to be, and nothing was done."""


class Moved(NotThere):
    """The home went to another worker before anything was done."""


class Passage(Struct, eq=False):
    """A request that is under way, from before it is sent on.

    Attributes:
        close: Ends it, as its owner has the home no more.
    """

    close: Callable[[], None]
    owner: Owner | None
    websocket: bool = False


class FrontDoor:
    """Serves the clients of all homes on one port.

    Args:
        settings: Where, and whom it knows.
        homes: All homes.
        clock: The clock.
        tasks: Owner of its tasks.
    """

    def __init__(self, settings: FrontSettings, homes: Homes, clock: Clock, tasks: TaskOwner) -> None:
        self._settings = settings
        self._homes = homes
        self._clock = clock
        self._tasks = tasks
        self._finder = Finder(homes, settings.url, clock, tasks)
        self._connections = Connections()
        self._passages: dict[str, set[Passage]] = {}
        self._local: dict[str, tuple[str, aiohttp.ClientSession]] = {}
        self._remote: aiohttp.ClientSession | None = None
        self._listener: asyncio.Server | None = None
        self._server: DoorServer | None = None

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    async def start(self) -> tuple[str, int]:
        """Start listening; return the host and the port.

        Raises:
            Unavailable: The port, or a file of TLS, cannot be had.
        """
        settings = self._settings
        self._server = DoorServer(self._handle, self._connections)
        try:
            served = _served_tls(settings)
            self._remote = _session(aiohttp.TCPConnector(limit=0, ssl=_trusted_tls(settings)))
            self._listener = await asyncio.get_running_loop().create_server(
                self._server,
                settings.host,
                settings.port,
                ssl=served,
                backlog=512,
                ssl_handshake_timeout=HEAD_LIMIT_S if served is not None else None,
            )
        except (OSError, ssl.SSLError) as error:
            await self.stop()
            raise Unavailable(
                f"the worker cannot listen on {settings.host} port {settings.port}: {error}. Give it another port or "
                "address, or stop the program that listens there."
            ) from error
        self._tasks.spawn(self._watch(), name="watch where homes are")
        host, port = self._listener.sockets[0].getsockname()[:2]
        return str(host), int(port)

    async def stop(self) -> None:
        """Stop listening, tell WebSockets to come again, and give other requests a second to end."""
        if self._listener is not None:
            self._listener.close()
        for passage in [each for every in self._passages.values() for each in every if each.websocket]:
            passage.close()
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(STOP_LIMIT_S)
        for session in (*(session for _, session in self._local.values()), self._remote):
            if session is not None:
                await session.close()
        self._local.clear()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        socket = cast(DoorSocket, request.protocol)
        socket.begin()
        try:
            return await self._answer(request)
        except HubError as error:
            return _refusal(request, error)
        finally:
            socket.end()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        relayed = relay.read(self._settings.secret, request)
        if relayed is not None:
            return await self._answer_worker(request, relayed)
        own = request.protocol.sockname
        asked = destination(request, self._settings.names, plain_address(own[0]) if own else "")
        if asked.home is None:
            return _own_page(request, asked)
        client, from_proxy = self._client_of(request)
        return await self._bring(Visit(request, asked.home, asked, client, Body(request), from_proxy))

    async def _answer_worker(self, request: web.BaseRequest, relayed: Relayed) -> web.StreamResponse:
        place = self._finder.here(relayed.home)
        asked = Destination(relayed.home, request._message.path)
        visit = Visit(request, relayed.home, asked, relayed.client, Body(request), from_proxy=True)
        try:
            if place is None:
                raise NotThere
            return await self._through(place, visit)
        except NotThere:
            refusal = _refusal(request, not_open(relayed.home))
            refusal.headers[relay.MOVED] = relayed.home
            return refusal

    async def _bring(self, visit: Visit) -> web.StreamResponse:
        end = self._clock.monotonic() + WAIT_S
        while True:
            place = await self._finder.find(visit.home)
            try:
                return await self._through(place, visit)
            except NotThere as error:
                self._finder.forget(visit.home)
                if isinstance(error, Moved):  # the new owner is given the time that the former one took
                    end = self._clock.monotonic() + WAIT_S
                if self._clock.monotonic() >= end:
                    why = error.__cause__ or "it has the home no more"
                    _log.warning("%s is not reached at %s: %s", visit.home, place.address, why)
                    raise not_open(visit.home) from None
            await self._clock.sleep(POLL_S)

    async def _through(self, place: Place, visit: Visit) -> web.StreamResponse:
        limit = asyncio.timeout(None)  # no clock's: it is reached when the home moves

        def stop_asking() -> None:
            if not limit.expired():
                limit.reschedule(0)

        passage = Passage(stop_asking, place.owner)
        self._enter(visit.home, passage)
        try:
            answer = await self._ask(place, visit, limit)
            try:
                if place.owner is not None and relay.MOVED in answer.headers:
                    if visit.body.begun:
                        raise not_open(visit.home)
                    raise NotThere
                return await self._pass_on(answer, passage, visit)
            finally:
                answer.close()
        finally:
            self._leave(visit.home, passage)

    async def _ask(self, place: Place, visit: Visit, limit: asyncio.Timeout) -> aiohttp.ClientResponse:
        from yarl import URL

        request, body = visit.request, visit.body
        headers = request_headers(request, visit.client, shared=visit.asked.shared, from_proxy=visit.from_proxy)
        if place.owner is not None:
            told = Relayed(visit.home, visit.client)
            host = request.headers["Host"]
            proof = relay.signed(self._settings.secret, request.method, host, visit.asked.target, told)
            headers.append((relay.HEADER, proof))
        else:
            self._homes.used(visit.home)
        websocket = is_websocket(request)
        if websocket and request.body_exists:
            raise InvalidRequest("a request for a WebSocket has no body")
        session, base = self._session_to(visit.home, place)
        try:
            async with limit:
                return await session.request(
                    request.method,
                    URL(base + visit.asked.target, encoded=True),
                    headers=headers,
                    data=body if request.body_exists else None,
                    expect100=request.body_exists and place.owner is not None,
                    skip_auto_headers=AUTOMATIC,
                    allow_redirects=False,
                    read_until_eof=not websocket,
                )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise NotThere from error
        except (aiohttp.ClientError, OSError) as error:  # what the limit raises is an OSError
            if not body.begun and (request.body_exists or request.method in REPEATABLE):
                raise (Moved if limit.expired() else NotThere) from error
            raise Unavailable(f"the hub of {visit.home} went away before it answered", retry_after_s=1.0) from error

    async def _pass_on(self, answer: aiohttp.ClientResponse, passage: Passage, visit: Visit) -> web.StreamResponse:
        response = web.StreamResponse(
            status=answer.status, reason=answer.reason, headers=answer_headers(answer, visit.asked)
        )
        if answer.status == 101:
            return await self._bridge(answer, response, passage, visit)
        passage.close = answer.close
        try:
            await response.prepare(visit.request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
        except aiohttp.ClientError:
            cast(DoorSocket, visit.request.protocol).abort()  # so that half an answer is not taken for a whole one
        if answer.connection is not None:
            answer.release()
        return response

    async def _bridge(
        self, answer: aiohttp.ClientResponse, response: web.StreamResponse, passage: Passage, visit: Visit
    ) -> web.StreamResponse:
        connection, client = answer.connection, visit.request.protocol
        if connection is None or connection.protocol is None or not is_websocket(visit.request):
            raise Unavailable(f"the hub of {visit.home} went away", retry_after_s=1.0)
        hub = connection.protocol
        bridge = Bridge(client, hub)
        response.force_close()
        passage.close = answer.close
        await response.prepare(visit.request)
        passage.close, passage.websocket = bridge.close, True
        client.set_parser(bridge.from_client)  # type: ignore[arg-type]  # it is what a parser must be
        hub.set_parser(bridge.from_hub, None)
        await bridge.carry()
        return response

    def _client_of(self, request: web.BaseRequest) -> tuple[Client, bool]:
        """Return where a request comes from, and whether a trusted proxy brought it."""
        proxies, peername = self._settings.trusted_proxies, request.protocol.peername
        peer = plain_address(peername[0]) if peername else ""
        trusted = is_trusted_proxy(peer, proxies)
        address = client_address(peer, request.headers.get("X-Forwarded-For", ""), proxies, trusted=trusted)
        own = "https" if self._settings.tls is not None else "http"
        return Client(address, forwarded_scheme(request.headers, own, trusted=trusted)), trusted

    def _session_to(self, home: str, place: Place) -> tuple[aiohttp.ClientSession, str]:
        if not place.address.startswith("unix:"):
            return cast(aiohttp.ClientSession, self._remote), place.address.rstrip("/")
        _, session = self._local.get(place.address, (home, None))
        if session is None:
            # A connection serves one request: its hub counts connections, and closes those of a credential that ends.
            connector = aiohttp.UnixConnector(place.address.removeprefix("unix:"), limit=0, force_close=True)
            session = _session(connector)
            self._local[place.address] = home, session
        return session, "http://home"

    def _enter(self, home: str, passage: Passage) -> None:
        self._passages.setdefault(home, set()).add(passage)

    def _leave(self, home: str, passage: Passage) -> None:
        passages = self._passages[home]
        passages.discard(passage)
        if not passages:
            del self._passages[home]

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(WATCH_S)
            for home, passages in list(self._passages.items()):
                if any(each.owner is None for each in passages):
                    self._homes.used(home)
                if any(each.owner is not None for each in passages):
                    await self._close_moved(home)
            for address, (home, session) in list(self._local.items()):
                if home not in self._passages and self._homes.here(home) != address:
                    del self._local[address]
                    await session.close()

    async def _close_moved(self, home: str) -> None:
        """Close what was brought to a worker that does not own the home any more: it may be frozen, or cut off."""
        try:
            owner = await self._homes.owner_of(home)
        except HubError:
            return  # nobody can say
        for passage in list(self._passages.get(home, ())):
            if passage.owner is not None and (owner is None or owner.worker != passage.owner.worker):
                self._finder.forget(home)
                passage.close()


def _session(connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_LIMIT_S)
    return aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    )


def _served_tls(settings: FrontSettings) -> ssl.SSLContext | None:
    if settings.tls is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*settings.tls)
    return context


def _trusted_tls(settings: FrontSettings) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=settings.authority)


def _own_page(request: web.BaseRequest, asked: Destination) -> web.Response:
    if asked.target.partition("?")[0] in HEALTH and request.method in REPEATABLE:
        return web.Response(body=b'{"status":"ok"}', content_type="application/json")
    raise NotFound("name a home: by its host name, by /homes/NAME before the path, or by a token that names it")


def _refusal(request: web.BaseRequest, error: HubError) -> web.Response:
    shown = {"error": error.as_dict()}
    if request._message.path.startswith(API_PATHS):
        from hub.gateway.http_api.openai_shapes import show_error

        shown = dict(show_error(error))
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    response = web.Response(
        body=orjson.dumps(shown), status=error.http_status, content_type="application/json", headers=headers
    )
    response.force_close()
    return response
