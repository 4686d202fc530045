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

FOLDER = f"{PRIVATE_FOLDER}/config_history"
KEPT_PER_FILE = 50
DIFF_LINE_LIMIT = 5_000

PAGE, COMMAND, FILE, APP = "page", "command", "file", "app"
"""How a file was changed: on a page of the dashboard, by a command, by hand, by a program of others."""

_VERSION = re.compile(r"(\d{8}T\d{6}\d{6}Z)-([0-9a-f]{12})(?:-([a-z]+(?:\.[a-z0-9_-]{1,64})?))?")
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
        moment = datetime.fromtimestamp(self._now(), UTC)
        by = who_changes() if by is None else by
        version_id = f"{moment:%Y%m%dT%H%M%S%fZ}-{digest}" + (f"-{by}" if by else "")
        self._root.write_bytes(f"{_folder(file)}/{version_id}", data, parents=True)
        for old in versions[KEPT_PER_FILE - 1 :]:
            self._root.unlink(f"{_folder(file)}/{old.id}")
        return ConfigVersion(file, version_id, moment.isoformat(), digest, len(data), by)

    def versions(self, file: str) -> list[ConfigVersion]:
        """Return the kept versions of a file, the newest first."""
        try:
            entries = self._root.scan(_folder(file))
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = []
        for entry in entries:
            match = _VERSION.fullmatch(entry.name)
            if match and entry.is_file:
                moment = datetime.strptime(match[1], "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)
                facts = (match[2], entry.size_bytes, match[3] or "")
                found.append(ConfigVersion(file, entry.name, moment.isoformat(), *facts))
        return sorted(found, key=lambda version: version.id, reverse=True)

    def read(self, file: str, version_id: str) -> bytes:
        """Return the content of a version.

        Raises:
            NotFound: There is no such version.
        """
        if not _VERSION.fullmatch(version_id):
            raise NotFound(f"there is no version {version_id!r} of {file}")
        try:
            return self._root.read_bytes(f"{_folder(file)}/{version_id}", FILE_SIZE_LIMIT_BYTES)
        except FileNotFoundError as error:
            raise NotFound(f"there is no version {version_id} of {file}") from error

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


def _folder(file: str) -> str:
    return f"{FOLDER}/{file}"
