"""A real server of Docker for tests and benchmarks, and a small image for it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IMAGE = "sandbox:local"
START_LIMIT_S = 90.0


@contextmanager
def docker_server(*, networked: bool = False) -> Iterator[str]:
    """Start a server, as root, and yield the path of its socket; it has no network unless it is `networked`."""
    missing = [name for name in ("dockerd", "busybox", "bwrap") if shutil.which(name) is None]
    assert not missing, f"script/test installs {', '.join(missing)} (docker.io, busybox-static, bubblewrap)"
    folder = Path(tempfile.mkdtemp(prefix="dk", dir="/tmp"))
    lone = "" if networked else "ip link set lo up; "
    options = "--storage-driver=overlay2 --bridge=none --iptables=false --ip6tables=false --ip-forward=false"
    command = (
        f"{lone}exec dockerd -H unix://{folder}/s --data-root {folder}/data --exec-root {folder}/exec "
        f"--pidfile {folder}/pid {options} --ip-masq=false"
    )
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *([] if networked else ["unshare", "-n", "--"]), "bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _add_image(f"unix://{folder}/s", server)
        yield f"{folder}/s"
    finally:
        _remove_containers(f"unix://{folder}/s")
        server.terminate()
        server.wait(START_LIMIT_S)
        shutil.rmtree(folder, ignore_errors=True)


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
