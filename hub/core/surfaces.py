"""The contract of surfaces: routes and methods of the gateway, each with its scope and the part that owns it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.core.schema import Schema

if TYPE_CHECKING:
    from aiohttp import web

FRAME_LIMIT_BYTES = 262_144
"""Parameters of a method, unless the method declares another limit."""
LARGE_FRAME_BYTES = 26_214_400
"""The limit of methods that take attachments or whole files, and the largest frame there is."""

RAW_LIMIT_BYTES = 65_536
"""Raw bytes that may come from whoever has not shown a credential, unless the route takes more."""

ADMIN = "operator.admin"
BROWSER = "operator.browser"
METRICS = "operator.metrics"
PAIRING = "operator.pairing"
READ = "operator.read"
WRITE = "operator.write"


def credential_of(link: str) -> str:
    """Return the id of a credential from `<id>@<generation>`."""
    return link.partition("@")[0]


class TooLarge(HubError):
    """The request exceeds the size limit of its route or method."""

    code = "TOO_LARGE"
    http_status = 413


class Open(StrEnum):
    """Access to a route without a scope; any other value names an operator scope."""

    PUBLIC = "public"
    """Anybody the ingress lets in: health, sign-in page, static files."""
    SELF = "self"
    """The handler authenticates by itself (the WebSocket handshake, signed webhooks)."""
    SIGNED_IN = "signed_in"
    """Any valid credential; the handler judges the scope (`/api/rpc`, by method)."""


class Caller(Struct, frozen=True):
    """The authenticated caller.

    Attributes:
        authority: The rights.
        credential_id: Which credential was used (`hub`, `token:<id>`, `cookie:<id>`, `device:<id>/<role>`).
        address: Client address after trusted proxies were taken into account.
        local: Direct loopback as SECURITY.md defines it.
        came_from: The credentials that this one was made with or presented beside, as `<id>@<generation>`. The rights
            are within those of each of them, and the end of any of them closes every connection.
    """

    authority: Authority
    credential_id: str
    address: str
    local: bool
    came_from: frozenset[str] = frozenset()

    @property
    def credentials(self) -> frozenset[str]:
        """The ids of all credentials that this caller depends on."""
        return frozenset({self.credential_id, *map(credential_of, self.came_from)})


class HttpCall(Struct, frozen=True):
    """One HTTP request that passed the ingress.

    Attributes:
        request: aiohttp's request; its body was read within the route's limit and is in `body`.
        caller: The caller; None on public routes without a credential.
        params: Path parameters.
        body: Parsed and validated JSON when the route has a schema, else the raw bytes.
        address: The address of the client, after trusted proxies were taken into account.
    """

    request: web.Request
    caller: Caller | None
    params: Mapping[str, str]
    body: Any = b""
    address: str = ""

    @property
    def known_caller(self) -> Caller:
        """The caller; fails closed on public routes without a credential."""
        if self.caller is None:
            raise PermissionError("a public call has no authority")
        return self.caller

    def context(self) -> Context:
        """Return a fresh context with the caller's authority; fails closed on public routes."""
        return Context(authority=self.known_caller.authority)


HttpHandler = Callable[[HttpCall], "Awaitable[web.StreamResponse]"]


class Route(Struct, frozen=True):
    """One entry of the route table.

    Attributes:
        method: GET, POST, …; GET never changes anything.
        path: `/v1/models`, `/x/{name}` for one segment, `/static/{path:*}` for the rest.
        handler: Answers the request.
        owner: The part or integration that added it.
        scope: An operator scope, or one of `Open`; admin when not stated.
        body: Schema of a JSON body; None passes raw bytes.
        body_limit: Bytes.
        open_limit: Bytes from a client without a credential; the handler of such a route judges what they sent.
        body_limit_of: Returns the limit for an authenticated caller, where it differs between callers.
        signable: Whether a signed address opens it too (`hub.security.signed_paths`), without a caller.
        cookie: Whether a dashboard cookie authenticates (with Origin check on anything but GET), beside bearer tokens.
        websocket: Whether it upgrades: the Origin is judged before.
        extension: Whether the hub's own browser extension may open it, with a token of its own.
        streams: Whether the handler reads the body itself, as it comes; it bounds it, and never without a credential.
        login_redirect: Whether a browser without credential is sent to /login instead of a 401.
        show_error: How its errors look as JSON; None is `{"error": {code, message, …}}`.
    """

    method: str
    path: str
    handler: HttpHandler
    owner: str
    scope: str = ADMIN
    body: Schema | None = None
    body_limit: int = 1_048_576
    open_limit: int = RAW_LIMIT_BYTES
    body_limit_of: Callable[[Caller], int] | None = None
    signable: bool = False
    cookie: bool = False
    websocket: bool = False
    extension: bool = False
    streams: bool = False
    login_redirect: bool = False
    show_error: Callable[[HubError], Mapping[str, Any]] | None = None

    @property
    def name(self) -> str:
        """Its method and path."""
        return f"{self.method} {self.path}"


class MethodCall(Struct, frozen=True):
    """One WebSocket or RPC request.

    Attributes:
        method: Name.
        params: Validated parameters.
        caller: The caller.
        context: Fresh, with the caller's authority.
        respond_later: Sends a second response under the same request id (for `agent`); does nothing when gone.
        connection_id: The WebSocket connection, or None for plain HTTP.
    """

    method: str
    params: Mapping[str, Any]
    caller: Caller
    context: Context
    respond_later: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None
    connection_id: str | None = None


MethodHandler = Callable[[MethodCall], Awaitable[Any]]
MethodGroups = Mapping[str, "Callable[[], Iterable[Method]]"]
RouteGroups = Mapping[str, Callable[[], Iterable[Route]]]
"""By group in `hub/surfaces.json`, a function that imports and makes the surfaces; it is called in a thread."""


class Method(Struct, frozen=True):
    """One gateway method.

    Attributes:
        name: `chat.send`.
        handler: Returns the payload; raises `HubError`.
        owner: The part or integration that added it.
        scope: Operator scope; admin when not stated. `node` for methods only nodes call.
        schema: The schema of its parameters.
        acts: Whether it has side effects and so takes an `idempotencyKey`.
        repeatable: Whether, after a crash in between, the handler may be called again with the same key: it finds out
            itself what was done.
        answers: How many responses it gives; 2 for `agent`.
        quick: Whether the handler never waits and needs no separate task.
        kept: Returns the part of an answer to store for repeated calls with the same key; by default all of it.
        frame_limit: The most bytes of parameters it takes.
    """

    name: str
    handler: MethodHandler
    owner: str
    schema: Schema
    scope: str = ADMIN
    acts: bool = False
    repeatable: bool = False
    answers: int = 1
    quick: bool = False
    kept: Callable[[Any], Any] | None = None
    frame_limit: int = FRAME_LIMIT_BYTES


class Push(Struct, frozen=True):
    """An event for WebSocket clients; encoded once for all of them.

    Attributes:
        event: Name on the wire.
        payload: Plain data.
        scope: The scope of its receivers; None means every connection.
        droppable: Whether a slow consumer may miss it.
        connection_ids: Only these connections, when given.
    """

    event: str
    payload: Mapping[str, Any]
    scope: str | None = ADMIN
    droppable: bool = False
    connection_ids: frozenset[str] | None = None
    state_version: Mapping[str, int] | None = field(default=None)
