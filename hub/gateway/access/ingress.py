"""The single entry, for HTTP and WebSocket alike: size, rate, Host, Origin, authentication, scope, strict schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import Struct

from hub.core.errors import Forbidden, HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import Schema, SchemaError, describe_error
from hub.core.surfaces import Caller, HttpCall, Open, Route, TooLarge
from hub.gateway.access.auth import Authenticator, CallClient, Presented, is_ambient
from hub.gateway.access.cross_origin import ALLOWED, API_PATHS, judge_origin
from hub.gateway.access.guarded_socket import Socket
from hub.gateway.access.hosts import (
    by_browser,
    client_address,
    forwarded_scheme,
    has_forwarding,
    host_allowed,
    is_loopback,
    is_loopback_host,
    is_trusted_proxy,
    plain_address,
    same_origin,
    split_host,
)
from hub.gateway.calls.json_data import read_json
from hub.gateway.calls.routes import RouteMatch, RouteTable
from hub.gateway.calls.settings import HttpSettings

REPEATABLE_HEADERS = frozenset(
    {
        *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "pragma", "priority"),
        *("connection", "te", "via", "forwarded", "link", "warning", "if-match", "if-none-match", "dnt"),
        "sec-websocket-extensions",
    }
)
"""Headers that may come more than once. Any other may decide something, and two parsers may each pick another one."""


_OPEN = frozenset(Open)


class MethodNotAllowed(HubError):
    """The path exists, with other methods."""

    code = "METHOD_NOT_ALLOWED"
    http_status = 405


class Admitted(Struct, frozen=True):
    """A request that may be handled: its route and the call to pass to the handler."""

    route: Route
    call: HttpCall


class Ingress:
    """Checks each request before anything is done for it.

    Args:
        settings: Allowed hosts and trusted proxies.
        routes: The table.
        authenticator: Checks credentials.
        own_names: The machine's names, lower case.
        scheme: `http` or `https`, as the gateway itself serves.
        is_signed: Whether the query of a path signs it.
    """

    def __init__(
        self,
        settings: HttpSettings,
        routes: RouteTable,
        authenticator: Authenticator,
        own_names: Iterable[str],
        scheme: str,
        is_signed: Callable[[str, Mapping[str, str]], bool],
    ) -> None:
        self._is_signed = is_signed
        self._routes = routes
        self._authenticator = authenticator
        self._own_names = frozenset(own_names)
        self._scheme = scheme
        self.configure(settings)

    def configure(self, settings: HttpSettings) -> None:
        """Apply changed settings."""
        self._settings = settings
        self._names = self._own_names | settings.allowed_hosts
        self.cors_origins = settings.cors_origins

    def route_of(self, request: web.Request) -> RouteMatch | None:
        """Return the route of a request, or None."""
        upgrade = request.headers.get("Upgrade")
        return self._routes.match(
            request.method, _path(request), websocket=upgrade is not None and upgrade.strip().lower() == "websocket"
        )

    async def admit(self, request: web.Request, match: RouteMatch | None) -> Admitted:
        """Check a request; a returned one may be handled.

        Raises:
            HubError: It may not; the error's `http_status` is the answer. Nothing of the body was read unless the
                caller has the scope or the route is public.
        """
        route = match.route if match is not None else None
        self._judge_size(request, route)
        client = self.client_of(request)
        presented = self._authenticator.extract_credentials(request, with_cookie=route is not None and route.cookie)
        if route is not None and route.scope != Open.SELF:
            self._authenticator.judge_rate(client, presented)
        self._judge_host(request)
        foreign = client.origin is not None and not client.same_origin
        if foreign and not judge_origin(request, self.cors_origins, route):
            raise Forbidden(phrase("requests from other web sites are refused"), details={"reason": "origin"})
        if ALLOWED in request:  # nothing that a browser sends by itself counts for a page of another origin
            presented = Presented(presented.bearer)
        if route is None or match is None:
            raise self._no_route(request)
        caller = await self._authenticate(request, route, client, presented)
        if caller is not None:
            _judge_scope(route, caller)
        if caller is None:
            cast(Socket, request.protocol).widen(min(route.body_limit, route.open_limit))
        body = await self._body(request, route, caller)
        return Admitted(route, HttpCall(request, caller, match.params, body, client.address))

    def client_of(self, request: web.Request) -> CallClient:
        """Return where a request comes from."""
        headers = request.headers
        socket = cast(Socket, request.protocol)
        peer = socket.proxy or (plain_address(socket.peername[0]) if socket.peername else "")
        host = headers.get("Host", "")
        origin = headers.get("Origin")
        settings = self._settings
        by_proxy = bool(socket.proxy) or is_trusted_proxy(peer, settings.trusted_proxies)
        scheme = forwarded_scheme(headers, self._scheme, trusted=by_proxy)
        same = origin is not None and same_origin(origin, scheme, host)
        proxied = by_proxy or has_forwarding(headers)
        forwarded_for = headers.get("X-Forwarded-For", "")
        direct = (socket.unix or is_loopback(peer)) and not proxied and is_loopback_host(host)
        return CallClient(
            address=client_address(peer, forwarded_for, settings.trusted_proxies, trusted=by_proxy),
            local=direct and (origin is None or same),
            origin=origin,
            same_origin=same,
            fetched_same_origin=headers.get("Sec-Fetch-Site") == "same-origin",
            scheme=scheme,
            by_trusted_proxy=by_proxy,
            by_proxy_socket=socket.of_proxy,
            by_browser=origin is not None or by_browser(headers),
            unix=socket.unix and direct and origin is None,
        )

    def _judge_size(self, request: web.Request, route: Route | None) -> None:
        names = [name.lower() for name, _ in request.raw_headers]
        if len(set(names)) < len(names):
            _refuse_repeated(names)
        length = request.content_length
        if length is None or route is None:
            return
        limit = route.body_limit
        if route.scope in (Open.PUBLIC, Open.SELF):
            limit = min(limit, route.open_limit)
        if length > limit:
            raise TooLarge(
                phrase(
                    "the body has {length} bytes; {path} takes at most {limit}",
                    length=length,
                    path=route.path,
                    limit=limit,
                )
            )

    def _judge_host(self, request: web.Request) -> None:
        socket = cast(Socket, request.protocol)
        own = plain_address(socket.sockname[0]) if socket.sockname else ""
        host = request.headers.get("Host", "")
        target = request.raw_path
        if not target.startswith("/") and split_host(urlsplit(target).netloc) != split_host(host):
            raise InvalidRequest(phrase("the request names one host in its first line and another in its Host header"))
        if not socket.of_front and not host_allowed(host, own, self._names):
            raise Forbidden(
                phrase(
                    "this hub does not answer to the name {name}; if it is the hub's, add it to `http: allowed_hosts:` "
                    "in configuration.yaml",
                    name=repr(host[:80]),
                ),
                details={"reason": "host"},
            )

    def _no_route(self, request: web.Request) -> HubError:
        methods = self._routes.methods_of(_path(request))
        if methods:
            return MethodNotAllowed(
                phrase("{path} takes {names}", path=request.path, names=", ".join(methods)),
                details={"methods": methods},
            )
        return NotFound(phrase("there is nothing at {path}", path=request.path[:200]))

    async def _authenticate(
        self, request: web.Request, route: Route, client: CallClient, presented: Presented
    ) -> Caller | None:
        if route.scope == Open.SELF or (route.signable and self._is_signed(request.path, request.query)):
            return None
        if route.scope == Open.PUBLIC:
            caller = await self._authenticator.try_authenticate(client, presented)
        else:
            caller = await self._authenticator.authenticate(client, presented)
        if caller is None:
            return None
        acts = request.method not in ("GET", "HEAD") or route.websocket
        if acts and is_ambient(caller, client) and not client.from_own_page:
            raise Forbidden(phrase("this needs to come from the dashboard's own page"), details={"reason": "origin"})
        cast(Socket, request.protocol).trust(caller.credentials)
        return caller

    async def _body(self, request: web.Request, route: Route, caller: Caller | None) -> Any:
        if not request.body_exists:
            return parse_body(b"", route.body) if route.body is not None else b""
        if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise InvalidRequest(phrase("compressed bodies are not accepted; send it uncompressed"))
        if request.headers.get("Expect", "").strip().lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        if route.streams and caller is not None:
            return b""
        raw = await _read(request, _body_limit(route, caller))
        return raw if route.body is None else parse_body(raw, route.body)


def _path(request: web.Request) -> str:
    """Return the path of a request without the trailing slash that some clients add."""
    return request.path.rstrip("/") if request.path.startswith(API_PATHS) else request.path


def parse_body(raw: bytes, schema: Schema) -> Any:
    """Return a JSON body that matches a schema.

    Raises:
        InvalidRequest: It is not JSON, or it does not fit; the message names the path.
    """
    return validate(read_json(raw, "the body"), schema, "the body")


def validate(data: Any, schema: Schema | Callable[[Any], Any], what: str) -> Any:
    """Return data that matches a schema.

    Raises:
        InvalidRequest: It does not; the message names the paths.
    """
    try:
        return schema(data)
    except SchemaError as error:
        raise InvalidRequest(phrase("{place}: {text}", place=what, text=describe_error(error))) from None


def _refuse_repeated(names: list[bytes]) -> None:
    for name in {each.decode("latin-1") for each in names if names.count(each) > 1}:
        if name not in REPEATABLE_HEADERS:
            raise InvalidRequest(phrase("there is more than one {name} header", name=name[:64]))


def error_body(error: HubError) -> Mapping[str, Any]:
    """Return an error as HTTP shows it."""
    return {"error": error.as_dict()}


def _judge_scope(route: Route, caller: Caller) -> None:
    if route.scope in _OPEN:
        return
    if not caller.authority.has(route.scope):
        raise Forbidden(phrase("missing scope: {scope}", scope=route.scope), details={"missingScope": route.scope})


def _body_limit(route: Route, caller: Caller | None) -> int:
    if caller is None:
        return min(route.body_limit, route.open_limit)
    return route.body_limit if route.body_limit_of is None else min(route.body_limit, route.body_limit_of(caller))


async def _read(request: web.Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := await request.content.readany():
        size += len(chunk)
        if size > limit:
            raise TooLarge(
                phrase("the body is larger than the {limit} bytes that {path} takes", limit=limit, path=request.path)
            )
        chunks.append(chunk)
    raw = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    request._read_bytes = raw  # so that a handler may use aiohttp's own ways to read forms
    return raw
