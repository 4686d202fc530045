"""Reads a skill or an integration from an untrusted archive, within bounds; paths that lead out are refused. Pure.

An archive can be made to take long: it is read in a separate process (`hub.security.outside_reader`).
"""

from __future__ import annotations

import io
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import PurePosixPath
from typing import IO, Any

from msgspec import Struct

from hub.core.errors import HubError
from hub.security.jail_path import components, folded_name
from hub.skills.folder import FILE_LIMIT_BYTES, FILES_LIMIT, TOTAL_LIMIT_BYTES
from hub.skills.skill_file import FILE_LIMIT_BYTES as TEXT_LIMIT_BYTES, FILE_NAME, SkillInvalid

ARCHIVE_LIMIT_BYTES = 16 * 1024 * 1024
ENTRIES_LIMIT = 5_000
"""Files of the whole archive, such as a repository with one skill in it."""
TAR_LIMIT_BYTES = 64 * 1024 * 1024
"""Of a tar file, once its compression is undone."""

_ENCRYPTED = 0x1
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DEVICES = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?", re.IGNORECASE)


def read_skill_data(data: bytes, path: str | None = None) -> tuple[str, dict[str, bytes]]:
    """Return the folder name of a skill, and its files.

    Args:
        data: A ZIP file, a tar file packed by gzip, or the text of a SKILL.md.
        path: The folder in the archive, when it holds several skills.

    Raises:
        SkillInvalid: It is none of those, or the archive is refused.
    """
    if data.startswith((_ZIP, _GZIP)):
        return read_archive(data, path)
    if len(data) > TEXT_LIMIT_BYTES or not data.lstrip(b"\xef\xbb\xbf").startswith(b"---"):
        raise SkillInvalid(f"this is neither a ZIP file nor a {FILE_NAME}")
    return "", {FILE_NAME: data}


def read_archive(data: bytes, path: str | None = None, marker: str = FILE_NAME) -> tuple[str, dict[str, bytes]]:
    """Return the name of the folder that a file marks as a skill or an integration, and its files.

    Args:
        data: A ZIP file, or a tar file packed by gzip.
        path: The folder in it, when it holds several.
        marker: The file that each of them has.

    Raises:
        SkillInvalid: It is no such archive, passes a bound, holds a link or a name that leads out, or not one of them.
    """
    if len(data) > ARCHIVE_LIMIT_BYTES:
        raise SkillInvalid(f"the archive is larger than {ARCHIVE_LIMIT_BYTES} bytes")
    try:
        if data.startswith(_GZIP):
            with tarfile.open(fileobj=io.BytesIO(_inflated(data)), mode="r:") as tar:
                return _chosen(_tar_members(tar), tar.extractfile, path, marker)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _chosen(_zip_members(archive), archive.open, path, marker)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        raise SkillInvalid(f"the archive cannot be read: {error}") from error


class _Member(Struct, frozen=True):
    """An entry of an archive: its name as written, why it is refused (empty if it is not), and its head."""

    name: str
    refused: str
    head: Any


def _inflated(data: bytes) -> bytes:
    plain = zlib.decompressobj(wbits=31).decompress(data, TAR_LIMIT_BYTES + 1)
    if len(plain) > TAR_LIMIT_BYTES:
        raise SkillInvalid(f"the archive is larger than {TAR_LIMIT_BYTES} bytes once it is unpacked")
    return plain


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        mode = info.external_attr >> 16
        if info.is_dir() and not stat.S_ISLNK(mode):
            continue
        refused = ""
        if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            refused = "a symlink" if stat.S_ISLNK(mode) else "a special file"
        elif info.flag_bits & _ENCRYPTED:
            refused = "an encrypted file"
        yield _Member(info.orig_filename, refused, info)


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Member]:
    for info in archive:
        if info.isdir():
            continue
        is_link = info.issym() or info.islnk()
        refused = "" if info.isreg() else "a symlink" if is_link else "a special file"
        yield _Member(info.name.removeprefix("./"), refused, info)


def _chosen(
    members: Iterator[_Member], open_: Callable[[Any], IO[bytes] | None], path: str | None, marker: str
) -> tuple[str, dict[str, bytes]]:
    entries = _entries(members)
    folder = _folder(entries, path, marker)
    prefix = f"{folder}/" if folder else ""
    chosen = {name[len(prefix) :]: each for name, each in entries.items() if name.startswith(prefix)}
    return PurePosixPath(folder).name, _contents(open_, _plainly_named(chosen))


def _entries(members: Iterator[_Member]) -> dict[str, Any]:
    """Return the heads of the files by their paths; names are judged before anything is read."""
    found: dict[str, Any] = {}
    folded: set[str] = set()
    for member in islice(members, ENTRIES_LIMIT + 1):
        written = member.name
        if "\\" in written or "\0" in written or ":" in written.split("/", 1)[0]:
            raise SkillInvalid(f"the archive holds the name {written[:100]!r}, which may lead out of it")
        try:
            path = "/".join(components(written))
        except HubError as error:
            raise SkillInvalid(f"the archive holds a name that leads out of it: {error.message}") from error
        if member.refused:
            raise SkillInvalid(f"the archive holds {member.refused}: {path}; expected plain files that can be read")
        key = folded_name(path)
        if key in folded:
            raise SkillInvalid(f"the archive holds {path} twice")
        folded.add(key)
        found[path] = member.head
    if len(found) > ENTRIES_LIMIT:
        raise SkillInvalid(f"the archive holds more than {ENTRIES_LIMIT} files")
    return found


def _folder(entries: Mapping[str, Any], path: str | None, marker: str) -> str:
    """Return the folder that is marked: the named one, or the only one."""
    what = "skill" if marker == FILE_NAME else "integration"
    holders = {str(PurePosixPath(name).parent) for name in entries if PurePosixPath(name).name == marker}
    folders = sorted("" if each == "." else each for each in holders)
    if not folders:
        raise SkillInvalid(f"there is no {marker} in it")
    if path is None:
        # What lies within one is a part of it.
        outer = [each for each in folders if not any(each != other and _within(each, other) for other in folders)]
        if len(outer) == 1:
            return outer[0]
        raise SkillInvalid(f"it holds several {what}s; choose one by its path: {', '.join(outer[:30])}")
    wanted = path.strip("/")
    fitting = [each for each in folders if each == wanted or each.endswith(f"/{wanted}")]
    if len(fitting) != 1:
        raise SkillInvalid(f"there is no {what} at {wanted[:100]!r}; there are: {', '.join(folders[:30])}")
    return fitting[0]


def _within(inner: str, outer: str) -> bool:
    return outer == "" or inner.startswith(f"{outer}/")


def _plainly_named(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files without hidden ones, such as a repository's metadata, which nothing here needs."""
    found: dict[str, Any] = {}
    for path, info in chosen.items():
        names = path.split("/")
        if any(name.startswith(".") for name in names):
            continue
        for name in names:
            if not _NAME.fullmatch(name) or name.endswith(".") or _DEVICES.fullmatch(name):
                raise SkillInvalid(
                    f"the archive holds the name {ascii(name)[1:-1]:.100}; names are made of A-Z, a-z, 0-9, "
                    "dot, hyphen and underscore, and begin with neither a dot nor a hyphen"
                )
        found[path] = info
    return found


def _contents(open_: Callable[[Any], IO[bytes] | None], chosen: Mapping[str, Any]) -> dict[str, bytes]:
    if len(chosen) > FILES_LIMIT:
        raise SkillInvalid(f"it holds more than {FILES_LIMIT} files")
    found: dict[str, bytes] = {}
    left = TOTAL_LIMIT_BYTES
    for path, info in chosen.items():
        limit = min(left, FILE_LIMIT_BYTES)
        with open_(info) or io.BytesIO() as file:  # an entry's size may be wrong: it is read up to the bound
            data = file.read(limit + 1)
        if len(data) > limit:
            raise SkillInvalid(f"{path} is too large, or it is larger than {TOTAL_LIMIT_BYTES} bytes in all")
        left -= len(data)
        found[path] = data
    return found
