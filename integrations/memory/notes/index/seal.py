"""A checksum over an engine's files, written when it lets go of them and checked when they are opened again."""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from integrations.memory.notes.index.contract import IndexDamaged

BLOCK_BYTES = 1 << 20
MAX_SEAL_BYTES = 16 << 20


class Seal:
    """Says whether files are what they were when they were closed; without one (a crash) nothing is said.

    It is lifted before the first change and put on again at the end, so that one that is there always holds.

    Args:
        path: Where it is kept.
        covered: Returns the files it holds for, all below the directory of `path`.
    """

    def __init__(self, path: Path, covered: Callable[[], Iterable[Path]]) -> None:
        self._path = path
        self._covered = covered

    def holds(self) -> bool:
        """Whether there is one and it holds; False when there is none.

        Raises:
            IndexDamaged: There is one and a file is missing, or is not what was written.
        """
        try:
            with self._path.open("rb") as file:
                text = file.read(MAX_SEAL_BYTES)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise IndexDamaged(f"{self._path} cannot be read: {error}") from error
        for name, (size_bytes, crc) in self._parsed(text).items():
            path = self._path.parent / name
            try:
                found = (path.stat().st_size, checksum(path))
            except OSError as error:
                raise IndexDamaged(f"{path} cannot be read: {error}") from error
            if found != (size_bytes, crc):
                raise IndexDamaged(f"{path} is not what was written.")
        return True

    def lift(self) -> None:
        """Take it off, before files change.

        Raises:
            OSError: It cannot be taken off.
        """
        self._path.unlink(missing_ok=True)

    def put(self) -> None:
        """Put it on; on a disk that has no room left there is none, and the next opening looks closer."""
        with contextlib.suppress(OSError):
            names = {
                path.relative_to(self._path.parent).as_posix(): (path.stat().st_size, checksum(path))
                for path in self._covered()
            }
            beside = self._path.with_name(f"{self._path.name}.new")
            beside.write_text(json.dumps(names), encoding="utf-8")
            beside.replace(self._path)

    def _parsed(self, text: bytes) -> Mapping[str, tuple[int, int]]:
        try:
            return {str(name): (int(size), int(crc)) for name, (size, crc) in json.loads(text).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise IndexDamaged(f"{self._path} is not what was written.") from error


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file."""
    crc = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES):
            crc = zlib.crc32(block, crc)
    return crc
