"""A Chromium in an agent's sandbox: its DevTools pipe, and the socket on loopback by which Playwright reaches it."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from hub.core.errors import Unavailable
from hub.sandbox.contract import WORKSPACE, Sandbox, SandboxCommand, SandboxProcess
from hub.sandbox.network import PORT
from integrations.tools.browser.chromium import CLOSED, NAMES, START_LIMIT_MS, VIEWPORT

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Playwright

MESSAGE_LIMIT_BYTES = 256 * 1024 * 1024
NOT_FOUND = 127
TOKEN = "X-Homarus-Token"  # noqa: S105  the name of a header
_START = (
    'for name in $1; do found=$(command -v "$name") && break; done; [ -n "$found" ] || exit 127; shift; '
    'exec "$found" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
)
"""Finds the program, and lets its pipe of the DevTools protocol be its standard streams."""


class BoxedChromium:
    """One running browser.

    Args:
        sandbox: Has a network, and nothing of the machine but its own directory.
        folder: That directory, whose path is the same inside.
    """

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox, self._folder = sandbox, folder
        self._token = secrets.token_urlsafe(32)
        self._process: SandboxProcess | None = None
        self._runner = web.ServerRunner(web.Server(self._serve, access_log=None), shutdown_timeout=1.0)

    async def start(self, playwright: Playwright) -> BrowserContext:
        """Start it and connect.

        Raises:
            Unavailable: There is no Chromium in the sandbox, or it does not start.
        """
        from playwright.async_api import Error

        self._process = await self._sandbox.start(
            SandboxCommand(
                (
                    *("sh", "-c", _START, "sh", " ".join(NAMES), "--headless", "--no-sandbox"),
                    *("--remote-debugging-pipe", f"--user-data-dir={WORKSPACE}/profile"),
                    *(f"--proxy-server=http://127.0.0.1:{PORT}", "--proxy-bypass-list=<-loopback>"),
                    *(f"--window-size={VIEWPORT['width']},{VIEWPORT['height']}", *CLOSED),
                )
            )
        )
        try:
            await self._runner.setup()
            await web.TCPSite(self._runner, "127.0.0.1", 0).start()
            browser = await playwright.chromium.connect_over_cdp(
                f"ws://127.0.0.1:{self._runner.addresses[0][1]}/",
                headers={TOKEN: self._token},
                artifacts_dir=self._folder,
                is_local=True,
                timeout=START_LIMIT_MS,
            )
            return browser.contexts[0]
        except (Error, OSError, IndexError) as error:
            code = await self.stop()
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            if code == NOT_FOUND:
                why = (
                    f"there is none of {', '.join(NAMES)} in it. bubblewrap has the programs of this machine; for "
                    "Docker, name an image with one in agents[].sandbox.docker.image"
                )
            raise Unavailable(f"no Chromium starts in the sandbox: {why}") from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> int:
        """End it; return its exit code."""
        process, self._process = self._process, None
        await self._runner.cleanup()
        if process is None:
            return 0
        await process.kill()
        return await process.wait()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass messages between Playwright and the browser: on the pipe each ends with a NUL."""
        if not hmac.compare_digest(request.headers.get(TOKEN, "").encode(), self._token.encode()):
            return web.Response(status=401)
        socket, process = web.WebSocketResponse(max_msg_size=MESSAGE_LIMIT_BYTES, compress=False), self._process
        if process is None or "Origin" in request.headers:
            return web.Response(status=403)
        await socket.prepare(request)
        telling = asyncio.create_task(_tell(process, socket), name=f"read the browser of {self._sandbox.name}")
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await process.stdin.write(message.data.encode() + b"\0")
        finally:
            telling.cancel()
            await asyncio.wait({telling})
        return socket


async def _tell(process: SandboxProcess, socket: web.WebSocketResponse) -> None:
    """Send what the browser says; the socket ends with it, or with a message that is too large."""
    parts: list[bytes] = []
    with suppress(ConnectionError):
        async for chunk in process.output:
            *ends, rest = chunk.split(b"\0")
            for end in ends:
                await socket.send_str(b"".join([*parts, end]).decode("utf-8", "replace"))
                parts = []
            parts.append(rest)
            if sum(map(len, parts)) > MESSAGE_LIMIT_BYTES:
                break
    await socket.close()
