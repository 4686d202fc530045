"""The history of the configuration: each file as it was before the hub changed it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from msgspec import Struct, to_builtins

from hub.config.bounds import FILE_SIZE_LIMIT_BYTES
from hub.config.files import PRIVATE_FOLDER, SECRETS_FILE, content_hash
from hub.core.errors import Forbidden, NotFound
from hub.security.root import Root
from hub.storage.file_history import FileHistory, HistoryEntry

FOLDER = f"{PRIVATE_FOLDER}/config_history"
KEPT_PER_FILE = 50
DIFF_LINE_LIMIT = 5_000

PAGE, COMMAND, FILE, APP = "page", "command", "file", "app"
"""How a file was changed: on a page of the dashboard, by a command, by hand, by a program of others."""

_TIME = "%Y%m%dT%H%M%S%fZ"
_VERSION = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{12}(?:-[a-z]+(?:\.[a-z0-9_-]{1,64})?)?")
_changing: ContextVar[str] = ContextVar("changing", default="")


@contextmanager
def changed_by(who: str) -> Iterator[None]:
    """Note who changes files in what is called: `page`, `command`, `app`, or one of them with a person, `page.ada`."""
    token = _changing.set(who)
    try:
        yield
    finally:
        _changing.reset(token)


def who_changes() -> str:
    """Return who changes files now; empty when nobody said so, which is the hub itself."""
    return _changing.get()


class ConfigVersion(Struct, frozen=True):
    """An earlier version of a file.

    Attributes:
        file: Name relative to the home directory.
        id: `<time>-<hash>[-<by>]`, by which it is asked for.
        time: When it was replaced, ISO 8601 in UTC.
        hash: First twelve digits of its content's hash.
        size_bytes: Its size.
        by: Who replaced it, see `changed_by`; empty for the hub itself.
    """

    file: str
    id: str
    time: str
    hash: str
    size_bytes: int
    by: str = ""

    def as_dict(self) -> dict[str, str | int]:
        """The version as plain data."""
        plain: dict[str, str | int] = to_builtins(self)
        return plain


class ConfigHistory:
    """Keeps the last fifty versions of each file.

    Args:
        root: The home directory.
        now: Seconds since the epoch.
    """

    def __init__(self, root: Root, now: Callable[[], float]) -> None:
        self._root = root
        self._now = now

    def keep(self, file: str, data: bytes, by: str | None = None) -> ConfigVersion | None:
        """Keep a file's present content before it is replaced; None if the newest version is the same.

        Args:
            by: Who replaces it; without it, whoever `changed_by` says.
        """
        versions = self.versions(file)
        digest = content_hash(data)[:12]
        if versions and versions[0].hash == digest:
            return None
        by = who_changes() if by is None else by
        moment = datetime.fromtimestamp(self._now(), UTC)
        version_id = f"{moment:{_TIME}}-{digest}" + (f"-{by}" if by else "")
        history = self._of(file)
        history.write(version_id, data)
        history.prune()
        return _version(file, HistoryEntry(version_id, len(data)))

    def versions(self, file: str) -> list[ConfigVersion]:
        """Return the kept versions of a file, the newest first."""
        return [_version(file, entry) for entry in self._of(file).entries()]

    def read(self, file: str, version_id: str) -> bytes:
        """Return the content of a version.

        Raises:
            NotFound: There is no such version.
        """
        data = self._of(file).read(version_id, FILE_SIZE_LIMIT_BYTES)
        if data is None:
            raise NotFound(f"there is no version {version_id!r} of {file}")
        return data

    def diff(self, file: str, version_id: str, current: bytes) -> str:
        """Return what changed from a version to now, as a unified diff of at most 5 000 lines.

        Raises:
            NotFound: There is no such version.
            Forbidden: It is the file of secrets, which is not compared.
        """
        if file == SECRETS_FILE:
            raise Forbidden(f"versions of {SECRETS_FILE} are not shown side by side")
        old = self.read(file, version_id).decode("utf-8", "replace").splitlines(keepends=True)
        new = current.decode("utf-8", "replace").splitlines(keepends=True)
        lines = list(difflib.unified_diff(old, new, f"{file} ({version_id})", file))[:DIFF_LINE_LIMIT]
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def _of(self, file: str) -> FileHistory:
        return FileHistory(self._root.path / FOLDER / file, _VERSION, KEPT_PER_FILE)


def _version(file: str, entry: HistoryEntry) -> ConfigVersion:
    time, digest, by = (*entry.id.split("-", 2), "")[:3]
    moment = datetime.strptime(time, _TIME).replace(tzinfo=UTC)
    return ConfigVersion(file, entry.id, moment.isoformat(), digest, entry.size_bytes, by)
