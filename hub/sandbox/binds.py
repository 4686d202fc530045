"""Checks which directories of the machine may be visible inside a sandbox: as written, and as resolved."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from hub.core.errors import InvalidRequest

BLOCKED = ("/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/run", "/var/run", "/var/lib/docker")
"""Neither these nor what is in them, nor a directory that holds one of them."""
SOCKETS = ("docker.sock", "containerd.sock", "podman.sock", "crio.sock")


def check_written(source: str) -> str:
    """Return a path as it is written, if it may be mounted as far as its text says.

    Raises:
        InvalidRequest: It is relative, the root, or one of those that are blocked.
    """
    path = PurePosixPath(source)
    if not path.is_absolute() or source.startswith("//") or "\0" in source:
        raise InvalidRequest(f"{source!r:.200} cannot be mounted in a sandbox: expected an absolute path")
    if ".." in path.parts:
        raise InvalidRequest(f"{source!r:.200} cannot be mounted in a sandbox: write it without ..")
    _refuse_blocked(source, path)
    return str(path)


def check_source(source: str, home: Path) -> str:
    """Return the real path of what is mounted, with no symlink in it; this is what has to be mounted.

    Raises:
        InvalidRequest: It does not exist, or is or leads to something that is blocked, or to the hub's home.
    """
    real = Path(os.path.realpath(check_written(source)))
    if not real.exists():
        raise InvalidRequest(f"{source!r:.200} cannot be mounted in a sandbox: it does not exist")
    _refuse_blocked(source, PurePosixPath(real))
    if not real.is_dir() and not real.is_file():
        raise InvalidRequest(
            f"{source!r:.200} cannot be mounted in a sandbox: it is neither a directory nor a plain file"
        )
    _refuse_overlap(source, PurePosixPath(real), PurePosixPath(home.resolve()), "the hub's home")
    return str(real)


def _refuse_blocked(source: str, path: PurePosixPath) -> None:
    if path == PurePosixPath("/"):
        raise InvalidRequest(f"{source!r:.200} cannot be mounted in a sandbox: it is the whole machine")
    if path.name in SOCKETS:
        raise InvalidRequest(f"{source!r:.200} cannot be mounted in a sandbox: {path.name} controls the machine")
    for blocked in BLOCKED:
        _refuse_overlap(source, path, PurePosixPath(blocked), blocked)


def _refuse_overlap(source: str, path: PurePosixPath, blocked: PurePosixPath, name: str) -> None:
    if path.is_relative_to(blocked) or blocked.is_relative_to(path):
        raise InvalidRequest(f"{source!r:.200} cannot be mounted in a sandbox: it is, holds or is in {name}")
