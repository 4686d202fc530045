"""The one client for URLs that come from a person, a model, a page or a peer.

It judges the address it dials, takes no proxy from the environment, follows redirects itself and bounds its waiting
and its input. Each hop has a connection of its own, so nothing that was allowed once stays open for another.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct, field

from hub.core.errors import InvalidRequest, TimedOut, Unavailable
from hub.core.light_packages import load_package
from hub.security.charset import decode
from hub.security.egress_body import ACCEPTED_ENCODINGS, BodyRefused, read_body
from hub.security.egress_dial import Dial, EgressRefused, LookUp, look_up as look_up_by_system
from hub.security.egress_place import URL_LENGTH_LIMIT, is_literal, judge_place, parse_url, place_of, refuse_odd_number
from hub.security.outside_reader import OutsideReader

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientResponse, ClientTimeout
    from aiohttp.client_middlewares import ClientMiddlewareType
    from yarl import URL

__all__ = ["URL_LENGTH_LIMIT", "Egress", "EgressFailed", "EgressRefused", "Fetched", "parse_url"]

REDIRECT_LIMIT = 5
LIMIT_BYTES = 2_000_000
TIMEOUT_S = 20.0
CONNECT_TIMEOUT_S = 15.0
BODY_LIMIT_BYTES = 1_000_000
HEADERS_LIMIT = 50
PARALLEL_LIMIT = 16
"""Fetches that go on at once; others wait, within their time."""
USER_AGENT = "Homarus"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT", "PROPFIND")
SERVICE_METHODS = (*METHODS, "MOVE")
"""What services that the owner configured are asked with, too."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OURS = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive"),
        *("expect", "accept-encoding", "proxy-authorization", "proxy-connection"),
    }
)
"""Headers that are the client's own business."""


class EgressFailed(Unavailable):
    """A URL could not be fetched; the message names the host and says why."""

    def __init__(self, host: str, why: str, *, outside: bool = False) -> None:
        details = {"host": host, "reason": why}
        super().__init__(f"{host} could not be fetched: {why}", details=details, outside=outside)


class Fetched(Struct, frozen=True):
    """The answer to a fetch.

    Attributes:
        status: HTTP status; any, also 404 and 500.
        headers: By lower-case name; several of one name are joined by `, `.
        body: Decompressed.
        url: The final address, after the redirects.
        sent_headers: The same headers, by the names as the server writes them.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    sent_headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The body as text, in the charset of its header, else UTF-8; invalid bytes become U+FFFD."""
        return self.text_in("")

    def text_in(self, encoding: str) -> str:
        """Return the body as text, in the charset of its header, else in this encoding of the web."""
        _, _, rest = self.headers.get("content-type", "").lower().partition("charset=")
        return decode(self.body, rest.split(";")[0].strip(" \"'") or encoding)


class ConfiguredTarget(Struct, frozen=True):
    """What the owner's configuration says of the host that a request is for.

    Attributes:
        named: The URL in it: its host and port may be private, as those of `allow_private` may.
        middlewares: Of aiohttp, which prove to it who they are.
        verify_tls: Whether its certificate is verified; one that is not is called at a private address alone.
    """

    named: str = ""
    middlewares: tuple[ClientMiddlewareType, ...] = ()
    verify_tls: bool = True


class EgressRequest(Struct, frozen=True):
    """One hop."""

    url: URL
    method: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | BinaryIO | None = None


class Egress:
    """Fetches URLs that come from outside.

    Args:
        allow_private: The private targets the owner named, as `host:port`; no redirect leads to another address there.
        look_up: Resolves a host name; the system's resolver by default.
        apart: Whether this machine itself is refused, whoever named it: homes of other people are here.
    """

    def __init__(
        self, allow_private: Callable[[], Collection[str]], look_up: LookUp = look_up_by_system, *, apart: bool = False
    ) -> None:
        self._allow_private = allow_private
        self._look_up = look_up
        self._apart = apart
        self._places = asyncio.Semaphore(PARALLEL_LIMIT)
        self._under_way: set[asyncio.Task[Fetched]] = set()
        self._closed = False
        self.reader = OutsideReader()
        """Reads what was fetched."""

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        limit_bytes: int = LIMIT_BYTES,
        timeout_s: float = TIMEOUT_S,
        redirect_limit: int = REDIRECT_LIMIT,
        target: ConfiguredTarget | None = None,
    ) -> Fetched:
        """Fetch a URL, following its redirects.

        A redirect to another origin loses the headers and the body that were given, and is a GET.

        Args:
            headers: Headers besides the client's own.
            body: The request's body, at most 1 MB.
            limit_bytes: The limit on the answer, as sent and decompressed.
            timeout_s: For everything together: waiting for a place, all hops, and the body.
            redirect_limit: Redirects that are followed, none of them to a URL that was asked before.
            target: What the owner's configuration says of the first origin.

        Raises:
            InvalidRequest: The URL, the method or a header cannot be.
            EgressRefused: The host may not be called.
            EgressFailed: It does not answer, or not with something that can be taken.
            TimedOut: It took longer than `timeout_s`.

        Cancelling it closes the connection.
        """
        request = EgressRequest(parse_url(url), _method(method), _headers(headers), _body(body))
        if self._closed:
            raise EgressFailed(str(request.url.host), "the hub is stopping")
        task = asyncio.create_task(
            self._fetch(request, limit_bytes, timeout_s, redirect_limit, target or ConfiguredTarget()),
            name=f"fetch {request.url.host}",
        )
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is None or caller.cancelling():
                raise
            raise EgressFailed(str(request.url.host), "the hub is stopping") from None

    async def close(self) -> None:
        """Cancel fetches and reader processes; every later fetch fails."""
        self._closed = True
        under_way = list(self._under_way)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self.reader.close()

    async def connect(self, place: str, *, private: bool | None = False) -> socket.socket:
        """Connect to a host for a program that makes its own requests, such as a browser.

        Args:
            place: `host:port`.
            private: Whether only private targets that the owner named are reached, instead of only public ones: no
                page of the one kind then reaches the other. None reaches both.

        Raises:
            InvalidRequest: The place is not a host and a port.
            EgressRefused: It may not be called.
            OSError: It has no address, or does not answer.
            TimeoutError: It does not answer in time.
        """
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            chosen = place.lower() in self._allow_private() if private is None else private
            return await (await judge_place(place, self._look_up, self._named(chosen), apart=self._apart)).connect()

    async def check(self, place: str, *, private: bool = False) -> None:
        """Check a destination as `connect` does, for a program that dials by itself."""
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await judge_place(place, self._look_up, self._named(private), apart=self._apart)

    def _named(self, private: bool) -> Collection[str] | None:
        return self._allow_private() if private else None

    def _private_places(self, named: str) -> Collection[str]:
        """Return the private targets that may be asked, with that of a URL in the configuration."""
        return {*self._allow_private(), place_of(parse_url(named))} if named else self._allow_private()

    async def _fetch(
        self,
        request: EgressRequest,
        limit_bytes: int,
        timeout_s: float,
        redirect_limit: int,
        target: ConfiguredTarget,
    ) -> Fetched:
        try:
            async with asyncio.timeout(timeout_s), self._places:
                first = request.url
                asked: set[tuple[str, URL]] = set()
                for _ in range(redirect_limit + 1):
                    private = may_be_private(first, request.url, self._private_places(target.named))
                    known = target if request.url.origin() == first.origin() else ConfiguredTarget()
                    answer = await self._hop(request, limit_bytes, private=private, target=known)
                    if isinstance(answer, Fetched):
                        return answer
                    asked.add((request.method, request.url))
                    request = answer
                    if (request.method, request.url) in asked:
                        raise EgressFailed(str(request.url.host), "its redirects form a loop")
        except TimeoutError as error:
            host = str(request.url.host)
            told = f"{host} did not answer in full within {timeout_s:g} s"
            raise TimedOut(told, details={"host": host}) from error
        raise EgressFailed(str(request.url.host), f"more than {redirect_limit} redirects")

    @asynccontextmanager
    async def open(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        file: BinaryIO | None = None,
        named: str = "",
        silence_s: float = TIMEOUT_S,
        middlewares: Sequence[ClientMiddlewareType] = (),
    ) -> AsyncIterator[ClientResponse]:
        """Send a request and return its answer for streaming, for services that the owner configured.

        Redirects are not followed, and nothing is decompressed.

        Args:
            file: What is sent instead of `body`, from its beginning, of any size; it is closed then.
            named: The URL in the configuration: its host and port may be private, as those of `allow_private` may.
            silence_s: How long to wait for the connection, and for each piece of the answer.
            middlewares: Of aiohttp, which ask the same address again with a proof of who they are.

        Raises:
            InvalidRequest, EgressRefused, EgressFailed: As `fetch`.
            TimedOut: It said nothing for `silence_s`.
        """
        await load_package("aiohttp")
        import aiohttp

        sent = _body(body) if file is None else file
        request = EgressRequest(parse_url(url), _method(method, SERVICE_METHODS), _headers(headers), sent)
        private = place_of(request.url) in self._private_places(named)
        quiet = aiohttp.ClientTimeout(total=None, sock_connect=silence_s, sock_read=silence_s)
        try:
            async with self._answered(
                request, private=private, quiet=quiet, encodings="identity", middlewares=middlewares
            ) as response:
                yield response
        except TimeoutError as error:
            raise TimedOut(f"{request.url.host} did not answer within {silence_s:g} s") from error

    async def _hop(
        self, request: EgressRequest, limit_bytes: int, *, private: bool, target: ConfiguredTarget
    ) -> Fetched | EgressRequest:
        """Return an answer, or the request of its redirect; `private`: whether the target may be private."""
        async with self._answered(
            request, private=private, middlewares=target.middlewares, verify_tls=target.verify_tls
        ) as response:
            if response.status in _REDIRECTS and "Location" in response.headers:
                return redirect_request(request, response.status, response.headers["Location"])
            return await _taken(response, limit_bytes)

    @asynccontextmanager
    async def _answered(
        self,
        request: EgressRequest,
        *,
        private: bool,
        quiet: ClientTimeout | None = None,
        encodings: str = ACCEPTED_ENCODINGS,
        middlewares: Sequence[ClientMiddlewareType] = (),
        verify_tls: bool = True,
    ) -> AsyncIterator[ClientResponse]:
        """Send one request on a separate connection."""
        await load_package("aiohttp")
        import aiohttp

        host, port = str(request.url.host), int(request.url.port or 0)
        dial = Dial(host, port, self._look_up, private=private, public=verify_tls, apart=self._apart)
        refuse_odd_number(host)
        if is_literal(host):
            dial.check(host)
        connector = aiohttp.TCPConnector(
            resolver=dial,  # type: ignore[arg-type]  # it has all that is asked of a resolver
            socket_factory=dial.make_socket,
            use_dns_cache=False,
            force_close=True,
            ssl=verify_tls or _unverified(),
        )
        try:
            async with (
                aiohttp.ClientSession(
                    connector=connector,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    timeout=quiet or aiohttp.ClientTimeout(total=None),
                    trust_env=False,
                    auto_decompress=False,
                    skip_auto_headers=("User-Agent", "Content-Type"),
                ) as session,
                session.request(
                    request.method,
                    request.url,
                    headers={"User-Agent": USER_AGENT, **request.headers, "Accept-Encoding": encodings},
                    data=request.body,
                    allow_redirects=False,
                    middlewares=middlewares,
                ) as response,
            ):
                yield response
        except BodyRefused as error:
            raise EgressFailed(host, f"its answer {error}", outside=True) from error
        except (aiohttp.ClientError, OSError) as error:
            if dial.refused is not None:
                raise dial.refused from error
            if isinstance(error, TimeoutError):
                raise
            raise EgressFailed(host, _why(error), outside=not isinstance(error, OSError)) from error
        except ValueError as error:  # what the HTTP library finds wrong with a header or a URL
            raise InvalidRequest(f"{host} was not called: {error}") from error


def may_be_private(first: URL, target: URL, named: Collection[str]) -> bool:
    """Whether a target may be private: the originally requested host and port, which the owner named.

    A redirect to any other address is judged as public only, also from one named target to another.
    """
    return place_of(target) == place_of(first) and place_of(first) in named


def redirect_request(request: EgressRequest, status: int, location: str) -> EgressRequest:
    """Return the request a redirect asks for."""
    from yarl import URL

    try:
        target = parse_url(str(request.url.join(URL(location))))
    except (InvalidRequest, ValueError) as error:
        told = f"it redirects to what is not fetched ({error})"
        raise EgressFailed(str(request.url.host), told, outside=True) from error
    if target.origin() != request.url.origin():
        return EgressRequest(target, "HEAD" if request.method == "HEAD" else "GET")
    if request.method == "HEAD" or status in {307, 308}:
        return EgressRequest(target, request.method, request.headers, request.body)
    if status == 303 or request.method == "POST":
        kept = {name: value for name, value in request.headers.items() if not name.lower().startswith("content-")}
        return EgressRequest(target, "GET", kept)
    return EgressRequest(target, request.method, request.headers, request.body)


async def _taken(response: ClientResponse, limit_bytes: int) -> Fetched:
    encodings = response.headers.getall("Content-Encoding", [])
    body = await read_body(_chunks(response), ", ".join(encodings), limit_bytes)
    names = dict.fromkeys(name.lower() for name in response.headers)
    headers = {name: ", ".join(response.headers.getall(name)) for name in names}
    sent = {name: headers[name.lower()] for name in response.headers}
    return Fetched(response.status, headers, body, str(response.url), sent)


async def _chunks(response: ClientResponse) -> AsyncIterator[bytes]:
    async for chunk in response.content.iter_any():
        yield chunk


def _unverified() -> ssl.SSLContext:
    from hub.security.unverified_tls import unverified_tls

    return unverified_tls()


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _method(method: str, known: Collection[str] = METHODS) -> str:
    if method.upper() not in known:
        raise InvalidRequest(f"method: expected one of {', '.join(known)}")
    return method.upper()


def _headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(headers or {})
    if len(given) > HEADERS_LIMIT:
        raise InvalidRequest(f"headers: expected at most {HEADERS_LIMIT}")
    for name, value in given.items():
        if name.lower() in _OURS:
            raise InvalidRequest(f"the header {name} is set by the hub; leave it out")
        if any(ord(each) < 0x20 or ord(each) == 0x7F for each in f"{name}{value}") or not name.strip():
            raise InvalidRequest(f"the header {name!r} has characters that headers cannot have")
    return given


def _body(body: bytes | None) -> bytes | None:
    if body is not None and len(body) > BODY_LIMIT_BYTES:
        raise InvalidRequest(f"body: expected at most {BODY_LIMIT_BYTES} bytes")
    return body
