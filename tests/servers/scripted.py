"""A scripted HTTP server: in a thread of this process, or in a process of its own that is driven over HTTP."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import threading
import urllib.request
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.servers.forked import ForkedProcess
from tests.servers.ports import free_port

START_LIMIT_S = 20.0


class ThreadedServer(ABC):
    """Serves an application in a thread with an event loop of its own."""

    def __init__(self, name: str) -> None:
        self.port = 0
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    @abstractmethod
    def application(self) -> web.Application:
        """Return what is served."""

    @property
    def root_url(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """Where it speaks OpenAI's API."""
        return f"{self.root_url}/v1"

    def start(self, port: int = 0) -> None:
        """Listen on a port (0: one that stays free when it stops); return when it does."""
        self.port = port or free_port()
        self._thread.start()
        if not self._ready.wait(START_LIMIT_S) or not self.port:
            raise RuntimeError(f"the {self._thread.name} did not start")

    def stop(self) -> None:
        """Close everything and wait for the thread; calling it twice does no harm."""
        if self._loop is not None and self._stopping is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(START_LIMIT_S)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException:
            self.port = 0  # who starts it must not talk to another server there
            raise
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        runner = web.AppRunner(self.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024).start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stopping.wait()
        await runner.cleanup()

    def main(self, *addresses: str) -> None:
        """Serve until interrupted or terminated, and print these attributes as one line of JSON."""
        parser = argparse.ArgumentParser(description=f"A scripted {self._thread.name}.")
        parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
        self.start(parser.parse_args().port)
        print(json.dumps({name: getattr(self, name) for name in ("port", "root_url", *addresses)}), flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            self.stop()


class ServerProcess:
    """A server in a process of its own, driven over its control endpoints; for benchmarks and faults."""

    def __init__(self, module: str, port: int) -> None:
        self._process = ForkedProcess(module, "--port", str(port or free_port()), stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.addresses: dict[str, Any] = json.loads(self._process.stdout.readline())
        self.root_url = str(self.addresses["root_url"])
        self.base_url = f"{self.root_url}/v1"

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(START_LIMIT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def control(self, what: str, data: Any = None) -> Any:
        """Post to a control endpoint, or get it without data; return its answer."""
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(f"{self.root_url}/control/{what}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=START_LIMIT_S) as response:
            return json.loads(response.read() or b"null")
