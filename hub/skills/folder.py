"""The files of a skill or an integration: read and written together, within bounds, and identified by one hash."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from hub.core.durable import sync_directory, write_new
from hub.core.errors import Conflict, HubError
from hub.security.root import Root
from hub.skills.skill_file import SkillInvalid
from hub.storage.errors import from_os

FILES_LIMIT = 300
FILE_LIMIT_BYTES = 2 * 1024 * 1024
TOTAL_LIMIT_BYTES = 10 * 1024 * 1024

FileFacts = tuple[str, int, int, int, int]
"""Path, mode, size, nanoseconds of the last change, inode."""


def read_folder(folder: Path, *, left_out: str = "") -> dict[str, bytes]:
    """Return every file of a folder by its path.

    Args:
        left_out: Folders of this name are left out, wherever they are.

    Raises:
        SkillInvalid: It holds a symlink, a special file or too much, or cannot be read.
    """
    root = Root(folder)
    found: dict[str, bytes] = {}
    left = TOTAL_LIMIT_BYTES
    try:
        if folder.is_symlink():
            raise SkillInvalid(f"the folder {folder.name} is a symlink; put the folder itself there")
        for entry in root.walk(limit=2 * FILES_LIMIT + 1):
            if entry.is_dir or (left_out and left_out in entry.path.split("/")):
                continue
            if not entry.is_file:
                raise SkillInvalid(f"{entry.path} is a {entry.kind.value}; expected plain files")
            found[entry.path] = data = root.read_bytes(entry.path, min(left, FILE_LIMIT_BYTES))
            left -= len(data)
            if len(found) > FILES_LIMIT:
                raise SkillInvalid(f"it holds more than {FILES_LIMIT} files")
    except SkillInvalid:
        raise
    except HubError as error:
        raise SkillInvalid(error.message) from error
    except OSError as error:
        raise SkillInvalid(f"{folder.name} cannot be read: {error.strerror or error}") from error
    return found


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the hash of all files with their paths."""
    total = sha256()
    for path in sorted(files):
        name = path.encode()
        total.update(len(name).to_bytes(4, "big") + name + sha256(files[path]).digest())
    return total.hexdigest()


def facts_of(folder: Path) -> tuple[FileFacts, ...]:
    """Return file facts that reveal a change of a folder without reading its files."""
    found: list[FileFacts] = []
    waiting = [str(folder)]
    while waiting and len(found) <= 2 * FILES_LIMIT:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.path, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino))
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
        except OSError:
            continue
    return tuple(sorted(found))


def put_folder(target: Path, files: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write a folder beside its place, then move it there; no file is executable.

    Raises:
        Conflict: There is one with that name, and it may not be replaced.
        StorageError: It cannot be written.
    """
    if target.exists() and not overwrite:
        raise Conflict(f"there is one called {target.name} already; replace it or choose another")
    fresh = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    try:
        for path, data in files.items():
            file = fresh / path
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_new(str(file), data, 0o600)
        old = _set_aside(target)
        try:
            os.rename(fresh, target)
        except OSError:
            if old is not None:
                os.rename(old, target)
            raise
        sync_directory(target.parent)
        if old is not None:
            _delete(old)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise from_os(error, target, "installing it") from error


def has_files(folder: Path, files: Mapping[str, bytes], *, left_out: str = "") -> bool:
    """Whether a folder holds these files and no others."""
    try:
        return digest_of(read_folder(folder, left_out=left_out)) == digest_of(files)
    except SkillInvalid:
        return False


def discard_folder(folder: Path) -> None:
    """Delete a folder: at once for readers, then its files."""
    if (aside := _set_aside(folder)) is not None:
        _delete(aside)


def _set_aside(folder: Path) -> Path | None:
    """Rename an existing folder to a hidden name (of a symlink, the link); return it, or None if there is none."""
    if not os.path.lexists(folder):
        return None
    aside = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    os.rename(folder, aside)
    return aside


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
