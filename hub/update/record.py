"""The version that a home runs, and how far an update of it is: a small file that is read before anything else.

Standard library only: each command of `homarus` reads it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from hub import __version__
from hub.core.durable import sync_directory, write_new

FILE = "update.json"
"""In `.storage`."""
VERSIONS = "versions"
"""In the environment that Homarus was installed into: a folder for each further version."""
WHOLE = "whole"
"""In the folder of a version, once it is prepared."""
EXIT_AGAIN = 75
"""The exit code of a hub that is to be started again: in the version of the record, or as another hub has its home."""
LAUNCHER = "HOMARUS_LAUNCHER"
"""The variable by which a version on trial knows the process that watches it."""

_VERSION = re.compile(r"(\d{1,6}(?:\.\d{1,6}){1,3})(?:(a|b|rc)(\d{1,6}))?")
_FINAL = "z"


class UpdateState(StrEnum):
    """How far an update is."""

    READY = "ready"
    """The new version is prepared, and the next start begins with it."""
    TRYING = "trying"
    """It runs, and may be taken back."""
    KEPT = "kept"
    BACK = "back"
    """It was worse, and the version before runs again."""


@dataclass(frozen=True, slots=True)
class UpdateRecord:
    """An update of a home.

    Attributes:
        version, previous: The new version, and the one before.
        starts: How often the new one was started on trial.
        why: Why it was taken back; empty unless it was.
        begun_ms: Milliseconds since the epoch.
        backup: The name of the backup that was made before.
        recovery: Whether the hub was in recovery mode before.
        problems: The repairs that were open before, each by source and id.
    """

    version: str
    previous: str
    state: UpdateState
    starts: int = 0
    why: str = ""
    begun_ms: int = 0
    backup: str = ""
    recovery: bool = False
    problems: tuple[str, ...] = ()

    @property
    def runs(self) -> str:
        """The version that is to run."""
        return self.previous if self.state in (UpdateState.READY, UpdateState.BACK) else self.version


def read_record(home: Path) -> UpdateRecord | None:
    """Return the record of a home directory; None when it was never updated, or it cannot be read."""
    try:
        stored: dict[str, Any] = json.loads((home / ".storage" / FILE).read_bytes())
        known = {each.name for each in fields(UpdateRecord)}
        found = UpdateRecord(**{key: value for key, value in stored.items() if key in known})
        if not (is_version(found.version) and is_version(found.previous)):
            return None
        problems = tuple(str(each) for each in found.problems)
        return UpdateRecord(**{**asdict(found), "state": UpdateState(found.state), "problems": problems})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def write_record(home: Path, record: UpdateRecord) -> None:
    """Replace the record of a home directory; it is on the disk when this returns.

    Raises:
        OSError: It could not be written; the old one is untouched.
    """
    target = home / ".storage" / FILE
    new = target.with_name(f".homarus-{FILE}.{os.getpid()}")
    with suppress(FileNotFoundError):
        new.unlink()
    write_new(new, json.dumps(asdict(record)).encode())
    os.replace(new, target)
    sync_directory(target.parent)


def is_version(text: object) -> bool:
    """Whether a text is a version such as 0.2.1 or 1.0rc1; nothing else becomes part of a path."""
    return isinstance(text, str) and _VERSION.fullmatch(text) is not None


def version_order(version: str) -> tuple[tuple[int, ...], str, int]:
    """Return what a version is compared by.

    Raises:
        ValueError: It is not one.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ValueError(f"{version!r} is not a version such as 0.2.1")
    numbers = [int(each) for each in found[1].split(".")]
    while len(numbers) < 4:
        numbers.append(0)
    return tuple(numbers), found[2] or _FINAL, int(found[3] or 0)


def base_environment() -> Path:
    """Return the environment that Homarus was installed into, also in a process of a later version."""
    prefix = Path(sys.prefix)
    is_later = prefix.name == ".venv" and prefix.parents[1].name == VERSIONS
    return prefix.parents[2] if is_later else prefix


def version_folder(base: Path, version: str) -> Path:
    """Return the folder of a later version."""
    return base / VERSIONS / version


def python_in(folder: Path) -> Path:
    """Return the Python of a version in its folder."""
    return folder / ".venv/bin/python"


def python_of(base: Path, version: str) -> Path | None:
    """Return the Python that runs a version; None for the base environment's own, and for one that is not there."""
    folder = version_folder(base, version)
    if not (is_version(version) and (folder / WHOLE).exists()) or version_order(version) <= version_order(__version__):
        return None  # whoever put a later version into the base environment has decided
    return python_in(folder) if python_in(folder).exists() else None
