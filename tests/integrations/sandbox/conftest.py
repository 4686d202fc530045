"""A server of Docker for all tests here, with a small image; and a sandbox of each engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.schema import Schema
from hub.sandbox.contract import Sandbox, SandboxCommand, SandboxEngine
from hub.sandbox.places import SandboxPlaces, WorkspaceRules
from hub.sandbox.schema import SANDBOX_SCHEMA, sandbox_settings
from integrations.sandbox.bubblewrap.engine import BubblewrapEngine
from integrations.sandbox.docker.engine import DockerEngine

IMAGE = "sandbox:local"
START_LIMIT_S = 30.0
RULES = WorkspaceRules(("MEMORY.md",), ("memory", "media"), ("AGENTS.md", "BOOT.md"), ("skills", "hooks"))
BOUNDS = {"memory": "64m", "pids": 48}
Make = Callable[[str], SandboxEngine]


class Kennel:
    """A home with an agent's workspace, and both engines for it."""

    def __init__(self, folder: Path, socket: str) -> None:
        self.home = folder / "home"
        self.workspace = self.home / "workspace"
        (self.workspace / "memory").mkdir(parents=True)
        (self.home / ".storage").mkdir()
        (self.home / ".storage" / "hub_token").write_text("canary")
        (self.workspace / "MEMORY.md").write_text("canary")
        (self.workspace / "memory" / "day.md").write_text("canary")
        (self.workspace / "AGENTS.md").write_text("be kind")
        self.places = SandboxPlaces(self.home, self.home / ".storage/sandboxes", lambda _: self.workspace, RULES)
        self.engines: Mapping[str, Callable[[], SandboxEngine]] = {
            "docker": lambda: DockerEngine(socket, self.places.mark),
            "bubblewrap": lambda: BubblewrapEngine(time.time),
        }

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
    """The socket of a server of Docker without any network, which ends with the tests."""
    if os.getuid() != 0:
        pytest.skip("only root can start a server of Docker")
    missing = [name for name in ("dockerd", "busybox", "bwrap") if shutil.which(name) is None]
    assert not missing, f"script/test installs {', '.join(missing)} (docker.io, busybox-static, bubblewrap)"
    folder = Path(tempfile.mkdtemp(prefix="dk", dir="/tmp"))
    options = "--storage-driver=overlay2 --bridge=none --iptables=false --ip6tables=false --ip-forward=false"
    command = (
        f"ip link set lo up; exec dockerd -H unix://{folder}/s --data-root {folder}/data --exec-root {folder}/exec "
        f"--pidfile {folder}/pid {options} --ip-masq=false"
    )
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            ["unshare", "-n", "--", "bash", "-c", command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _add_image(f"unix://{folder}/s", server)
        yield f"{folder}/s"
    finally:
        _remove_containers(f"unix://{folder}/s")
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def kennel(docker_socket: str, tmp_path_factory: pytest.TempPathFactory) -> Kennel:
    """A home, whose sandboxes are kept for all tests."""
    return Kennel(tmp_path_factory.mktemp("kennel"), docker_socket)


def _remove_containers(address: str) -> None:
    import docker

    client = docker.APIClient(address, version="auto")
    for each in client.containers(all=True):
        client.remove_container(each["Id"], force=True)


def _add_image(address: str, server: subprocess.Popen[bytes]) -> None:
    import docker
    from docker.errors import DockerException

    root = Path(tempfile.mkdtemp(prefix="image"))
    for name in ("bin", "etc", "tmp", "workspace"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    busybox = shutil.which("busybox") or ""
    shutil.copy(busybox, root / "bin/busybox")
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in {*names} - {"busybox"}:
        (root / "bin" / name).symlink_to("busybox")
    archive = shutil.make_archive(str(root), "tar", root)
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            docker.APIClient(address, version="auto").import_image_from_file(archive, *IMAGE.split(":"))
            break
        except DockerException:
            assert server.poll() is None, "dockerd ended"
            assert time.monotonic() < deadline, "dockerd did not start"
            time.sleep(0.1)
    shutil.rmtree(root)
    Path(archive).unlink()
