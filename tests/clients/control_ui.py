"""OpenClaw's Control UI before a hub: its own static files and, at the same origin, the hub's WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from aiohttp import web


class ControlUi:
    """A proxy as somebody would set one up, which notes what goes over the WebSockets.

    Args:
        static: The files of the Control UI.
        hub_url: The hub.
    """

    def __init__(self, static: Path, hub_url: str) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        """All requests, in their order, each with its `answer` once it came."""
        self._static = static
        self._hub_url = hub_url

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ControlUi]:
        """Serve it on a free port."""
        app = web.Application()
        app.router.add_get("/{path:.*}", self._serve)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with aiohttp.ClientSession() as self._session:
            yield self
            await runner.cleanup()

    def refused(self) -> list[dict[str, Any]]:
        """Return the requests that were answered with an error."""
        return [each for each in self.requests if not each.get("answer", {}).get("ok", True)]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._connect(request)
        below, assets, name = request.path.partition("/assets/")
        file = self._static / (f"assets/{name}" if assets else below.lstrip("/"))
        if not file.resolve().is_relative_to(self._static.resolve()) or request.path.endswith(".json"):
            raise web.HTTPNotFound
        return web.FileResponse(file if file.is_file() else self._static / "index.html")

    async def _connect(self, request: web.Request) -> web.WebSocketResponse:
        browser = web.WebSocketResponse(max_msg_size=0)
        await browser.prepare(request)
        waiting: dict[str, dict[str, Any]] = {}

        async def pass_on(source: Any, target: Any) -> None:
            async for message in source:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._note(orjson.loads(message.data), waiting)
                    await target.send_str(message.data)
            await target.close(code=source.close_code or aiohttp.WSCloseCode.OK)

        async with self._session.ws_connect(f"{self._hub_url}/", max_msg_size=0) as hub:
            await asyncio.gather(pass_on(browser, hub), pass_on(hub, browser), return_exceptions=True)
        return browser

    def _note(self, frame: dict[str, Any], waiting: dict[str, dict[str, Any]]) -> None:
        if frame.get("type") == "req":
            noted = waiting[frame["id"]] = {"method": frame["method"], "params": frame.get("params")}
            self.requests.append(noted)
        elif frame.get("type") == "res" and frame["id"] in waiting:
            waiting[frame["id"]]["answer"] = frame
