"""A proxy before a homeserver that makes the mistakes a test asks for."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

_HOP = {"transfer-encoding", "content-length", "content-encoding", "connection", "host"}


@dataclass
class Fault:
    """What goes wrong with requests whose `METHOD PATH` the pattern fits.

    Attributes:
        pattern: A regular expression.
        times: So many times; then it is over.
        status, body, headers: The answer, instead of the homeserver's.
        passes: Whether the homeserver gets the request nevertheless.
        drops: Whether the connection is cut instead of an answer.
        hangs: Whether there is never an answer.
    """

    pattern: str
    times: int = 1
    status: int = 502
    body: str = "<html>Bad gateway</html>"
    headers: tuple[tuple[str, str], ...] = ()
    passes: bool = False
    drops: bool = False
    hangs: bool = False


class MatrixProxy:
    """Passes requests on to a homeserver, except those that a fault fits.

    Attributes:
        requests: `METHOD PATH` of each that came.
        last_events: The last answer to a sync in which something had happened in a room.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.last_events = ""
        self.url = ""
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=100_000_000)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.01)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
        await self._session.close()

    async def close(self) -> None:
        """Stop listening, and cut what is open."""
        self._closing.set()
        await self._runner.cleanup()

    def fails(self, pattern: str, **how: object) -> Fault:
        """Let requests fail from now on."""
        self.faults.append(fault := Fault(pattern, **how))  # type: ignore[arg-type]
        return fault

    def count(self, pattern: str) -> int:
        """How many requests came that fit."""
        return sum(re.search(pattern, each) is not None for each in self.requests)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        named = f"{request.method} {request.raw_path}"
        self.requests.append(named)
        body = await request.read()
        fault = self._due(named)
        if fault is None:
            answer = await self._pass(request, body)
            gone = request.transport is None or request.transport.is_closing()
            fault = None if gone else self._due(named)  # that began while the request was held back
            if fault is None:
                return answer
        elif fault.passes:
            await self._pass(request, body)
        fault.times -= 1
        if fault.hangs:
            await self._closing.wait()
        if fault.drops or fault.hangs:
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=fault.status, text=fault.body, headers=dict(fault.headers))

    def _due(self, named: str) -> Fault | None:
        return next((each for each in self.faults if each.times > 0 and re.search(each.pattern, named)), None)

    async def _pass(self, request: web.Request, body: bytes) -> web.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        url = URL(self._target + request.raw_path, encoded=True)
        async with self._session.request(request.method, url, data=body, headers=headers) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
            data = await answer.read()
            if "/sync?" in request.raw_path and b'"timeline"' in data:
                self.last_events = data.decode()
            return web.Response(status=answer.status, body=data, headers=kept)
