"""The machines of the simulation: PostgreSQL with a standby if wanted, worker processes, and what befalls them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
import psutil

from tests.servers.forked import REPOSITORY
from tests.servers.ports import free_port
from tests.servers.postgresql import PostgresqlServer

START_LIMIT_S = 60.0
DRAIN_LIMIT_S = 90.0
DATABASE = "homes"


class Databases:
    """A primary, and a synchronous standby if wanted.

    Args:
        connections: How many the primary allows.
        disk_mb: The size of the primary's disk, which is in memory then.
    """

    def __init__(self, connections: int, *, standby: bool, disk_mb: int | None = None) -> None:
        durable = "fsync = on\nfull_page_writes = on\nshared_buffers = 256MB\nautovacuum_naptime = 1min\n"
        settings = f"{durable}max_connections = {connections}\n"
        self._primary = PostgresqlServer(settings=settings)
        self._standby = PostgresqlServer(self._primary, settings) if standby else None
        self._disk_mb = disk_mb
        self._used_s = 0.0

    def __enter__(self) -> Self:
        if self._disk_mb:
            options = ("-t", "tmpfs", "-o", f"size={self._disk_mb}m", "tmpfs")
            subprocess.run(["mount", *options, str(self._primary.folder)], check=True)
        self._primary.__enter__()
        if self._standby is not None:
            self._standby.__enter__()
            self._primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self._primary.execute("SELECT pg_reload_conf()")
        self._primary.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._primary.__exit__(kind, error, at)
        if self._disk_mb:
            subprocess.run(["umount", "-l", str(self._primary.folder)], check=True)
            self._primary.folder.rmdir()
        if self._standby is not None:
            self._standby.__exit__(kind, error, at)

    @property
    def url(self) -> str:
        """The address, which names both servers."""
        if self._standby is None:
            return self._primary.url(DATABASE)
        return self._primary.url(DATABASE).replace(
            str(self._primary.folder), f"{self._primary.folder},{self._standby.folder}"
        )

    def cpu_s(self) -> float:
        """Return the CPU that the servers have used, with all their processes, ended ones too."""
        running = (each for each in (self._primary, self._standby) if each is not None and each.pid)
        return self._used_s + sum(_tree_cpu_s(each.pid) for each in running if each.pid)

    def connections(self) -> int:
        """Return how many connections there are."""
        return int(self._primary.execute("SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL")[0][0])

    async def go_away(self, seconds: float) -> None:
        """Let the primary be gone for so long."""
        self._note_cpu()
        await asyncio.to_thread(self._primary.kill)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self._primary.start)

    async def fill_disk(self, seconds: float) -> None:
        """Leave no room on the disk of the primary for so long."""
        filler = self._primary.folder / "filler"
        end = time.monotonic() + seconds
        with filler.open("wb", buffering=0) as file:
            while time.monotonic() < end:  # what the server frees meanwhile is taken too
                with suppress(OSError):
                    file.write(bytes(65_536))
                    continue
                await asyncio.sleep(0.1)
        filler.unlink()

    async def fail_over(self) -> None:
        """Kill the primary for good, and promote the standby."""
        assert self._standby is not None
        self._note_cpu()
        await asyncio.to_thread(self._primary.crash)
        await asyncio.to_thread(self._standby.promote)

    def _note_cpu(self) -> None:
        if self._primary.pid is not None:
            self._used_s += _tree_cpu_s(self._primary.pid)


class Worker:
    """One worker process under a manager that starts it again when it ends.

    Args:
        homes: The folder of all homes.
        most: How many homes it opens at most.
        checkout: Where its program is.
        clock_s: How far ahead of this machine's its clocks are that nobody sets.
    """

    def __init__(self, name: str, homes: Path, database: str, most: int, checkout: Path, clock_s: int) -> None:
        self.name = name
        self.checkout = checkout
        self.log = homes.parent / f"{name}.log"
        self._port = free_port()
        self._environment = {**os.environ, "HOMARUS_DATABASE": database, "HOMARUS_HOMES": str(homes)}
        ahead = ["unshare", "--time", "--boottime", str(clock_s), "--monotonic", str(clock_s)] if clock_s else []
        self._command = [
            *ahead,
            sys.executable,
            "-m",
            "hub",
            "worker",
            "--listen",
            f"127.0.0.1:{self._port}",
            "--name",
            name,
        ]
        self._command += ["--max-homes", str(most), "--domain", "homes.example.org"]
        self._process: subprocess.Popen[bytes] | None = None
        self._used_s = self._last_s = 0.0
        self.ends: list[int] = []

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it."""
        environment = {**self._environment, "PYTHONPATH": str(self.checkout)}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, cwd=self.checkout, env=environment, stdout=log, stderr=log)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def has_connection(self, port: int) -> bool:
        """Return whether it has a connection from this port."""
        if self._process is None:
            return False
        with suppress(psutil.Error):
            return any(each.laddr.port == port for each in psutil.Process(self._process.pid).net_connections("tcp"))
        return False

    async def replace(self, checkout: Path) -> float:
        """Let it give its homes up and end, and start it from another checkout; return how long it took to end."""
        ends, begun = len(self.ends), time.monotonic()
        self.checkout = checkout
        self.send(signal.SIGTERM)
        while len(self.ends) == ends:  # noqa: ASYNC110  the manager sees it
            await asyncio.sleep(0.1)
        took_s = time.monotonic() - begun
        async with aiohttp.ClientSession() as session:
            while True:
                with suppress(aiohttp.ClientError):
                    async with session.get(f"{self.url}/healthz") as response:
                        if response.status == HTTPStatus.OK:
                            return took_s
                await asyncio.sleep(0.1)

    def look(self) -> None:
        """Read its CPU; start it again when it has ended."""
        if self._process is None:
            return
        if (code := self._process.poll()) is not None:
            self.ends.append(code)
            self._used_s += self._last_s
            self._last_s = 0.0
            self.start()
            return
        with suppress(psutil.Error):
            self._last_s = _tree_cpu_s(self._process.pid)

    def cpu_s(self) -> float:
        """Return the CPU that it has used, through all its starts."""
        return self._used_s + self._last_s

    def memory_mb(self) -> float:
        """Return its resident memory, with its helpers'."""
        assert self._process is not None
        process = psutil.Process(self._process.pid)
        found = 0.0
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                found += each.memory_info().rss / 1e6
        return found

    async def stop(self) -> None:
        """Ask it to drain, and wait."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, DRAIN_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Workers:
    """All worker processes.

    Args:
        clocks_s: How far the clocks of each are ahead of those of the one before it.
    """

    def __init__(
        self, count: int, homes: Path, database: str, most: int, *, checkout: Path = REPOSITORY, clocks_s: int = 0
    ) -> None:
        self.all = [Worker(f"w{number}", homes, database, most, checkout, number * clocks_s) for number in range(count)]
        self.drained_s: list[float] = []
        self._manager: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        for each in self.all:
            each.start()
        self._manager = asyncio.create_task(self._manage())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._manager is not None
        self._manager.cancel()
        await asyncio.gather(*(each.stop() for each in self.all))

    def cpu_s(self) -> float:
        """Return the CPU of all."""
        for each in self.all:
            each.look()
        return sum(each.cpu_s() for each in self.all)

    async def kill_every(self, seconds: float, told: Callable[[str], None]) -> None:
        """Kill one after the other at random, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            worker = random.choice(self.all)
            told(f"{worker.name} killed")
            worker.send(signal.SIGKILL)

    async def freeze(self, seconds: float, told: Callable[[str], None]) -> None:
        """Freeze one for so long; it ends by itself when it wakes and was buried."""
        worker = random.choice(self.all)
        told(f"{worker.name} frozen for {seconds:g} s")
        worker.send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        worker.send(signal.SIGCONT)

    async def upgrade(self, told: Callable[[str], None]) -> None:
        """Replace one after the other by this checkout."""
        for each in self.all:
            told(f"{each.name} is asked to end")
            self.drained_s.append(await each.replace(REPOSITORY))
            told(f"{each.name} ended after {self.drained_s[-1]:.1f} s, and is there again")

    def connected_from(self, port: int) -> Worker | None:
        """Return the one that has a connection from this port."""
        return next((each for each in self.all if each.has_connection(port)), None)

    async def _manage(self) -> None:
        while True:
            await asyncio.sleep(0.25)
            for each in self.all:
                each.look()


def _tree_cpu_s(pid: int) -> float:
    """Return the CPU of a process and of those below it, ended ones too."""
    process = psutil.Process(pid)
    found = 0.0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            times = each.cpu_times()
            found += times.user + times.system + times.children_user + times.children_system
    return found
