"""The engine: sandboxes that are directories and settings; each program gets its own namespaces."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hub.core.errors import Unavailable
from hub.core.executors import Executor
from hub.core.tasks import TaskOwner
from hub.sandbox.contract import TERMINAL_SIZE, WORKSPACE, SandboxCommand, SandboxInfo, SandboxSpec
from hub.sandbox.network import ENVIRONMENT, SandboxProxy, allowed_hosts, reaches_out
from hub.security.egress import Egress
from integrations.sandbox.bubblewrap.command_line import (
    BubblewrapPrograms,
    Inherited,
    command_line,
    environment,
    options,
    write_accounts,
)
from integrations.sandbox.bubblewrap.held_start import HeldStart
from integrations.sandbox.bubblewrap.process import BubblewrapProcess, terminal_reader
from integrations.sandbox.bubblewrap.processes import memory_use
from integrations.sandbox.bubblewrap.syscalls import system_call_filter

_log = logging.getLogger(__name__)

WATCHED_EVERY_S = 0.1
"""How often the memory of programs is measured: one process cannot have more than its bound, many together could."""
TRIED_AGAIN_S = 60.0
_WATCH = Executor("sandbox memory", 2)


class BubblewrapSandbox:
    """One sandbox.

    Args:
        spec: Its specification.
        programs: The programs that make it.
        created: When, in seconds since the epoch.
        egress: Connects programs that may reach some hosts.
    """

    workdir = WORKSPACE

    def __init__(self, spec: SandboxSpec, programs: BubblewrapPrograms, created: float, egress: Egress) -> None:
        self._egress = egress
        self.spec, self.name, self.created = spec, spec.name, created
        self._programs = programs
        self._running: set[BubblewrapProcess] = set()
        self._tasks = TaskOwner(spec.name)

    @property
    def reaches_out(self) -> bool:
        """Whether its programs reach some hosts."""
        return reaches_out(self.spec.settings)

    @property
    def busy(self) -> bool:
        """Whether a program runs in it."""
        return any(not process.ended for process in self._running)

    async def start(self, command: SandboxCommand) -> BubblewrapProcess:
        """Start a program."""
        root, code, hosts = os.getuid() == 0, system_call_filter(), allowed_hosts(self.spec.settings)
        bubblewrap_environment = environment({**(ENVIRONMENT if hosts else {}), **command.environment})
        proxy: SandboxProxy | None = None
        with ExitStack() as files:
            held = HeldStart.pipes(files) if hosts else None
            lines = "\0".join(options(self.spec, command, root=root)).encode()
            inherited = Inherited(_in_memory(lines, files), None if code is None else _in_memory(code, files))
            hub_side, program_side = os.openpty() if command.pty else (None, None)
            if program_side is not None:
                files.callback(os.close, program_side)
                termios.tcsetwinsize(program_side, TERMINAL_SIZE)
            try:
                process = await asyncio.create_subprocess_exec(
                    *command_line(self._programs, self.spec, command, inherited, held, root=root),
                    stdin=asyncio.subprocess.PIPE if program_side is None else program_side,
                    stdout=asyncio.subprocess.PIPE if program_side is None else program_side,
                    stderr=asyncio.subprocess.STDOUT,
                    env=bubblewrap_environment,
                    pass_fds=[
                        *(each for each in (inherited.options, inherited.filter) if each is not None),
                        *(held.theirs if held is not None else ()),
                    ],
                    cwd="/",
                    umask=0o022,
                )
            except BaseException as error:
                if hub_side is not None:
                    os.close(hub_side)
                if isinstance(error, OSError):
                    raise Unavailable(f"bubblewrap cannot be started: {error}") from error
                raise
            if held is not None and hosts is not None:
                try:
                    proxy = await self._opened(process, held, hosts)
                except BaseException:
                    if hub_side is not None:
                        os.close(hub_side)
                    raise
        started = BubblewrapProcess(process, hub_side, None if hub_side is None else await terminal_reader(hub_side))
        self._running.add(started)
        self._tasks.spawn(self._watch(started, hub_side, proxy), name=f"watch {process.pid}")
        return started

    async def close(self) -> None:
        """End all programs in it."""
        for process in [*self._running]:
            await process.kill()
        await self._tasks.drain(timeout_s=2.0)
        await self._tasks.cancel_all()

    async def _opened(self, process: asyncio.subprocess.Process, held: HeldStart, hosts: Sequence[str]) -> SandboxProxy:
        """Open the proxy of a program that is held, and let it begin."""
        proxy = SandboxProxy(self._egress, hosts)
        try:
            await proxy.open(await asyncio.to_thread(held.process))
            held.begin()
        except BaseException:
            process.kill()
            await asyncio.shield(proxy.close())
            raise
        return proxy

    async def _watch(self, process: BubblewrapProcess, terminal: int | None, proxy: SandboxProxy | None) -> None:
        """Kill a program that uses too much memory together with all that it started; clean up at its end."""
        try:
            end = asyncio.ensure_future(process.wait())
            while not (await asyncio.wait({end}, timeout=WATCHED_EVERY_S))[0]:
                if await _WATCH.run(memory_use, process.id) > self.spec.settings["memory"]:
                    _log.warning("%s: a program was ended, it used more memory than sandbox.memory allows", self.name)
                    await process.kill()
        finally:
            self._running.discard(process)
            if proxy is not None:
                await proxy.close()
            if terminal is not None:
                os.close(terminal)


class BubblewrapEngine:
    """Makes sandboxes with the bubblewrap of this system.

    Args:
        wall_time: Seconds since the epoch.
        egress: Connects programs that may reach some hosts.
        bwrap: The path of bubblewrap; found by its name by default.
    """

    name = "bubblewrap"

    def __init__(self, wall_time: Callable[[], float], egress: Egress, bwrap: str | None = None) -> None:
        self._wall_time, self._egress = wall_time, egress
        found = {name: shutil.which(name) or "" for name in ("bwrap", "prlimit", "setpriv", "setsid")}
        self._programs = BubblewrapPrograms(**{**found, **({} if bwrap is None else {"bwrap": bwrap})})
        self._sandboxes: dict[str, BubblewrapSandbox] = {}
        self._tried: tuple[float, str | None] | None = None

    async def available(self, settings: Mapping[str, Any]) -> str | None:
        """Return why there can be no sandbox; the result is cached for a minute."""
        missing = [each for each in self._programs.__struct_fields__ if not getattr(self._programs, each)]
        if missing:
            return f"{' and '.join(missing)} not installed here (Debian: apt install bubblewrap util-linux)"
        now = self._wall_time()
        if self._tried is None or abs(now - self._tried[0]) > TRIED_AGAIN_S:
            self._tried = (now, await self._try())
        return self._tried[1]

    async def open(self, spec: SandboxSpec) -> BubblewrapSandbox:
        """Return a sandbox."""
        known = self._sandboxes.get(spec.name)
        if known is not None and known.spec == spec:
            return known
        await self.remove(spec.name)
        await asyncio.to_thread(write_accounts, spec)
        made = self._sandboxes[spec.name] = BubblewrapSandbox(spec, self._programs, self._wall_time(), self._egress)
        return made

    async def all(self) -> list[SandboxInfo]:
        """Return the sandboxes."""
        return [
            SandboxInfo(each.name, each.spec.agent_id, each.spec.scope, int(each.created * 1_000), each.busy)
            for each in self._sandboxes.values()
        ]

    async def remove(self, name: str) -> None:
        """Remove a sandbox."""
        sandbox = self._sandboxes.pop(name, None)
        if sandbox is not None:
            await sandbox.close()

    async def close(self) -> None:
        """Remove all sandboxes."""
        for name in [*self._sandboxes]:
            await self.remove(name)

    async def _try(self) -> str | None:
        """Return why bubblewrap makes no sandbox on this system: a kernel can forbid it."""
        uid, gid = (os.getuid() or 65_534), (os.getgid() or 65_534)
        folder = await asyncio.to_thread(_trial_folder)
        try:
            spec = SandboxSpec("trial", "", "", "", "", uid, gid, folder, (), (), {"memory": 1 << 28, "pids": 64})
            await asyncio.to_thread(write_accounts, spec)
            trial = BubblewrapSandbox(spec, self._programs, 0.0, self._egress)
            process = await trial.start(SandboxCommand(("/bin/true",), "/"))
            said = b"".join([chunk async for chunk in process.output])
            code = await process.wait()
            await trial.close()
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return None if code == 0 else f"bubblewrap does not work here: {said.decode('utf-8', 'replace').strip()[:300]}"


def _trial_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="homarus-"))


def _in_memory(data: bytes, files: ExitStack) -> int:
    descriptor = os.memfd_create("homarus")
    files.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
