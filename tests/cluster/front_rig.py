"""Two workers' front doors over real sockets, and hubs of homes behind them that tell what they were asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from msgspec.structs import replace

from hub.cluster.contract import Owner
from hub.cluster.front import FrontDoor, FrontSettings
from hub.cluster.naming import HomeNames
from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner

DOMAIN = "homes.example.org"
SECRET = Secret("what all workers of these homes share")
NAMES = HomeNames(frozenset({DOMAIN}), {"chat.elm.example": "elm"})


class Directory:
    """The homes of all workers, in memory: who has which, and where it serves there."""

    def __init__(self) -> None:
        self.homes: set[str] = set()
        self.owners: dict[str, Owner] = {}
        self.places: dict[str, dict[str, str]] = {}
        self.wanted: list[str] = []
        self.used: list[str] = []
        self.asked = 0

    def seen_by(self, worker: str) -> HomesOfWorker:
        """Return what one worker's front door asks."""
        self.places.setdefault(worker, {})
        return HomesOfWorker(self, worker)


class HomesOfWorker:
    """What a front door asks about homes."""

    def __init__(self, directory: Directory, worker: str) -> None:
        self._directory = directory
        self._worker = worker

    async def exists(self, home: str) -> bool:
        return home in self._directory.homes

    async def owner_of(self, home: str) -> Owner | None:
        self._directory.asked += 1
        return self._directory.owners.get(home)

    async def want(self, home: str) -> None:
        self._directory.wanted.append(home)

    def here(self, home: str) -> str | None:
        return self._directory.places[self._worker].get(home)

    def used(self, home: str) -> None:
        self._directory.used.append(home)


class Told:
    """The hub of a home: answers what it was asked, streams, and speaks on a WebSocket."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.requests: list[dict[str, Any]] = []
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()
        self.left = asyncio.Event()
        self.received_bytes = 0
        self._runner: web.ServerRunner | None = None

    @property
    def address(self) -> str:
        return f"unix:{self.path}"

    async def start(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._answer, handler_cancellation=True), shutdown_timeout=0.1)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.path)).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(
            {"method": request.method, "target": request.raw_path, "headers": list(request.headers.items())}
        )
        path = request.path
        if path == "/stream":
            return await self._stream(request)
        if path == "/upload":
            return await self._upload(request)
        if path == "/ws":
            return await self._talk(request)
        if path == "/refused":
            return web.Response(status=401, text="no")
        body = await request.read()
        told = {"home": self.name, "body": body.decode("latin-1"), **self.requests[-1]}
        headers = {"Set-Cookie": "signed=in", "X-Of": self.name}
        if path == "/moved":
            return web.Response(status=303, headers={"Location": "/login", **headers})
        return web.Response(text=json.dumps(told), content_type="application/json", headers=headers)

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            await response.write(b"data: first\n\n")
            self.begun.set()
            await self.go_on.wait()
            await response.write(b"data: last\n\n")
        except asyncio.CancelledError:
            self.left.set()
            raise
        return response

    async def _upload(self, request: web.BaseRequest) -> web.StreamResponse:
        async for chunk in request.content.iter_any():
            self.received_bytes += len(chunk)
            self.begun.set()
        return web.Response(text=str(self.received_bytes))

    async def _talk(self, request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("spoken",), max_msg_size=0)
        await socket.prepare(request)
        await socket.send_str(f"hello from {self.name}")
        self.begun.set()
        try:
            async for message in socket:
                if message.data == "end":
                    await socket.close(code=1012, message=b"stopping")
                elif message.type is aiohttp.WSMsgType.TEXT:
                    await socket.send_str(message.data)
                else:
                    await socket.send_bytes(message.data)
        finally:
            self.left.set()
        return socket


class Workers:
    """Two front doors, `one` and `two`, and the homes behind them."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder, self.clock = folder, clock
        self.directory = Directory()
        self.tasks = TaskOwner("test")
        self.ports: dict[str, int] = {}
        self.hubs: dict[str, Told] = {}
        self.fronts: dict[str, FrontDoor] = {}
        self.root = "http://127.0.0.1"

    async def add(self, worker: str, **settings: Any) -> None:
        """Start a worker's front door."""
        given = FrontSettings("127.0.0.1", 0, "", SECRET, NAMES)
        front = FrontDoor(
            replace(given, **{"url": f"http://{worker}", **settings}),
            self.directory.seen_by(worker),
            self.clock,
            self.tasks,
        )
        _, self.ports[worker] = await front.start()
        self.fronts[worker] = front

    def owner(self, worker: str) -> Owner:
        return Owner(worker, f"{self.root}:{self.ports[worker]}")

    async def open(self, home: str, worker: str) -> Told:
        """Let a worker have a home."""
        hub = self.hubs[home] = Told(home, self.folder / f"{home}-{worker}.sock")
        await hub.start()
        self.give(home, worker, hub.address)
        return hub

    def give(self, home: str, worker: str, address: str) -> None:
        """Let a home be served by a worker from an address."""
        self.take(home)
        self.directory.homes.add(home)
        self.directory.owners[home] = self.owner(worker)
        self.directory.places[worker][home] = address

    def take(self, home: str) -> None:
        """Let nobody have a home."""
        self.directory.owners.pop(home, None)
        for places in self.directory.places.values():
            places.pop(home, None)

    async def raw(self, worker: str, data: bytes) -> bytes:
        """Send bytes to a worker's port and return all that it answers."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[worker])
        writer.write(data)
        answer = await reader.read()
        writer.close()
        return answer

    @asynccontextmanager
    async def client(self, worker: str, host: str) -> AsyncIterator[aiohttp.ClientSession]:
        """An HTTP client of a worker, which asks for a host."""
        async with aiohttp.ClientSession(
            f"{self.root}:{self.ports[worker]}",
            headers={"Host": host},
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(ssl=False),
        ) as session:
            yield session

    async def ask(
        self, worker: str, host: str, path: str = "/", headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Ask a worker for a path; return status and JSON."""
        async with self.client(worker, host) as client, client.get(path, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def stop(self) -> None:
        for front in self.fronts.values():
            await front.stop()
        await self.tasks.cancel_all()
        for hub in self.hubs.values():
            await hub.stop()


@asynccontextmanager
async def two_workers(folder: Path, clock: Clock | None = None, **settings: Any) -> AsyncIterator[Workers]:
    """Two workers without homes."""
    workers = Workers(folder, clock or Clock())
    try:
        await workers.add("one", **settings)
        await workers.add("two", **settings)
        yield workers
    finally:
        await workers.stop()
