"""The files of one skill: read together, within bounds and without symlinks, and identified by one hash."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from hub.core.errors import HubError
from hub.security.root import Root
from hub.skills.skill_file import SkillInvalid

FILES_LIMIT = 300
FILE_LIMIT_BYTES = 2 * 1024 * 1024
TOTAL_LIMIT_BYTES = 10 * 1024 * 1024

FileFacts = tuple[str, int, int, int, int]
"""Path, mode, size, nanoseconds of the last change, inode."""


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return every file of a skill by its path.

    Raises:
        SkillInvalid: It holds a symlink, a special file or too much, or cannot be read.
    """
    root = Root(folder)
    found: dict[str, bytes] = {}
    left = TOTAL_LIMIT_BYTES
    try:
        if folder.is_symlink():
            raise SkillInvalid(f"the folder {folder.name} is a symlink; put the skill itself there")
        for entry in root.walk(limit=2 * FILES_LIMIT + 1):
            if entry.is_dir:
                continue
            if not entry.is_file:
                raise SkillInvalid(f"{entry.path} is a {entry.kind.value}; a skill is made of plain files")
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
