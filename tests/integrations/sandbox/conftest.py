"""A server of Docker for all tests here, with a small image; and a sandbox of each engine."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.agent.workspace.workspace import SANDBOX_RULES
from hub.core.ids import new_id
from hub.core.schema import Schema
from hub.sandbox.contract import Sandbox, SandboxCommand, SandboxEngine
from hub.sandbox.places import SandboxPlaces
from hub.sandbox.schema import SANDBOX_SCHEMA, sandbox_settings
from hub.security.egress import Egress
from integrations.sandbox.bubblewrap.engine import BubblewrapEngine
from integrations.sandbox.docker.engine import DockerEngine
from tests.servers.docker_server import IMAGE, docker_server

BOUNDS = {"memory": "64m", "pids": 48}
Make = Callable[[str], SandboxEngine]


class Kennel:
    """A home with an agent's workspace, and both engines for it."""

    def __init__(self, folder: Path, socket: str) -> None:
        self.home, self.socket = folder / "home", socket
        self.workspace = self.home / "workspace"
        (self.workspace / "memory").mkdir(parents=True)
        (self.home / ".storage").mkdir()
        (self.home / ".storage" / "hub_token").write_text("canary")
        (self.workspace / "MEMORY.md").write_text("canary")
        (self.workspace / "memory" / "day.md").write_text("canary")
        (self.workspace / "AGENTS.md").write_text("be kind")
        self.places = SandboxPlaces(
            self.home, self.home / ".storage/sandboxes", lambda _: self.workspace, SANDBOX_RULES
        )
        self.private: set[str] = set()
        self.egress = Egress(lambda: self.private)
        self.engines: Mapping[str, Callable[[], SandboxEngine]] = {
            "docker": lambda: self.docker_engine(new_id()),
            "bubblewrap": lambda: BubblewrapEngine(time.time, self.egress),
        }

    def docker_engine(self, left: str) -> DockerEngine:
        """Return an engine that keeps in a file of this name whether it has containers."""
        return DockerEngine(self.socket, self.places.mark, self.egress, self.home / ".storage" / "containers" / left)

    async def open(self, name: str, access: str = "none", **settings: Any) -> tuple[SandboxEngine, Sandbox]:
        """Open the sandbox of an agent that is called like the access."""
        mine = {**BOUNDS, **({"image": IMAGE} if name == "docker" else {}), **settings}
        chosen = sandbox_settings(Schema(SANDBOX_SCHEMA)({"workspace_access": access, name: mine}))
        engine = self.engines[name]()
        assert await engine.available(chosen.engines[name]) is None
        spec = await self.places.spec(access, "main", chosen, chosen.engines[name])
        return engine, await engine.open(spec)


Run = Callable[..., Awaitable[tuple[int, str]]]


async def run(sandbox: Sandbox, *argv: str, given: bytes = b"", **options: Any) -> tuple[int, str]:
    """Return the exit code of a program, and what it wrote."""
    process = await sandbox.start(SandboxCommand(argv, **options))
    await process.stdin.write(given)
    await process.stdin.close()
    said = b"".join([chunk async for chunk in process.output])
    return await process.wait(), said.decode("utf-8", "replace")


@pytest.fixture(scope="session")
def docker_socket() -> Iterator[str]:
    """The socket of a server of Docker, which ends with the tests."""
    if os.getuid() != 0:
        pytest.skip("only root can start a server of Docker")
    with docker_server() as socket:
        yield socket


@pytest.fixture(scope="session")
def kennel(docker_socket: str, tmp_path_factory: pytest.TempPathFactory) -> Kennel:
    """A home, whose sandboxes are kept for all tests."""
    return Kennel(tmp_path_factory.mktemp("kennel"), docker_socket)
