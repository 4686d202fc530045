"""Small real servers on loopback for clients under test: they give scripted answers, and record requests."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tests.gateway.certificates import certificate


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class WebServer:
    """A server whose pages are set by the test."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    pages: dict[str, web.Response] = field(default_factory=dict)
    redirects: dict[str, tuple[int, str]] = field(default_factory=dict)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a request to /hang has arrived."""

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def page(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> None:
        raw = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = web.Response(body=raw, status=status, headers=named)

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.redirects[path] = (status, to)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(Asked(request.method, request.path_qs, dict(request.headers), await request.read()))
        if request.path == "/hang":
            return await self._hang(request)
        if request.path in self.redirects:
            status, location = self.redirects[request.path]
            return web.Response(status=status, headers={"Location": location})
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="nothing here")
        return web.Response(body=page.body, status=page.status, headers=page.headers)

    async def _hang(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"the beginning")
        self.hanging.set()
        await asyncio.sleep(3600)
        return response


async def started(tls: ssl.SSLContext | None = None) -> tuple[WebServer, web.ServerRunner]:
    """Start a server on a free port; the caller cleans the runner up."""
    server = WebServer()
    runner = web.ServerRunner(web.Server(server.answer), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    server.port = runner.addresses[0][1]
    return server, runner


def self_signed(folder: Path) -> ssl.SSLContext:
    """Make a certificate for localhost that nobody vouches for, and the context of a server that shows it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate(folder))
    return context
