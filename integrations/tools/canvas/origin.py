"""The canvas's own origin: the files of `workspace/canvas/`, sandboxed, for the frame of the dashboard and for nodes.

A page of it has an opaque origin, so that no cookie and no credential goes with its requests; it can reach nothing
but files of the same canvas, open no window and send no form. The frame around it lets it go nowhere else.
"""

from __future__ import annotations

import asyncio
import mimetypes
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from aiohttp import web

from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.gateway.access.hosts import client_address, is_trusted_proxy
from hub.gateway.access.start_check import tls_context
from hub.gateway.calls.schema import DEFAULT_HOST
from hub.gateway.calls.settings import HttpSettings
from hub.security.root import Root
from integrations.tools.canvas.canvases import FOLDER, Canvases

PORT_ABOVE = 4
"""The canvas's port above the gateway's."""
FILE_LIMIT_BYTES = 8 * 1024 * 1024
CONNECTIONS_LIMIT = 64
STOP_LIMIT_S = 1.0
CAPABILITY, CANVAS = "__openclaw__/cap/", "__openclaw__/canvas/"
"""Before the token in an address for a node, and before the path in what a node makes of it, as OpenClaw has them."""
INDEX = "index.html"
BRIDGE = "~bridge.js"
"""The script that each page gets, by which the frame around it has scripts run and pictures made."""
_CSP = "Content-Security-Policy"
_HERE = Path(__file__).parent
_POLICY = (
    "sandbox allow-scripts; default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self'; "
    "frame-src 'none'; form-action 'none'; base-uri 'none'; object-src 'none'; require-trusted-types-for 'script'"
)
_STILL_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; form-action 'none'; base-uri 'none'"
)
"""Of a page with words from outside: no script runs but the hub's own."""
_TAG = re.compile(rb"<(/?)([a-z][^\s/>]*)", re.IGNORECASE)
_STILL_TAGS = frozenset(
    (
        b"html head title style body main header footer nav section article aside h1 h2 h3 h4 h5 h6 p div span br hr "
        b"b i u s em strong small sub sup mark abbr cite q blockquote pre code kbd samp var del ins time address "
        b"ul ol li dl dt dd table caption colgroup col thead tbody tfoot tr th td figure figcaption img details "
        b"summary ruby rt rp wbr progress meter svg g path line polyline polygon rect circle ellipse text tspan "
        b"defs lineargradient radialgradient stop clippath"
    ).split()
)
"""What such a page is made of: none of it loads anything, or connects to anywhere, past the policy."""
_STILL_KINDS = frozenset({"text/html", "text/css", "text/plain", "application/json"})
_BEGINNING = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*(?:<!doctype[^>]*>)?", re.IGNORECASE)
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Access-Control-Allow-Origin": "null",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class CanvasOrigin:
    """Serves the files of the canvases once they are first needed.

    Args:
        canvases: Know which token is whose.
        workspace: Returns the workspace of an agent.
        http: The gateway's address.
        dashboard: Returns the address of the dashboard on this machine.
        from_outside: Whether a content of an agent's holds words from outside; blocks.
        port, url: As configured.
    """

    def __init__(
        self,
        canvases: Canvases,
        workspace: Callable[[str], Path],
        http: HttpSettings,
        dashboard: Callable[[], str],
        from_outside: Callable[[str, bytes], bool],
        *,
        port: int | None,
        url: str | None,
    ) -> None:
        self._canvases = canvases
        self._workspace = workspace
        self._http = http
        self._dashboard, self._from_outside = dashboard, from_outside
        self._port = port if port is not None else (http.port + PORT_ABOVE if http.port else 0)
        self._url = url
        self._runner: web.ServerRunner | None = None
        self._starting = asyncio.Lock()
        self.of_node: Callable[[str, str], str | None] = lambda token, address: None
        """Returns the agent whose files a node at this address reads by a token."""

    async def start(self) -> None:
        """Listen; nothing happens when it does.

        Raises:
            Unavailable: The port is taken.
        """
        async with self._starting:
            if self._runner is not None:
                return
            server = web.Server(self._handle, access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=STOP_LIMIT_S)
            await runner.setup()
            tls = tls_context(self._http)
            try:
                await web.TCPSite(runner, self._http.host, self._port, ssl_context=tls).start()
                self._port = int(runner.addresses[0][1])
                if self._http.lacks_loopback:
                    await web.TCPSite(runner, DEFAULT_HOST, self._port, ssl_context=tls).start()
            except OSError as error:
                await runner.cleanup()
                raise Unavailable(
                    f"the canvas cannot listen on port {self._port}: {error.strerror or error}. "
                    "Set another in configuration.yaml, canvas: port:"
                ) from error
            self._runner = runner

    async def stop(self) -> None:
        """Stop listening."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def address(self, host: str) -> str:
        """Return the origin for a browser that reaches the dashboard at this host; empty while it has no port."""
        if self._url is not None:
            return self._url
        if self._runner is None and not self._port:
            return ""
        return self._at(host, self._port)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._answer(request)
        except (HubError, OSError) as error:
            status = error.http_status if isinstance(error, HubError) else 404
            response = web.Response(status=status, text="There is no such file on the canvas.\n")
        response.headers.extend(_HEADERS)
        is_page = response.content_type == "text/html"  # no other document has the prelude, so none has scripts
        policy = response.headers.get(_CSP, _POLICY if is_page else _POLICY.replace(" allow-scripts", ""))
        response.headers[_CSP] = f"{policy}; frame-ancestors {self._ancestors(request)}"
        return response

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        server = self._runner.server if self._runner is not None else None
        if server is None or len(server.connections) > CONNECTIONS_LIMIT:
            return web.Response(status=503, headers={"Connection": "close"})
        path = unquote(request.path_qs.partition("?")[0]).lstrip("/")
        of_node = path.startswith(CAPABILITY)
        token, _, path = path.removeprefix(CAPABILITY).partition("/")
        document = not of_node and request.headers.get("Sec-Fetch-Dest") == "document"
        if request.method not in {"GET", "HEAD"} or document:
            return web.Response(status=403, text="The canvas is shown on the dashboard.\n")
        canvas = None if of_node else self._canvases.by_token(token)
        agent = canvas.agent if canvas is not None else self.of_node(token, self._client(request)) if of_node else None
        if agent is None:
            return web.Response(status=404)
        if path == BRIDGE:
            return web.Response(text=await asyncio.to_thread(_bridge), content_type="text/javascript")
        if of_node:
            path = path.removeprefix(CANVAS) or INDEX
        root = Root(self._workspace(agent) / FOLDER)
        body = await asyncio.to_thread(root.read_bytes, check_path(path), FILE_LIMIT_BYTES)
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        headers, nonce = {}, ""
        if await asyncio.to_thread(self._from_outside, agent, body):
            embedded = kind.startswith("image/") and request.headers.get("Sec-Fetch-Dest") == "image"
            if kind not in _STILL_KINDS and not embedded:
                kind = "text/plain"  # neither a script nor a document of XML
            if kind == "text/html":
                body, nonce = await asyncio.to_thread(_still, body), secrets.token_urlsafe()
                headers[_CSP] = _STILL_POLICY.format(nonce=nonce)
        if kind == "text/html":
            body = await asyncio.to_thread(_guarded, body, nonce)
            base = f"{CAPABILITY if of_node else ''}{token}"
            body += f'\n<script nonce="{nonce}" src="/{base}/{BRIDGE}"></script>\n'.encode()
        text = kind.startswith("text/") or kind == "application/json"
        headers["Content-Type"] = f"{kind}; charset=utf-8" if text else kind
        return web.Response(body=body, headers=headers)

    def _client(self, request: web.BaseRequest) -> str:
        peer, proxies = request.remote or "", self._http.trusted_proxies
        forwarded = request.headers.get("X-Forwarded-For", "")
        return client_address(peer, forwarded, proxies, trusted=is_trusted_proxy(peer, proxies))

    def _ancestors(self, request: web.BaseRequest) -> str:
        """Return the hub's own origin, of the dashboard and the phones' page, which alone may show it in a frame."""
        if self._url is not None:
            return "https:" if self._url.startswith("https:") else "http: https:"
        return self._at(request.host, urlsplit(self._dashboard()).port or 0)

    def _at(self, host: str, port: int) -> str:
        name = urlsplit(f"//{host}").hostname or DEFAULT_HOST
        shown = f"[{name}]" if ":" in name else name
        return f"{'https' if self._http.tls else 'http'}://{shown}:{port}"


def check_path(path: str) -> str:
    """Return the path of a file on the canvas.

    Raises:
        InvalidRequest: A part of it begins with a dot or `~`.
    """
    if not path or any(each.startswith((".", "~")) for each in path.split("/")):
        raise InvalidRequest(
            f"path: expected a file below {FOLDER}/ such as index.html, without names that begin with . or ~"
        )
    return path


def _still(page: bytes) -> bytes:
    """Neutralise every tag that is not in the allow-list."""

    def tag(found: re.Match[bytes]) -> bytes:
        return found[0] if found[2].lower() in _STILL_TAGS else b"<" + found[1] + b"x-" + found[2]

    return _TAG.sub(tag, page)


def _guarded(page: bytes, nonce: str) -> bytes:
    """Return a page that runs the prelude first, and has no shadow trees that it does not see made."""
    if page.startswith(_OTHER_ENCODINGS):
        raise InvalidRequest("the page is in UTF-16; write it in UTF-8")
    beginning = _BEGINNING.match(page)
    at = beginning.end() if beginning is not None else 0
    rest = re.sub(rb"shadowrootmode", b"shadowr00tmode", page[at:], flags=re.IGNORECASE)
    return page[:at] + f'<script nonce="{nonce}">'.encode() + (_HERE / "prelude.js").read_bytes() + b"</script>" + rest


def _bridge() -> str:
    return "".join((_HERE / name).read_text() for name in ("snapshot.js", "bridge.js"))
