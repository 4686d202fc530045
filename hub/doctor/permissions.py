"""Check that no other user of this machine can read or change the home directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, error, warning
from hub.storage.homedir import Home

OTHERS = 0o077
OTHERS_WRITE = 0o022
WALK_LIMIT = 20_000


class Exposed(Struct, frozen=True):
    """A file or folder that others on this machine can get at.

    Attributes:
        part: home, secrets, configuration, code, or storage.
        what: What they can do.
        wanted: The mode it should have, for chmod.
        grave: Whether they can change what the hub obeys, or read what is secret.
    """

    part: str
    path: Path
    mode: int
    what: str
    wanted: str
    grave: bool = True


def _look(context: CheckContext) -> Iterator[Finding]:
    home = context.home
    for path in (home.path, *_tops(home).values()):
        yield from _owner(path)
    for each in find_exposed(home):
        tell = error if each.grave else warning
        where, command = f"{each.path} (mode {each.mode:o})", f"chmod {each.wanted} {each.path}"
        yield tell(each.what, where, command, partial(narrow, each.path))
    for path, found in _stored(home.storage):
        yield from _owner(path)
        if stat.S_ISDIR(found.st_mode) and not os.access(path, os.R_OK | os.X_OK):
            yield error("This directory cannot be read: its mode forbids it.", str(path))


def find_exposed(home: Home) -> Iterator[Exposed]:
    """Return what others on this machine can get at: the home, what the hub obeys in it, and all that it stores."""
    mode = stat.S_IMODE(home.path.stat().st_mode)
    if mode & OTHERS_WRITE:
        text = "Other users of this machine can change what is in the home directory."
        yield Exposed("home", home.path, mode, text, "700")
    elif mode & OTHERS:
        text = "Other users of this machine can look into the home directory."
        yield Exposed("home", home.path, mode, text, "700", grave=False)
    for part, path in _tops(home).items():
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            continue
        if part == "secrets" and mode & OTHERS:
            yield Exposed(part, path, mode, "Other users of this machine can reach the secrets file.", "600")
        elif mode & OTHERS_WRITE:
            yield Exposed(part, path, mode, "Other users can change it, and the hub obeys it.", "go-w")
    for path, found in _stored(home.storage):
        if (mode := stat.S_IMODE(found.st_mode)) & OTHERS:
            wanted = "700" if stat.S_ISDIR(found.st_mode) else "600"
            yield Exposed(
                "storage", path, mode, "Other users of this machine can reach the hub's private files.", wanted
            )


def narrow(path: Path) -> None:
    """Remove all rights of group and others."""
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)


def _tops(home: Home) -> dict[str, Path]:
    return {"secrets": home.secrets, "configuration": home.configuration, "code": home.custom_integrations}


def _stored(storage: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Return everything the hub stores for itself, as far as it can be read; links are not followed.

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
        yield folder, found
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except PermissionError:
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
                yield Path(entry.path), entry.stat(follow_symlinks=False)


def _owner(path: Path) -> Iterator[Finding]:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if found.st_uid != os.geteuid():
        yield error(
            f"It belongs to another user ({found.st_uid}), and this one ({os.geteuid()}) runs the hub.",
            str(path),
            f"sudo chown -R {os.geteuid()} {path}",
        )


PERMISSIONS = Check("permissions", "Files are private to their owner", _look)
