"""The gateway: listens on one port, lets in what the ingress admits, and keeps the connected clients."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, LimitExceeded, NotFound, Unauthorized, Unavailable
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.repairs import Repairs
from hub.core.secret import Secret
from hub.core.surfaces import LARGE_FRAME_BYTES, READ, HttpCall, Open, Push, Route
from hub.core.tasks import TaskOwner
from hub.gateway.access.auth import CHALLENGE, Authenticator
from hub.gateway.access.cross_origin import API_PATHS, allow_origin, preflight
from hub.gateway.access.devices import Devices
from hub.gateway.access.guard import Guard, GuardedServer
from hub.gateway.access.guarded_socket import Socket
from hub.gateway.access.hosts import own_names
from hub.gateway.access.ingress import Ingress, error_body
from hub.gateway.access.start_check import refuse_unsafe
from hub.gateway.calls.dispatch import Dispatcher
from hub.gateway.calls.idempotency import Idempotency
from hub.gateway.calls.method_table import MethodTable
from hub.gateway.calls.routes import RouteMatch, RouteTable
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.connection.connection import ENVELOPE_BYTES, Connection
from hub.gateway.connection.handshake import Handshake
from hub.gateway.connection.listeners import Listeners, tell_lacks_tailnet, tell_plain_http
from hub.gateway.connection.outlet import Outlet
from hub.gateway.connection.presence import Presence
from hub.gateway.connection.protocol import CLOSE_POLICY, CLOSE_RESTART, TICK_S, encode_error, encode_result
from hub.gateway.connection.welcome import Welcomer
from hub.gateway.http_api.health import health_routes
from hub.gateway.push.broadcast import Broadcast
from hub.security.people import People
from hub.security.rate_limit import AttemptLimiter, PasswordLimiter
from hub.security.tokens import TokenStore
from hub.security.web_sessions import WebSessions

if TYPE_CHECKING:
    from hub.security.signed_paths import SignedPaths

_log = logging.getLogger(__name__)

OWNER = "gateway"
HEARTBEAT_S = 45.0
STOP_LIMIT_S = 1.0
"""How long a stop waits for requests under way, and once more for them to end when they are cancelled."""
EXPIRY_S = 0.8
"""How often connections are looked through for credentials that have ended."""
PRUNE_EVERY_S = 3_600.0
PRESENCE_COALESCE_S = 0.1
LOGIN_PATH = "/login"
SECURITY_HEADERS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)

UnknownPage = Callable[[web.Request], Awaitable[web.Response]]
"""Answers a browser that asks for an address that does not exist; other clients get JSON."""


class GatewayState(StrEnum):
    """The progress of the hub's start; everything but health answers UNAVAILABLE until then."""

    STARTING = "starting"
    RUNNING = "running"
    RECOVERY = "recovery"
    STOPPING = "stopping"


class Gateway:
    """The network face of the hub.

    It listens as soon as `start` returns and answers health; the rest answers UNAVAILABLE until `open`.

    Args:
        settings: The `http` section.
        people: The people, with the owner.
        hub_token: The token that works on loopback.
        clock: The clock.
        bus: The event bus.
        tasks: Owner of the gateway's tasks.
        repairs: An unsafe bind opens a repair.
        version: The version of the hub.
    """

    def __init__(
        self,
        settings: HttpSettings,
        people: People,
        hub_token: Secret,
        clock: Clock,
        bus: EventBus,
        *,
        tasks: TaskOwner,
        repairs: Repairs,
        version: str,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.version = version
        self.state = GatewayState.STARTING
        self.app = web.Application()
        self.routes = RouteTable()
        self.unknown_page: UnknownPage | None = None
        self.methods = MethodTable()
        self.presence = Presence(clock, version)
        self.authenticator = Authenticator(settings, people, hub_token, AttemptLimiter(clock), PasswordLimiter(clock))
        self.dispatcher = Dispatcher(self.methods)
        self.broadcast = Broadcast()
        self.guard = Guard(settings.limits)
        self.devices: Devices | None = None
        self._token_store: TokenStore | None = None
        self._tasks = tasks
        self._repairs = repairs
        self.bus = bus
        scheme = "https" if settings.tls else "http"
        self.ingress = Ingress(
            settings,
            self.routes,
            self.authenticator,
            own_names(),
            scheme,
            self._is_signed,
        )
        self.handshake = Handshake(self.authenticator, clock, lambda: self.state is GatewayState.STARTING)
        self.welcomer = Welcomer(clock, version, self.methods, self.presence, settings.limits.buffer_bytes)
        self._connections: dict[str, Connection] = {}
        self._presence_timer: asyncio.TimerHandle | None = None
        self.presence.listen(self._tell_presence)
        self._protocol: GuardedServer | None = None
        self._listeners = Listeners(settings)
        self._address: tuple[str, int] | None = None
        for path in ("/", "/ws"):
            self.routes.add(
                Route("GET", path, self._websocket, OWNER, scope=Open.SELF, websocket=True, extension=path == "/ws")
            )
        for route in health_routes(lambda: self.state):
            self.routes.add(route)

    @property
    def address(self) -> tuple[str, int]:
        """The host and port at which this machine reaches the gateway.

        Raises:
            Unavailable: The gateway does not listen.
        """
        if self._address is None:
            raise Unavailable("the gateway does not listen")
        return self._address

    @property
    def tokens(self) -> TokenStore:
        """The scoped tokens.

        Raises:
            Unavailable: The hub database is not open yet.
        """
        if self._token_store is None:
            raise Unavailable("the tokens are not loaded yet")
        return self._token_store

    @property
    def url(self) -> str:
        """The address for a browser on this machine; in a worker, that for any."""
        if self.settings.in_worker is not None:
            return self.settings.in_worker.url
        host, port = self.address
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
        return f"{'https' if self.settings.tls else 'http'}://{host}:{port}"

    @property
    def lan_url(self) -> str:
        """The address for a browser in the home's network; that for this machine, when only that is known."""
        from hub.gateway.access.setup_codes import device_url

        try:
            return device_url(self.settings, self.address[1]).replace("ws", "http", 1)
        except InvalidRequest:
            return self.url

    @cached_property
    def signed_paths(self) -> SignedPaths:
        """Signs addresses that open a path for a while."""
        from hub.security.signed_paths import SignedPaths

        return SignedPaths(self.clock.time)

    def _is_signed(self, path: str, query: Mapping[str, str]) -> bool:
        return self.signed_paths.is_signed(path, query)

    @property
    def connections(self) -> Mapping[str, Connection]:
        """The clients after their handshake, by connection id."""
        return self._connections

    async def start(self) -> None:
        """Start listening.

        Raises:
            StartRefused: The settings are unsafe, or the port is taken.
        """
        settings = self.settings
        refuse_unsafe(settings)
        self._protocol = protocol = GuardedServer(self._handle, self.guard, self.app)
        self._address = await self._listeners.open(protocol)
        self.authenticator.set_port(self._address[1])
        tell_plain_http(settings, self._repairs, OWNER)
        tell_lacks_tailnet(settings, self._repairs, OWNER)
        self._tasks.spawn(self._tick(), name="gateway ticks")
        self._tasks.spawn(self._close_expired(), name="close expired connections")

    def attach(self, tokens: TokenStore, web_sessions: WebSessions, devices: Devices, idempotency: Idempotency) -> None:
        """Load what needs the open hub database; from then on revocations close connections."""
        self.devices, self._token_store = devices, tokens
        self.authenticator.attach(tokens, web_sessions, devices)
        self.dispatcher.attach(idempotency)
        self._tasks.spawn(self._prune(idempotency), name="forget old idempotency keys")
        self.handshake.attach(devices)
        tokens.on_revoke(self.close_credential)
        web_sessions.on_revoke(self.close_credential)
        devices.on_revoke(self.close_credential)

    def open(self, state: GatewayState = GatewayState.RUNNING) -> None:
        """Open for all requests: the hub runs, or is in recovery mode."""
        self.state = state
        self.dispatcher.recovering = state is GatewayState.RECOVERY

    def configure(self, settings: HttpSettings, people: People) -> None:
        """Apply settings that may change while the hub runs: people, allowed hosts and trusted proxies."""
        self.ingress.configure(settings)
        self.authenticator.people = people

    async def stop(self, reason: str = "stopping", restart_expected_ms: int | None = None) -> None:
        """Notify clients, close connections and stop listening."""
        self.state = GatewayState.STOPPING
        payload: dict[str, Any] = {"reason": reason}
        if restart_expected_ms is not None:
            payload["restartExpectedMs"] = restart_expected_ms
        self.push(Push("shutdown", payload, scope=None))
        self._listeners.close()
        self._address = None
        for connection in list(self._connections.values()):
            connection.close(CLOSE_RESTART, reason)
        if self._protocol is not None:
            self._protocol.pre_shutdown()
            await self._protocol.shutdown(STOP_LIMIT_S)
        self.guard.close()
        if self._presence_timer is not None:
            self._presence_timer.cancel()

    def push(self, push: Push) -> int:
        """Send an event to every client that may see it, encoded once; return the number of clients."""
        return self.broadcast.push(push)

    def close_credential(self, credential_id: str) -> None:
        """Close every connection that used a credential: WebSockets with a reason, the others at once."""
        told: set[Socket] = set()
        for connection in list(self._connections.values()):
            if connection.caller is not None and credential_id in connection.caller.credentials:
                told.add(connection.socket)
                connection.close(CLOSE_POLICY, "credential revoked")
        for socket in self.guard.sockets_of(credential_id):
            if socket not in told:
                socket.abort_soon()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        match: RouteMatch | None = None
        cast(Socket, request.protocol).begin_request()
        try:
            if (asked := preflight(request, self.ingress.cors_origins)) is not None:
                return asked
            match = self.ingress.route_of(request)
            if self.state in (GatewayState.STARTING, GatewayState.STOPPING) and not _always(match):
                raise Unavailable(f"the hub is {self.state}", retry_after_s=1.0)
            if match is None and self.state is GatewayState.RECOVERY and request.path.startswith(API_PATHS):
                raise Unavailable("the hub is in recovery mode; see: homarus check", details={"reason": "recovery"})
            match = match and await self.routes.load(match)
            admitted = await self.ingress.admit(request, match)
            socket = cast(Socket, request.protocol)
            socket.begin_public()
            try:
                response = await admitted.route.handler(admitted.call)
            finally:
                socket.end_public()
        except HubError as error:
            page = self.unknown_page if isinstance(error, NotFound) and match is None and _is_browser(request) else None
            response = self._refusal(request, match, error) if page is None else await page(request)
        except Exception as error:  # whatever goes wrong, the client gets an answer and the log the reason
            _log.exception("%s %s failed", request.method, request.path)
            response = self._refusal(request, match, HubError(f"this failed: {type(error).__name__}"))
        if not response.prepared:
            for name, value in SECURITY_HEADERS:
                response.headers.setdefault(name, value)
            response.headers["Server"] = "homarus"
            response.headers.update(allow_origin(request))
            if cast(Socket, request.protocol).last_answer:
                response.force_close()
        return response

    def _refusal(self, request: web.Request, match: RouteMatch | None, error: HubError) -> web.Response:
        route = match.route if match is not None else None
        if isinstance(error, Unauthorized) and route is not None and route.login_redirect and _is_browser(request):
            return web.Response(status=303, headers={"Location": LOGIN_PATH, "Cache-Control": "no-store"})
        show = (route and route.show_error) or (_api_error if request.path.startswith(API_PATHS) else error_body)
        response = json_response(show(error), status=error.http_status)
        if isinstance(error, Unauthorized):
            response.headers["WWW-Authenticate"] = CHALLENGE
        if error.retry_after_s is not None:
            response.headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
        if error.http_status == 405:
            response.headers["Allow"] = ", ".join(error.details.get("methods", ()))
        if not cast(Socket, request.protocol).trusted:
            response.force_close()
        return response

    async def _websocket(self, call: HttpCall) -> web.StreamResponse:
        request = call.request
        socket = cast(Socket, request.protocol)
        ws: web.WebSocketResponse[Literal[False]] = web.WebSocketResponse(
            compress=False,
            max_msg_size=LARGE_FRAME_BYTES + ENVELOPE_BYTES,
            heartbeat=HEARTBEAT_S,
            autoclose=True,
            decode_text=False,
            timeout=1.0,
        )
        socket.begin_handshake()
        await ws.prepare(request)
        id = new_id()

        def overflow() -> None:
            _log.warning("connection %s reads too slowly and is closed", id)
            socket.abort()

        outlet = Outlet(socket, self.settings.limits.buffer_bytes, overflow)
        connection = Connection(
            id,
            ws,
            socket,
            outlet,
            dispatcher=self.dispatcher,
            tasks=self._tasks,
            all_valid=self.authenticator.all_valid,
        )
        try:
            await self._converse(connection, request)
        finally:
            outlet.close()
            self._leave(connection)
        return ws

    async def _converse(self, connection: Connection, request: web.Request) -> None:
        client = self.ingress.client_of(request)
        presented = self.authenticator.extract_credentials(request, with_cookie=False)
        welcome = await self.handshake.shake(connection, client, presented)
        if welcome is None:
            await connection.closed()
            return
        connection.caller, connection.client = welcome.caller, welcome.client
        connection.connected_ms = int(self.clock.time() * 1000)
        connection.host = request.host
        if not self.authenticator.all_valid({welcome.caller.credential_id, *welcome.caller.came_from}):
            connection.close(CLOSE_POLICY, "credential revoked")
            return
        try:
            connection.socket.trust(welcome.caller.credentials)
        except LimitExceeded as error:
            connection.send(encode_error(welcome.request_id, error))
            connection.close(CLOSE_POLICY, error.message)
            await connection.closed()
            return
        self._connections[connection.id] = connection
        self.presence.join(connection)
        connection.send(encode_result(welcome.request_id, self.welcomer.hello(connection, welcome)))
        self.broadcast.add(connection)
        await connection.serve()

    def _leave(self, connection: Connection) -> None:
        self._connections.pop(connection.id, None)
        self.broadcast.remove(connection)
        self.presence.leave(connection)

    def _tell_presence(self) -> None:
        """Publish the presence soon: many changes at once are published once."""
        if self._presence_timer is None and self.state is not GatewayState.STOPPING:
            self._presence_timer = asyncio.get_running_loop().call_later(PRESENCE_COALESCE_S, self._push_presence)

    def _push_presence(self) -> None:
        self._presence_timer = None
        self.push(
            Push(
                "presence",
                {"presence": self.presence.list()},
                scope=READ,
                droppable=True,
                state_version=self.welcomer.state_version(),
            )
        )

    async def _tick(self) -> None:
        while True:
            await self.clock.sleep(TICK_S)
            self.push(Push("tick", {"ts": int(self.clock.time() * 1000)}, scope=None, droppable=True))

    async def _close_expired(self) -> None:
        while True:
            await self.clock.sleep(EXPIRY_S)
            for credential_id in self.guard.credentials():
                if not self.authenticator.still_valid(credential_id):
                    self.close_credential(credential_id)

    async def _prune(self, idempotency: Idempotency) -> None:
        while True:
            try:
                await idempotency.prune()
            except HubError as error:
                _log.warning("old idempotency keys stay a while longer: %s", error.message)
            await self.clock.sleep(PRUNE_EVERY_S)


def json_response(data: Any, *, status: int = 200) -> web.Response:
    """Return a JSON answer that is never cached."""
    headers = {"Cache-Control": "no-store"}
    return web.Response(body=orjson.dumps(data), status=status, content_type="application/json", headers=headers)


def _api_error(error: HubError) -> Mapping[str, Any]:
    """Return an error of `/v1` before a route is known; its module is imported with the first."""
    from hub.gateway.http_api.openai_shapes import show_error

    return show_error(error)


def _always(match: RouteMatch | None) -> bool:
    """Whether a route answers even before the hub has started."""
    return match is not None and match.route.owner == OWNER and match.route.scope in (Open.PUBLIC, Open.SELF)


def _is_browser(request: web.Request) -> bool:
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", "")
