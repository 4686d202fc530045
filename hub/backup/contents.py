"""The files of a home that a backup holds, and those that it leaves out, and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from hub.security.jail_path import is_safe_name
from hub.storage.damage import MAGIC
from hub.storage.homedir import Home

FOLDER = "backups"
"""Where backups lie in a home, unless another folder is configured."""
STORAGE = ".storage"
HUB_DB, HISTORY_DB = f"{STORAGE}/hub.db", f"{STORAGE}/history.db"
OWN = frozenset({"backup", "backup.lock", "backup.json", "restore"})
"""What backups themselves keep in `.storage`; none of it is in one, and a restore leaves it."""
AUDIT = "audit"
"""The audit log in `.storage`: it is in every backup, and one that goes on stays through a restore."""
RUNTIME = frozenset({"hub.lock", "hub.db.owner", "run", "update.json"})
REPLACED = "replaced-"
"""How the folder in `.storage` begins that holds the home from before a restore."""

_REBUILT = frozenset({f"{STORAGE}/memory", f"{STORAGE}/conversations.db", f"{STORAGE}/voice"})
_CACHES = frozenset(
    {"__pycache__", ".cache", "Cache", "Code Cache", "GPUCache", "ShaderCache", "GrShaderCache", "GraphiteDawnCache"}
)
SIDES = ("-wal", "-shm", "-journal")
_SET_ASIDE = (".damaged-", ".db.version-", ".json.version-")
_TEMPORARY = ".homarus-"


class Why(StrEnum):
    """Reasons for which something is not in a backup."""

    REBUILT = "rebuilt"
    """An index or a cache, which is made again, or what is fetched again: the models that hear and speak."""
    RUNTIME = "runtime"
    """It belongs to the running process or to backups themselves, which goes without saying."""
    SET_ASIDE = "set_aside"
    """A damaged file or an old copy that was kept beside the one in use."""
    LINK = "link"
    """A symlink further down; one directly in the home is followed."""
    SPECIAL = "special"
    """A socket, a pipe or a device."""
    NAME = "name"
    """A name that no restore would accept."""
    UNREADABLE = "unreadable"
    GONE = "gone"
    """It was deleted while the backup was made."""
    CHOSEN = "chosen"
    """The configuration leaves it out."""
    ELSEWHERE = "elsewhere"
    """The rows of the home, which are in the database that `storage:` names, and not in a file."""


class Kind(StrEnum):
    """The ways to copy a file."""

    FILE = "file"
    DATABASE = "database"
    TRANSCRIPT = "transcript"


class LeftOut(Struct, frozen=True):
    """Something that is not in a backup: a file, or a folder with all in it."""

    path: str
    why: Why


class HomeFile(Struct, frozen=True):
    """A file that a backup holds.

    Attributes:
        path: Relative to the home, with `/`.
        size: Bytes when it was found.
    """

    path: str
    kind: Kind
    size: int


def files_of(home: Home, left_out: list[LeftOut], skipped: Collection[str]) -> Iterator[HomeFile]:
    """Yield the files of a home in a fixed order.

    Args:
        left_out: Counts files that are not in the backup.
        skipped: Paths relative to the home that are not in it: the folder of backups, a history that is not chosen.
    """
    yield from _walk(home.path, "", left_out, frozenset(skipped))


def _walk(folder: Path, prefix: str, left_out: list[LeftOut], skipped: frozenset[str]) -> Iterator[HomeFile]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda each: each.name)
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)
        left_out.append(LeftOut(prefix.rstrip("/"), Why.GONE if gone else Why.UNREADABLE))
        return
    names = {each.name for each in entries}
    for entry in entries:
        path = f"{prefix}{entry.name}"
        why = _why_not(path, entry.name, names, skipped)
        if why is not None:
            if why is not Why.RUNTIME:
                left_out.append(LeftOut(ascii(path)[1:-1] if why is Why.NAME else path, why))
            continue
        try:
            status = entry.stat(follow_symlinks=not prefix and _leads_elsewhere(entry))
        except OSError:
            left_out.append(LeftOut(path, Why.LINK if entry.is_symlink() else Why.GONE))
            continue
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(Path(entry.path), f"{path}/", left_out, skipped)
        elif stat.S_ISREG(status.st_mode):
            yield HomeFile(path, _kind(Path(entry.path), path), status.st_size)
        else:
            left_out.append(LeftOut(path, Why.LINK if stat.S_ISLNK(status.st_mode) else Why.SPECIAL))


def _leads_elsewhere(entry: os.DirEntry[str]) -> bool:
    """Whether a link in the home leads outside it and not to the home itself."""
    return Path(entry.path).resolve() not in Path(entry.path).parent.resolve().parents


def _why_not(path: str, name: str, beside: set[str], skipped: frozenset[str]) -> Why | None:
    if path in skipped:
        return Why.CHOSEN if path == HISTORY_DB else Why.RUNTIME
    if name.startswith(_TEMPORARY):
        return Why.RUNTIME
    if not is_safe_name(name):
        return Why.NAME
    if name in _CACHES:
        return Why.REBUILT
    if not path.startswith(f"{STORAGE}/"):
        return None
    top = path.split("/")[1]
    if path.count("/") == 1 and (top in OWN or top in RUNTIME or top.startswith(REPLACED)):
        return Why.RUNTIME
    base = next((name.removesuffix(each) for each in SIDES if name.endswith(each)), None)
    if base is not None and base in beside:
        return Why.RUNTIME
    if path in _REBUILT:
        return Why.REBUILT
    return Why.SET_ASIDE if any(each in name for each in _SET_ASIDE) or name.endswith(".suspect") else None


def _kind(file: Path, path: str) -> Kind:
    if not path.startswith(f"{STORAGE}/"):
        return Kind.FILE
    if path.startswith(f"{STORAGE}/agents/") and path.endswith(".jsonl"):
        return Kind.TRANSCRIPT
    try:
        with file.open("rb") as opened:
            return Kind.DATABASE if opened.read(len(MAGIC)) == MAGIC else Kind.FILE
    except OSError:
        return Kind.FILE  # whoever copies it finds out why


def path_in_home(home: Home, folder: Path) -> str | None:
    """Return the path of a folder relative to the home, None when it is elsewhere."""
    try:
        relative = folder.resolve().relative_to(home.path.resolve()).as_posix()
    except ValueError:
        return None
    return relative if relative != "." else None
