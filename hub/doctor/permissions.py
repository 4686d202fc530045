"""Check that no other user of this machine can read or change the home directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, error, warning

OTHERS = 0o077
OTHERS_WRITE = 0o022
WALK_LIMIT = 20_000


def _look(context: CheckContext) -> Iterator[Finding]:
    home = context.home
    yield from _home(home.path)
    for path in (home.secrets, home.configuration, home.custom_integrations):
        yield from _top(path, secret=path == home.secrets)
    yield from _storage(home.storage)


def _home(path: Path) -> Iterator[Finding]:
    found = path.stat()
    yield from _owner(path, found)
    mode = stat.S_IMODE(found.st_mode)
    if mode & OTHERS_WRITE:
        text = "Other users of this machine can change what is in the home directory."
        yield _open(error, text, path, mode, "700")
    elif mode & OTHERS:
        yield _open(warning, "Other users of this machine can look into the home directory.", path, mode, "700")


def _top(path: Path, *, secret: bool) -> Iterator[Finding]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    yield from _owner(path, found)
    mode = stat.S_IMODE(found.st_mode)
    if secret and mode & OTHERS:
        yield _open(error, "Other users of this machine can reach the secrets file.", path, mode, "600")
    elif mode & OTHERS_WRITE:
        yield _open(error, "Other users can change it, and the hub obeys it.", path, mode, "go-w")


def _storage(storage: Path) -> Iterator[Finding]:
    """Check everything the hub stores for itself; links are not followed.

    What is in a sandbox belongs to its program, under a user of its own; the folder above it lets nobody else in.
    """
    looked = 0
    folders = [storage]
    while folders:
        folder = folders.pop()
        try:
            found = folder.lstat()
        except FileNotFoundError:
            continue
        yield from _private(folder, found)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except PermissionError as problem:
            yield error(f"This directory cannot be read: {problem.strerror}.", str(folder))
            continue
        for entry in entries:
            looked += 1
            if looked > WALK_LIMIT:
                return
            if entry.name == "workspace" and storage / "sandboxes" in Path(entry.path).parents:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            elif not entry.is_symlink():
                yield from _private(Path(entry.path), entry.stat(follow_symlinks=False))


def _private(path: Path, found: os.stat_result) -> Iterator[Finding]:
    yield from _owner(path, found)
    mode = stat.S_IMODE(found.st_mode)
    if mode & OTHERS:
        wanted = "700" if stat.S_ISDIR(found.st_mode) else "600"
        yield _open(error, "Other users of this machine can reach the hub's private files.", path, mode, wanted)


def _owner(path: Path, found: os.stat_result) -> Iterator[Finding]:
    if found.st_uid != os.geteuid():
        yield error(
            f"It belongs to another user ({found.st_uid}), and this one ({os.geteuid()}) runs the hub.",
            str(path),
            f"sudo chown -R {os.geteuid()} {path}",
        )


def _open(tell: Callable[..., Finding], text: str, path: Path, mode: int, wanted: str) -> Finding:
    """Return findings about a path that others can access; `wanted` is the mode for chmod."""
    return tell(text, f"{path} (mode {mode:o})", f"chmod {wanted} {path}", partial(_narrow, path))


def _narrow(path: Path) -> None:
    """Remove all rights of group and others."""
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)


PERMISSIONS = Check("permissions", "Files are private to their owner", _look)
