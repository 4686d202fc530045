"""The engine: a container for each sandbox, made on first use, in which programs are started with `exec`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hub.core.errors import Conflict, HubError, NotFound, Unavailable
from hub.core.executors import FILES
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
from hub.sandbox.contract import TERMINAL_SIZE, WORKSPACE, SandboxCommand, SandboxInfo, SandboxSpec
from hub.sandbox.network import SandboxProxy, allowed_hosts, reaches_out
from hub.security.egress import Egress
from integrations.sandbox.docker.connection import DockerConnection
from integrations.sandbox.docker.create_body import AGENT_LABEL, DIGEST_LABEL, HOME_LABEL, SCOPE_LABEL, create_body
from integrations.sandbox.docker.process import DockerProcess

_log = logging.getLogger(__name__)

ASKED_AGAIN_S = 10.0
SETUP_OUTPUT = 500
MARK = "HOMARUS_RUN"
_RUN = 'cd -- "$1" || exit 126; ulimit -f "$2"; shift 2; exec "$@"'
BLOCK_BYTES = 512
"""In which `ulimit -f` counts."""
_KILL = (
    "for d in /proc/[0-9]*; do tr '\\0' '\\n' <$d/environ 2>/dev/null | grep -q \"^$1$\" && kill -9 ${d#/proc/}; "
    "done; :"
)
"""Kills every process of a container with a variable in its environment."""


class DockerSandbox:
    """One container.

    Args:
        engine: Makes it again when somebody else has removed it.
        spec: Its specification.
    """

    workdir = WORKSPACE

    def __init__(self, engine: DockerEngine, spec: SandboxSpec) -> None:
        self.name, self.spec = spec.name, spec
        self._engine, self._connection = engine, engine.connection
        self._running: set[DockerProcess] = set()
        self._tasks = TaskOwner(spec.name)

    @property
    def reaches_out(self) -> bool:
        """Whether it has a network."""
        return reaches_out(self.spec.settings)

    @property
    def busy(self) -> bool:
        """Whether a program runs in it."""
        return any(not process.ended for process in self._running)

    async def start(self, command: SandboxCommand) -> DockerProcess:
        """Start a program."""
        mark = f"{MARK}={new_id()}"
        blocks = "unlimited" if command.file_limit is None else str(command.file_limit // BLOCK_BYTES)
        line = ["/bin/sh", "-c", _RUN, "sh", command.workdir, blocks, *command.argv]
        variables = [*(f"{name}={value}" for name, value in command.environment.items()), mark]
        try:
            exec_id = await self._create(line, variables, terminal=command.pty)
        except (NotFound, Conflict):
            await self._engine.make(self.spec)
            exec_id = await self._create(line, variables, terminal=command.pty)
        stream = await self._connection.stream(exec_id, terminal=command.pty)
        if command.pty:
            with suppress(HubError):  # it has ended
                await self._connection.call(lambda client: client.exec_resize(exec_id, *TERMINAL_SIZE))

        async def kill(by_all_means: bool) -> None:
            if by_all_means:
                _log.warning("%s begins again: a program could not be ended", self.name)
                await self._connection.call(lambda client: client.restart(self.name, timeout=0))
                await self._engine.make(self.spec)
                return
            killer = await self._create(["/bin/sh", "-c", _KILL, "sh", mark], [], terminal=False)
            await self._connection.call(lambda client: client.exec_start(killer, detach=True))

        process = DockerProcess(self._connection, exec_id, stream, terminal=command.pty, kill=kill)
        self._running = {each for each in self._running if not each.ended} | {process}
        self._tasks.spawn(process.pump(), name=f"output of {exec_id[:12]}")
        return process

    async def close(self) -> None:
        """Stop taking over what its programs write; their container is removed."""
        await self._tasks.cancel_all()

    async def _create(self, line: list[str], variables: list[str], *, terminal: bool) -> str:
        created = await self._connection.call(
            lambda client: client.exec_create(self.name, line, stdin=True, tty=terminal, environment=variables)
        )
        return str(created["Id"])


class DockerEngine:
    """Makes containers on the server of Docker that answers on a socket.

    Args:
        socket: The path of the socket.
        home: The mark of the hub's home: containers of other hubs are left alone.
        egress: Connects those that may reach some hosts.
        left: A file that is there while there may be containers, so that a hub that makes none never asks Docker.
    """

    name = "docker"

    def __init__(self, socket: str, home: str, egress: Egress, left: Path) -> None:
        self.connection = DockerConnection(socket)
        self._egress = egress
        self._left = left
        self.has_left = self._has_any = left.exists()
        """Whether a hub of this home was killed that had containers; and whether there may be any."""
        self._clearing = asyncio.Lock()
        self._proxies: dict[str, tuple[int, SandboxProxy]] = {}
        self._home = home
        self._sandboxes: dict[str, DockerSandbox] = {}
        self._images: dict[str, float] = {}

    async def available(self, settings: Mapping[str, Any]) -> str | None:
        """Return why there can be no container; the result is cached for some seconds."""
        image = settings["image"]
        if time.monotonic() - self._images.get(image, -ASKED_AGAIN_S) < ASKED_AGAIN_S:
            return None
        try:
            await self.connection.call(lambda client: client.inspect_image(image))
        except NotFound:
            return f"the image {image} is not there; `homarus sandbox build` makes the default one"
        except HubError as error:
            return error.message
        self._images = {image: time.monotonic()}
        return None

    async def open(self, spec: SandboxSpec) -> DockerSandbox:
        """Return the container of a sandbox, made where it is missing or was made otherwise."""
        await self.clear_left()
        await self.make(spec)
        known = self._sandboxes.get(spec.name)
        if known is None or known.spec != spec:
            known = self._sandboxes[spec.name] = DockerSandbox(self, spec)
        return known

    async def make(self, spec: SandboxSpec) -> None:
        """Make sure that the container of a sandbox runs as specified.

        Raises:
            Unavailable: It cannot be made, or its setup command failed.
        """
        if not self._has_any:
            await FILES.run(self._note_containers)
        try:
            facts = await self.connection.call(lambda client: client.inspect_container(spec.name))
            if facts["Config"]["Labels"].get(DIGEST_LABEL) == spec.digest and facts["State"]["Running"]:
                return await self._open_proxy(spec, facts)
            await self.remove(spec.name)
        except NotFound:
            pass
        body = create_body(spec)
        await self.connection.call(lambda client: client.create_container_from_config(body, spec.name))
        try:
            await self.connection.call(lambda client: client.start(spec.name))
            await self._open_proxy(spec, await self.connection.call(lambda client: client.inspect_container(spec.name)))
            await self._set_up(spec)
        except BaseException:
            await self.remove(spec.name)
            raise

    async def all(self) -> list[SandboxInfo]:
        """Return the containers of this hub; none where there is no server."""
        if not self._has_any:
            return []
        try:
            return await self._all()
        except Unavailable:
            return []

    async def _all(self) -> list[SandboxInfo]:
        label = f"{HOME_LABEL}={self._home}"
        found = await self.connection.call(lambda client: client.containers(all=True, filters={"label": label}))
        return [
            SandboxInfo(
                each["Names"][0].lstrip("/"),
                each["Labels"].get(AGENT_LABEL, ""),
                each["Labels"].get(SCOPE_LABEL, ""),
                int(each["Created"]) * 1_000,
                each["State"] == "running",
            )
            for each in found
        ]

    async def remove(self, name: str) -> None:
        """Remove a container."""
        sandbox = self._sandboxes.pop(name, None)
        await self._close_proxy(name)
        with suppress(NotFound, Conflict):  # it is gone, or going
            await self.connection.call(lambda client: client.remove_container(name, force=True))
        if sandbox is not None:
            await sandbox.close()

    async def clear_left(self) -> None:
        """Remove the containers of a hub of this home that was killed: its programs may run in them."""
        async with self._clearing:
            if self.has_left:
                self.has_left = not await self._remove_all()

    async def close(self) -> None:
        """Remove the containers of this hub; those that cannot be are removed by the next."""
        if self._has_any and await self._remove_all():
            await FILES.run(self._left.unlink)
            self._has_any = False

    async def _remove_all(self) -> bool:
        """Remove the containers of this hub; return whether all were removed."""
        try:
            await asyncio.gather(*(self.remove(each.name) for each in await self._all()))
        except HubError as error:
            _log.warning("containers of sandboxes were not removed: %s", error.message)
            return False
        return True

    def _note_containers(self) -> None:
        self._left.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._left.touch(mode=0o600)
        self._has_any = True

    async def _open_proxy(self, spec: SandboxSpec, facts: Mapping[str, Any]) -> None:
        """Open the proxy for a container's allowed hosts; a restarted container has a new network."""
        hosts, process = allowed_hosts(spec.settings), int(facts["State"]["Pid"])
        if hosts is None or (spec.name in self._proxies and self._proxies[spec.name][0] == process):
            return
        await self._close_proxy(spec.name)
        proxy = SandboxProxy(self._egress, hosts)
        try:
            await proxy.open(process)
        except Unavailable:
            await self.remove(spec.name)
            raise
        self._proxies[spec.name] = process, proxy

    async def _close_proxy(self, name: str) -> None:
        _, proxy = self._proxies.pop(name, (0, None))
        if proxy is not None:
            await proxy.close()

    async def _set_up(self, spec: SandboxSpec) -> None:
        command = spec.settings.get("setup_command")
        if command is None:
            return
        sandbox = DockerSandbox(self, spec)
        process = await sandbox.start(SandboxCommand(("/bin/sh", "-c", command)))
        await process.close()
        said = b""
        async for chunk in process.output:
            said = (said + chunk)[-SETUP_OUTPUT:]
        if code := await process.wait():
            text = said.decode("utf-8", "replace").strip()
            raise Unavailable(f"the setup_command of the sandbox ended with {code}: {text}")
