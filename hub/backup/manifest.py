"""The description of an archive: a head that is read before anything else, and the list of its files at the end."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from hub.backup.contents import LeftOut
from hub.backup.errors import BackupRefused, NewerBackup
from hub.core.slugs import slugify

FORMAT = 1
HEAD_PATH = "homarus-backup.json"
MANIFEST_PATH = "homarus-manifest.json"
HEAD_LIMIT_BYTES = 65_536
MANIFEST_LIMIT_BYTES = 256 * 1024 * 1024

_NAME = re.compile(
    r"homarus-(?P<home>[a-z0-9_]{1,60})-(?P<stamp>[0-9]{8}T[0-9]{6}Z)(?P<again>-[0-9]{1,3})?\.tar\.gz(?P<age>\.age)?"
)
_STAMP = "%Y%m%dT%H%M%SZ"


class BackupHead(Struct, frozen=True):
    """The first file of an archive.

    Attributes:
        format: The format of the archive.
        program: The version of Homarus that made it.
        schemas: The schema version of each database.
        made_ms: When, milliseconds since the epoch.
        home: The home's name.
        files, size_bytes: The files and bytes found for copying.
        counts: Conversations, people and other numbers by which a person recognises the home.
    """

    format: int
    program: str
    schemas: dict[str, int]
    made_ms: int
    home: str
    files: int
    size_bytes: int
    counts: dict[str, int]


class ArchivedFile(Struct, frozen=True):
    """One file of an archive as the manifest lists it."""

    path: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True):
    """The last file of an archive: all others with their hashes, and what was left out."""

    files: list[ArchivedFile]
    left_out: list[LeftOut]


class BackupName(Struct, frozen=True):
    """The parsed name of an archive.

    Attributes:
        home: The name of its home, as a slug.
        again: Which of several of one second it is.
    """

    name: str
    home: str
    made_ms: int
    encrypted: bool
    again: int = 0

    @property
    def order(self) -> tuple[int, int]:
        """Sorts by when they were made."""
        return self.made_ms, self.again


def file_name(home: str, made_ms: int, *, encrypted: bool, again: int = 0) -> str:
    """Return the name of an archive; `again` tells several of one second apart."""
    stamp = datetime.fromtimestamp(made_ms // 1000, UTC).strftime(_STAMP)
    return f"homarus-{home_slug(home)}-{stamp}{f'-{again}' if again else ''}.tar.gz{'.age' if encrypted else ''}"


def home_slug(home: str) -> str:
    """Return a home's name as used in names of archives."""
    return slugify(home)[:60].strip("_") or "home"


def parse_name(name: str) -> BackupName | None:
    """Return the parsed name of an archive, None for other files."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    try:
        made = datetime.strptime(found["stamp"], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    again = int((found["again"] or "-0")[1:])
    return BackupName(name, found["home"], int(made.timestamp() * 1000), found["age"] is not None, again)


def read_head(data: bytes, program: str, schemas: dict[str, int]) -> BackupHead:
    """Read the head of an archive.

    Args:
        program: The version of this Homarus.
        schemas: The newest schema version that it knows of each database.

    Raises:
        NewerBackup: It was made by a newer one.
        BackupRefused: It is not a head.
    """
    try:
        told = msgspec.json.decode(data, type=dict[str, object])
        if isinstance(told.get("format"), int) and int(str(told["format"])) > FORMAT:
            raise NewerBackup(
                f"the backup has format {told['format']}, and this version of Homarus knows {FORMAT} at most; "
                "update Homarus, then restore it"
            )
        head = msgspec.json.decode(data, type=BackupHead)
    except ValueError as error:
        raise BackupRefused(f"this is not a backup of Homarus: its head cannot be read ({error})") from error
    newer = [name for name, version in head.schemas.items() if version > schemas.get(name, version)]
    if newer or _number(head.program) > _number(program):
        raise NewerBackup(
            f"the backup was made by Homarus {head.program}, which is newer than this one ({program}); "
            "update Homarus, then restore it. Nothing was changed.",
            details={"made_by": head.program, "here": program, "schemas": newer},
        )
    return head


def _number(version: str) -> tuple[int, ...]:
    """Return the numbers a version begins with."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(each) for each in found[0].split(".")) if found else ()
