"""The image of the Dockerfile, built on a base that is made here, and a home in it: begun, killed, moved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.lengths import LONG
from tests.servers.docker_server import docker_server
from tests.servers.ports import free_port
from tests.until import until

CHECKOUT = Path(__file__).parents[2]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
PACKAGES = "python3,python3-venv,ca-certificates"
LIMIT_S = 300.0
HOST = {"network_mode": "host", "read_only": True, "tmpfs": {"/tmp": ""}, "cap_drop": ["ALL"], "init": True}

pytestmark = [
    pytest.mark.skipif(not LONG, reason="takes a long run"),
    pytest.mark.skipif(os.getuid() != 0 or shutil.which("debootstrap") is None, reason="it takes root and debootstrap"),
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    """A client of a server of Docker that has the image `homarus`."""
    import docker.errors

    with docker_server(networked=True) as socket:
        client = docker.DockerClient(f"unix://{socket}", timeout=1200)
        make_base(client)
        try:
            client.images.build(
                path=str(CHECKOUT), tag="homarus", buildargs={"BASE": "base:local"}, network_mode="host", rm=True
            )
        except docker.errors.BuildError as error:
            said = "".join(str(each.get("stream", "")) for each in error.build_log)
            raise AssertionError(f"the image could not be built:\n{said[-4000:]}") from error
        yield client
        client.close()


def make_base(client: Any) -> None:
    """Make the image `base:local`: Debian with Python, in the place of the official one of Python."""
    folder = Path("/tmp") / f"base-{os.getpid()}"
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=1200)
        shutil.copy(CERTIFICATES, folder / CERTIFICATES.relative_to("/"))  # of a proxy that this machine may be behind
        archive = folder.with_suffix(".tar")
        with tarfile.open(archive, "w") as packed:
            packed.add(folder, ".")
        changes = [f"ENV {name}={CERTIFICATES}" for name in ("PIP_CERT", "SSL_CERT_FILE")]
        changes += [f"ENV {name}=300" for name in ("PIP_DEFAULT_TIMEOUT", "UV_HTTP_TIMEOUT")]
        client.api.import_image_from_file(str(archive), "base", "local", changes=changes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".tar").unlink(missing_ok=True)


class Contained:
    """A container of the image.

    Args:
        engine: The client.
        volume: Holds its home.
    """

    def __init__(self, engine: Any, volume: str) -> None:
        self.port = free_port()
        command = ["start", "--host", "127.0.0.1", "--port", str(self.port)]
        self.mounts = {volume: {"bind": "/config", "mode": "rw"}}
        self.container = engine.containers.run("homarus", command, detach=True, volumes=self.mounts, **HOST)

    def run(self, *argv: str, user: str = "") -> tuple[int, str]:
        """Run a program in it; return its exit code and what it printed."""
        code, output = self.container.exec_run(list(argv), user=user)
        return int(code), output.decode()

    async def answers(self, text: str) -> str:
        """Say something to the assistant, as soon as it can be."""
        ran = await until(lambda: (ran := self.run("homarus", "chat", text))[0] == 0 and ran, LIMIT_S)
        return ran[1] if ran else ""


@pytest.fixture(scope="module")
def home(engine: Any) -> Iterator[Contained]:
    contained = Contained(engine, "first")
    yield contained
    contained.container.remove(force=True)


async def test_a_home_in_it_is_healthy_signed_in_to_and_there_again_after_a_crash(home: Contained) -> None:
    assert "I'll remember" in await home.answers("remember that the key is under the pot")
    link = json.loads(home.run("homarus", "dashboard", "--json")[1])
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"http://127.0.0.1:{home.port}/api/login", json={"code": link["code"]}) as signed_in,
    ):
        assert signed_in.status == 200

    def health() -> str:
        home.container.reload()
        return str(home.container.attrs["State"]["Health"]["Status"])

    await until(lambda: health() == "healthy", LIMIT_S)
    home.container.kill()
    home.container.start()

    assert "under the pot" in await home.answers("where is the key?")


async def test_its_programs_have_no_rights_and_change_nothing_but_the_home(home: Contained) -> None:
    await home.answers("hello")

    assert home.run("id", "-u") == (0, "1000\n")
    for place in ("/opt/homarus/x", "/usr/x", "/etc/x"):
        assert "Read-only file system" in home.run("touch", place, user="0")[1]
    assert "CapEff:\t0000000000000000" in home.run("cat", "/proc/1/status")[1]


async def test_what_a_container_cannot_do_says_so(home: Contained) -> None:
    await home.answers("hello")

    assert "docker build --build-arg EXTRAS='apprise" in home.run("homarus", "tui")[1]
    assert "let the engine restart it" in home.run("homarus", "service", "install")[1]


async def test_a_home_moves_into_another_container(engine: Any, home: Contained) -> None:
    await home.answers("remember that the cat is called Minka")
    made = json.loads(home.run("homarus", "backup", "create", "--json")[1])
    volumes = {"first": {"bind": "/from", "mode": "ro"}, "second": {"bind": "/config", "mode": "rw"}}
    restore = ["backup", "restore", f"/from/backups/{made['name']}", "--yes"]
    engine.containers.run("homarus", restore, remove=True, volumes=volumes, **HOST)

    second = Contained(engine, "second")
    try:
        assert "Minka" in await second.answers("what is the cat called?")
    finally:
        second.container.remove(force=True)
