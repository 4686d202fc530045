"""`homarus worker` in processes of their own, over one folder of homes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from hub.cluster.making import HomeMaker
from tests.servers.ports import free_port
from tests.until import until

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-c", "from hub.cli import main; main()")


class WorkerProcess:
    """One worker; it is killed in the end, unless it ended."""

    def __init__(self, name: str, database: str, homes: Path) -> None:
        self.name = name
        self.port = free_port()
        self._environment = {**os.environ, "HOMARUS_DATABASE": database, "HOMARUS_HOMES": str(homes)}
        self._lines: list[str] = []
        self._reading: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def log(self) -> str:
        """What it has written so far."""
        return "\n".join(self._lines)

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            *("worker", "--name", self.name, "--listen", f"127.0.0.1:{self.port}"),
            env=self._environment,
            cwd=ROOT,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reading = asyncio.ensure_future(self._read(self._process.stderr))
        await until(lambda: "serves 127.0.0.1" in self.log or self._ended())
        assert not self._ended(), self.log
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.send(signal.SIGKILL)
        await self.wait()
        if self._reading is not None:
            await self._reading

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def wait(self) -> int:
        """Return its exit code."""
        assert self._process is not None
        async with asyncio.timeout(60):
            return await self._process.wait()

    async def ask(self, token: str, text: str, limit_s: float = 30.0) -> tuple[int, Any]:
        """Ask the assistant of the home that a token names; return status and body."""
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        body = {"model": "homarus", "messages": [{"role": "user", "content": text}]}
        limit = aiohttp.ClientTimeout(total=limit_s)
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.post(url, json=body, headers=headers) as answer,
        ):
            return answer.status, await answer.json()

    async def until_answered(self, token: str, text: str) -> str:
        """Ask until the home answers, wherever it is; return what it says."""
        async with asyncio.timeout(90):
            while True:
                with suppress(TimeoutError, aiohttp.ClientError):
                    status, said = await self.ask(token, text, 5.0)
                    if status == 200:
                        return str(said["choices"][0]["message"]["content"])
                await asyncio.sleep(0.05)

    def _ended(self) -> bool:
        return self._process is not None and self._process.returncode is not None

    async def _read(self, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        while line := await stream.readline():
            self._lines.append(line.decode().rstrip())


async def make_home(database: str, homes: Path, name: str) -> str:
    """Make a home; return its owner's token."""
    maker = HomeMaker(database, homes)
    await maker.prepare()
    try:
        return (await maker.create(name)).token.reveal()
    finally:
        await maker.directory.close()
