"""Reads a skill from an untrusted ZIP file, within bounds; paths that lead out of it are refused. Pure.

An archive can be made to take long: it is read in a separate process (`hub.security.outside_reader`).
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from pathlib import PurePosixPath

from hub.core.errors import HubError
from hub.security.jail_path import components, folded_name
from hub.skills.folder import FILE_LIMIT_BYTES, FILES_LIMIT, TOTAL_LIMIT_BYTES
from hub.skills.skill_file import FILE_LIMIT_BYTES as TEXT_LIMIT_BYTES, FILE_NAME, SkillInvalid

ARCHIVE_LIMIT_BYTES = 16 * 1024 * 1024
ENTRIES_LIMIT = 5_000
"""Files of the whole archive, such as a repository with one skill in it."""

_ENCRYPTED = 0x1
_START = b"PK\x03\x04"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DEVICES = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?", re.IGNORECASE)


def read_skill_data(data: bytes, path: str | None = None) -> tuple[str, dict[str, bytes]]:
    """Return the folder name of a skill, and its files.

    Args:
        data: A ZIP file, or the text of a SKILL.md.
        path: The folder in the archive, when it holds several skills.

    Raises:
        SkillInvalid: It is neither, or the archive is refused.
    """
    if data.startswith(_START):
        return read_archive(data, path)
    if len(data) > TEXT_LIMIT_BYTES or not data.lstrip(b"\xef\xbb\xbf").startswith(b"---"):
        raise SkillInvalid(f"this is neither a ZIP file nor a {FILE_NAME}")
    return "", {FILE_NAME: data}


def read_archive(data: bytes, path: str | None = None) -> tuple[str, dict[str, bytes]]:
    """Return the folder name of a skill, and its files.

    Args:
        data: A ZIP file.
        path: The folder in it, when it holds several skills.

    Raises:
        SkillInvalid: It is not a ZIP file, passes a bound, holds a symlink or a name that leads out, or not one skill.
    """
    if len(data) > ARCHIVE_LIMIT_BYTES:
        raise SkillInvalid(f"the archive is larger than {ARCHIVE_LIMIT_BYTES} bytes")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = _entries(archive)
            folder = _folder(entries, path)
            prefix = f"{folder}/" if folder else ""
            chosen = {name[len(prefix) :]: each for name, each in entries.items() if name.startswith(prefix)}
            return PurePosixPath(folder).name, _contents(archive, _plainly_named(chosen))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        raise SkillInvalid(f"the archive cannot be read: {error}") from error


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files by their paths; names are judged before anything is read."""
    found: dict[str, zipfile.ZipInfo] = {}
    folded: set[str] = set()
    infos = archive.infolist()
    if len(infos) > ENTRIES_LIMIT:
        raise SkillInvalid(f"the archive holds more than {ENTRIES_LIMIT} files")
    for info in infos:
        written = info.orig_filename
        if "\\" in written or "\0" in written or ":" in written.split("/", 1)[0]:
            raise SkillInvalid(f"the archive holds the name {written[:100]!r}, which may lead out of it")
        try:
            path = "/".join(components(written))
        except HubError as error:
            raise SkillInvalid(f"the archive holds a name that leads out of it: {error.message}") from error
        mode = info.external_attr >> 16
        if info.is_dir() and not stat.S_ISLNK(mode):
            continue
        if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            kind = "symlink" if stat.S_ISLNK(mode) else "special file"
            raise SkillInvalid(f"the archive holds a {kind}: {path}; a skill is made of plain files")
        if info.flag_bits & _ENCRYPTED:
            raise SkillInvalid(f"the archive is encrypted ({path}), so it cannot be checked")
        key = folded_name(path)
        if key in folded:
            raise SkillInvalid(f"the archive holds {path} twice")
        folded.add(key)
        found[path] = info
    return found


def _folder(entries: dict[str, zipfile.ZipInfo], path: str | None) -> str:
    """Return the folder of the skill: the named one, or the only one."""
    holders = {str(PurePosixPath(name).parent) for name in entries if PurePosixPath(name).name == FILE_NAME}
    folders = sorted("" if each == "." else each for each in holders)
    if not folders:
        raise SkillInvalid(f"there is no {FILE_NAME} in it")
    if path is None:
        # What lies within a skill is a part of it.
        outer = [each for each in folders if not any(each != other and _within(each, other) for other in folders)]
        if len(outer) == 1:
            return outer[0]
        raise SkillInvalid(f"it holds several skills; choose one by its path: {', '.join(outer[:30])}")
    wanted = path.strip("/")
    fitting = [each for each in folders if each == wanted or each.endswith(f"/{wanted}")]
    if len(fitting) != 1:
        raise SkillInvalid(f"there is no skill at {wanted[:100]!r}; there are: {', '.join(folders[:30])}")
    return fitting[0]


def _within(inner: str, outer: str) -> bool:
    return outer == "" or inner.startswith(f"{outer}/")


def _plainly_named(chosen: dict[str, zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the files without hidden ones, such as a repository's metadata, which no skill needs."""
    found: dict[str, zipfile.ZipInfo] = {}
    for path, info in chosen.items():
        names = path.split("/")
        if any(name.startswith(".") for name in names):
            continue
        for name in names:
            if not _NAME.fullmatch(name) or name.endswith(".") or _DEVICES.fullmatch(name):
                raise SkillInvalid(
                    f"the archive holds the name {ascii(name)[1:-1]:.100}; names in a skill are made of A-Z, a-z, 0-9, "
                    "dot, hyphen and underscore, and begin with neither a dot nor a hyphen"
                )
        found[path] = info
    return found


def _contents(archive: zipfile.ZipFile, chosen: dict[str, zipfile.ZipInfo]) -> dict[str, bytes]:
    if len(chosen) > FILES_LIMIT:
        raise SkillInvalid(f"the skill holds more than {FILES_LIMIT} files")
    found: dict[str, bytes] = {}
    left = TOTAL_LIMIT_BYTES
    for path, info in chosen.items():
        limit = min(left, FILE_LIMIT_BYTES)
        with archive.open(info) as file:  # what an entry says of its size may be wrong: it is read up to the bound
            data = file.read(limit + 1)
        if len(data) > limit:
            raise SkillInvalid(f"{path} is too large, or the skill is larger than {TOTAL_LIMIT_BYTES} bytes in all")
        left -= len(data)
        found[path] = data
    return found
