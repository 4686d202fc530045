"""The command line of bubblewrap for one program. Pure, but for a look at the existing system directories.

A fresh set of namespaces for each program, with no network; the system read-only; no privileges; and bounds on what it
may use, set where the program cannot lift them. Options: bwrap(1), setpriv(1), prlimit(1).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.sandbox.contract import WORKSPACE, SandboxCommand, SandboxSpec
from integrations.sandbox.bubblewrap.held_start import HeldStart

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = (
    *("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"),
    *(
        "/etc/chromium.d",
        "/etc/mime.types",
        "/etc/protocols",
        "/etc/services",
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
    ),
)
"""What programs need of the system, and nothing that is private to it."""
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
EXPORTS = "HOMARUS_EXPORTS"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SET_AND_RUN = f'eval "${EXPORTS}"; unset {EXPORTS}; exec "$@"'
ACCOUNTS = ("passwd", "group")
_OPEN_TO_ALL = ("--perms", "0755", "--dir")
TMP_SHARE = 2
"""The part of the memory that files in /tmp may fill: half."""


class BubblewrapPrograms(Struct, frozen=True):
    """The programs that make a sandbox."""

    bwrap: str
    prlimit: str
    setpriv: str
    setsid: str


class Inherited(Struct, frozen=True):
    """Descriptors of what bubblewrap reads: its options, which are not for the list of processes, and the filter."""

    options: int
    filter: int | None


def options(spec: SandboxSpec, command: SandboxCommand, *, root: bool) -> list[str]:
    """Return the options of bubblewrap that make a sandbox for one program.

    Args:
        spec: The sandbox; its folder holds `passwd` and `group`.
        command: The program.
        root: Whether the hub is root: programs then get a user of their own, else a user namespace.
    """
    found = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    found += ["--die-with-parent", "--new-session", "--hostname", "sandbox"]
    found += [] if root else ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    for name in SYSTEM:
        if os.path.islink(name):
            found += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            found += ["--ro-bind", name, name]
    found += [*_OPEN_TO_ALL, "/etc"]
    for name in SETTINGS:
        found += ["--ro-bind-try", name, name]
    for name in ACCOUNTS:
        found += ["--ro-bind", str(spec.folder / name), f"/etc/{name}"]
    found += ["--proc", "/proc", "--dev", "/dev"]
    for name in ("/dev/shm", "/tmp"):  # noqa: S108  inside
        found += ["--size", str(spec.settings["memory"] // TMP_SHARE), "--perms", "1777", "--tmpfs", name]
    for mount in spec.mounts:
        for parent in reversed(PurePosixPath(mount.target).parents[:-1]):
            if not any(parent.is_relative_to(each.target) for each in spec.mounts):
                found += [*_OPEN_TO_ALL, str(parent)]
        found += ["--bind" if mount.writable else "--ro-bind", mount.source, mount.target]
    for covered in spec.covered:
        found += ["--tmpfs", covered, "--remount-ro", covered]
    return [*found, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", command.workdir]


def command_line(
    programs: BubblewrapPrograms,
    spec: SandboxSpec,
    command: SandboxCommand,
    inherited: Inherited,
    held: HeldStart | None = None,
    *,
    root: bool,
) -> list[str]:
    """Return how a program is started: bubblewrap, what takes its rights away, what sets its bounds, and itself.

    Args:
        programs: The programs of this system.
        inherited: The files that bubblewrap reads.
        held: The descriptors that the program waits for, if it does.
    """
    line = [programs.bwrap, "--args", str(inherited.options)]
    line += [] if inherited.filter is None else ["--seccomp", str(inherited.filter)]
    line += [] if held is None else held.options
    line.append("--")
    if root:
        line += [programs.setpriv, f"--reuid={spec.uid}", f"--regid={spec.gid}", "--clear-groups", "--no-new-privs"]
        line += ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--"]
    bounds = [f"--nproc={spec.settings['pids']}", f"--data={spec.settings['memory']}", "--core=0"]
    bounds += [] if command.file_limit is None else [f"--fsize={command.file_limit}"]
    line += [programs.prlimit, *bounds, "--"]
    if command.pty:
        line += [programs.setsid, "--ctty", "--wait"]  # inside, where its processes have their numbers
    return [*line, "/bin/sh", "-c", _SET_AND_RUN, "sh", *command.argv]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of bubblewrap itself: the program's is one variable of it, read at the very end.

    So no variable of a program (`LD_PRELOAD`) acts on one that makes the sandbox, or is in the list of processes.

    Raises:
        InvalidRequest: A name is not one that a shell can set, or a value has a NUL.
    """
    wanted = {"PATH": PATH, "HOME": WORKSPACE, "LANG": "C.UTF-8", **variables}
    for name, value in wanted.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise InvalidRequest(f"{name!r:.100} cannot be set in a sandbox: expected letters, digits, _, and no NUL")
    exports = ";".join(f"export {name}={shlex.quote(value)}" for name, value in wanted.items())
    return {"PATH": PATH, EXPORTS: exports}


def write_accounts(spec: SandboxSpec) -> None:
    """Write the users and groups that are visible inside. Blocks."""
    passwd, group = f"sandbox:x:{spec.uid}:{spec.gid}::{WORKSPACE}:/bin/sh\n", f"sandbox:x:{spec.gid}:\n"
    for name, text in zip(ACCOUNTS, (passwd, group), strict=True):
        file = Path(spec.folder / name)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o644)
