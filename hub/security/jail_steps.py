"""The single steps of the path jail: each relative to the descriptor of a directory, none through a symlink."""

from __future__ import annotations

import errno
import os
import stat

from hub.security.jail_path import PathRefused

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_directory(parent: int, name: str, rel: str) -> int:
    """Open a directory by its name in another, never through a symlink."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            found = stat_at(parent, name)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise PathRefused(rel, f"{name} is a symlink, and those are not followed here") from error
        raise explain(error, rel) from error


def stat_at(parent: int, name: str) -> os.stat_result | None:
    """Return the status of a name, not following a symlink; None if it does not exist."""
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def refuse_special(found: os.stat_result, rel: str) -> None:
    """Refuse anything but a plain file."""
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", rel)
    if stat.S_ISLNK(found.st_mode):
        raise PathRefused(rel, "it is a symlink, and those are not followed here")
    raise PathRefused(rel, "it is not a plain file (a device, pipe or socket)")


def explain(error: OSError, rel: str) -> Exception:
    """Return the error for an `OSError` at `rel`."""
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return PathRefused(rel, "it is a symlink, and those are not followed here")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return PathRefused(rel, "it is not a plain file (a device, pipe or socket)")
    return OSError(error.errno, error.strerror or "failed", rel)


def missing(rel: str) -> FileNotFoundError:
    """Return the error for a path that does not exist, or not in this view."""
    return FileNotFoundError(errno.ENOENT, "there is no such file or directory", rel)


def unlink_quietly(parent: int, name: str) -> None:
    """Delete a file that may be gone already."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return
