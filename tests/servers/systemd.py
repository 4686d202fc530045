"""A machine that systemd runs: the present one under another root, in namespaces of its own, and without a network."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

INIT = Path("/lib/systemd/systemd")
# What is written stays in `upper`, so that the machine can be started again; nothing of the present one is changed.
START = """set -e
mkdir -p upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=$PWD/upper,workdir=$PWD/work root
mount -t proc proc root/proc
mount --rbind /dev root/dev
for each in run tmp sys/fs/cgroup; do mkdir -p root/$each; mount -t tmpfs tmpfs root/$each; done
mkdir root/sys/fs/cgroup/systemd
mount -t cgroup -o none,name=systemd cgroup root/sys/fs/cgroup/systemd
if ! [ -e used ]; then
    rm -rf root/etc/systemd/system/* root/lib/systemd/system/multi-user.target.wants/* root/lib/systemd/system/*/*udev*
    touch used
fi
ip link set lo up
exec chroot root {init} --system --unit=multi-user.target --log-target=console
"""


class SystemdMachine:
    """The machine.

    Args:
        folder: Holds what it writes; on a file system that can be the upper one of an overlay, such as tmpfs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._unshare: subprocess.Popen[bytes] | None = None

    @staticmethod
    def lacks() -> str:
        """Return why there can be none here; empty when there can."""
        tools = [name for name in ("unshare", "nsenter", "ip", "mount") if shutil.which(name) is None]
        if os.getuid() != 0 or not INIT.exists() or tools:
            return "it takes root, systemd, util-linux and iproute2"
        return ""

    def start(self) -> None:
        """Start it; it is up a little later."""
        log = (self.folder / "log").open("ab")
        kinds = ("--mount", "--pid", "--uts", "--ipc", "--net", "--fork", "--kill-child")
        self._unshare = subprocess.Popen(
            ("unshare", *kinds, "bash", "-c", START.format(init=INIT)),
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "container": "docker"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()

    @property
    def is_up(self) -> bool:
        """Whether systemd has started all."""
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def stop(self) -> None:
        """Pull the plug."""
        if self._unshare is not None:
            self._unshare.send_signal(signal.SIGKILL)
            self._unshare.wait()
            self._unshare = None

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a program on it."""
        assert self._unshare is not None
        children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children").read_text().split()
        if not children:
            return subprocess.CompletedProcess(argv, 1, "", "the machine does not run")
        enter = ("nsenter", "--target", children[0], "--mount", "--pid", "--uts", "--ipc", "--net")
        return subprocess.run(
            (*enter, "chroot", str(self.folder / "root"), *argv),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def homarus(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line of this checkout on it."""
        return self.run(str(Path(sys.executable).with_name("homarus")), *arguments)
