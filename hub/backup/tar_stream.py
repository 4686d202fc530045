"""A tar file as a stream: written so that every tar program reads it, read so strictly that only such files pass.

Reading takes plain files and their long names, and nothing else: a link, a device, a sparse file or a name that leads
out ends it before that file is written.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct

from hub.backup.errors import BackupDamaged, BackupRefused
from hub.security.jail_path import PathRefused, components

BLOCK = 512
END = bytes(2 * BLOCK)
NAMES_LIMIT_BYTES = 65_536
"""Of the extended header of one file, which holds a long name."""
READ_BYTES = 1_048_576
_KINDS = {b"1": "a hard link", b"2": "a symlink", b"3": "a device", b"4": "a device", b"5": "a folder", b"6": "a pipe"}
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=]{1,100})=")


class Source(Protocol):
    """The stream that an archive is read from."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes; empty at the end."""
        ...


class TarMember(Struct, frozen=True):
    """One file of an archive; its contents follow in the stream."""

    path: str
    size: int
    mode: int
    mtime: int


def head_of(member: TarMember) -> bytes:
    """Return the header blocks of a file."""
    info = tarfile.TarInfo(member.path)
    info.size, info.mode, info.mtime = member.size, member.mode, member.mtime
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def padding(size: int) -> bytes:
    """Return the padding of the last block after `size` bytes."""
    return bytes(-size % BLOCK)


class TarReader:
    """Reads the files of an archive one after another.

    Args:
        source: The archive, at its beginning.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = 0
        self._padding = 0
        self._seen: set[str] = set()

    def members(self) -> Iterator[TarMember]:
        """Yield each file; its contents must be read before the next one, unread ones are skipped.

        Raises:
            BackupRefused: It holds something else than plain files with safe names.
            BackupDamaged: It cannot be read, or ends early.
        """
        extended: dict[str, bytes] = {}
        while True:
            for _ in self.contents():
                pass
            self._exactly(self._padding)
            self._padding = 0
            block = self._exactly(BLOCK)
            if block == bytes(BLOCK):
                return
            kind, size = _judged(block)
            if kind == b"x":
                if size > NAMES_LIMIT_BYTES:
                    raise BackupRefused("the archive holds a name that is too long")
                extended = _records(self._exactly(size))
                self._exactly(-size % BLOCK)
                continue
            yield self._member(block, size, extended)
            extended = {}

    def contents(self) -> Iterator[bytes]:
        """Yield the contents of the present file."""
        while self._left:
            piece = self._source.read(min(self._left, READ_BYTES))
            if not piece:
                raise BackupDamaged("the archive ends in the middle of a file")
            self._left -= len(piece)
            yield piece

    def finish(self) -> None:
        """Read the padding of the archive after its last file, so that its checksum is checked too.

        Raises:
            BackupRefused: Something else follows.
        """
        filled = 0
        while piece := self._source.read(READ_BYTES):
            filled += len(piece)
            if filled > READ_BYTES or piece.strip(b"\0"):
                raise BackupRefused("there is data after the end of the archive")

    def _member(self, block: bytes, size: int, extended: dict[str, bytes]) -> TarMember:
        name = extended.get("path") or _plain_name(block)
        size = _whole(extended["size"]) if "size" in extended else size
        try:
            path = "/".join(components(name.decode()))
        except (UnicodeDecodeError, PathRefused) as error:
            told = error.message if isinstance(error, PathRefused) else "a name is not UTF-8"
            raise BackupRefused(f"the archive holds a name that leads out of the home: {told}") from None
        if not path or path in self._seen:
            raise BackupRefused(
                f"the archive holds {path[:100]!r} twice" if path else "the archive holds a file without a name"
            )
        self._seen.add(path)
        self._left, self._padding = size, -size % BLOCK
        mtime = extended.get("mtime", b"").partition(b".")[0]
        return TarMember(path, size, _octal(block[100:108]) & 0o777, _whole(mtime) if mtime else _octal(block[136:148]))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (more := self._source.read(size - len(data))):
            data += more
        if len(data) < size:
            raise BackupDamaged("the archive ends early")
        return data


def _judged(block: bytes) -> tuple[bytes, int]:
    """Return kind and size of a header."""
    told = _octal(block[148:156])
    if block[257:262] != b"ustar" or told != sum(block[:148]) + 8 * 32 + sum(block[156:]):
        raise BackupDamaged("the archive is damaged: a header does not fit its checksum")
    kind = block[156:157]
    if kind not in (b"0", b"x"):
        what = _KINDS.get(kind, f"an entry of the kind {kind!r}")
        raise BackupRefused(f"the archive holds {what} ({_plain_name(block)[:100]!r}); a backup holds plain files only")
    return kind, _octal(block[124:136])


def _plain_name(block: bytes) -> bytes:
    name, prefix = block[:100].rstrip(b"\0"), block[345:500].rstrip(b"\0")
    return prefix + b"/" + name if prefix else name


def _octal(field: bytes) -> int:
    """Read a number; a size beyond 8 GiB is in the extended header."""
    text = field.strip(b" \0")
    try:
        return int(text, 8) if text else 0
    except ValueError:
        raise BackupDamaged("the archive is damaged: a header holds an invalid number") from None


def _whole(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise BackupDamaged("the archive is damaged: a header holds an invalid number")
    return int(text)


def _records(data: bytes) -> dict[str, bytes]:
    """Read the records of an extended header, of which only name, size and time are used."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        match = _RECORD.match(data, at)
        end = at + int(match[1]) if match else 0
        if match is None or not match.end() < end <= len(data) or data[end - 1 : end] != b"\n":
            raise BackupDamaged("the archive is damaged: an extended header cannot be read")
        key = match[2].decode("utf-8", "replace")
        if key not in ("path", "size", "mtime"):
            raise BackupRefused(f"the archive holds a file with {key[:60]!r}, which backups do not use")
        found[key] = data[match.end() : end - 1]
        at = end
    return found
