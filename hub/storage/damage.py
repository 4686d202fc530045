"""Recovery of a damaged database: it is set aside under a telling name, and readable rows are saved.

The damaged file is never changed. What can be read is copied into a fresh database first, and only then do the two
change places, so that a crash in between leaves either the old state or the new one.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field

from hub.core.durable import sync_directory, write_new
from hub.storage.connection import PAGE_BYTES, create, decode_text
from hub.storage.errors import is_damage
from hub.storage.schema_version import Migration, migrate, schema_version

_log = logging.getLogger(__name__)

MAGIC = b"SQLite format 3\x00"
CHECK_LIMIT_BYTES = 32 * 1024 * 1024
"""Files up to this size are checked at each start; larger ones only when something was amiss."""
WHOLE_CHECK_LIMIT_BYTES = 8 * 1024 * 1024
"""Up to this size, the indexes are checked against the rows too; it takes 3 ms for each MB."""
KINDS_LIMIT = 8
"""Kinds of databases of which the empty one is kept, packed to a few kilobytes."""
_made: dict[tuple[Migration, ...], bytes] = {}
_SIDE_FILES = ("-wal", "-shm", "-journal")

UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged database raises; a message that quotes a damaged schema cannot be decoded."""


class Damage(Struct, frozen=True):
    """A database that was found damaged.

    Attributes:
        path: The path of the database.
        set_aside: The path of the damaged file now.
        reason: The damage found.
        saved_rows: Rows that were read from it into the new database, by table.
        incomplete: Tables of which some rows could not be read.
    """

    path: Path
    set_aside: Path
    reason: str
    saved_rows: dict[str, int] = field(default_factory=dict)
    incomplete: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What happened and what to do, for people."""
        rows = sum(self.saved_rows.values())
        lost = f" Some rows of {', '.join(self.incomplete)} could not be read." if self.incomplete else ""
        return (
            f"{self.path.name} was damaged ({self.reason}). It was kept as {self.set_aside.name}, and {rows} rows that "
            f"could be read are in the new {self.path.name}.{lost} Look at the disk; restore a backup if something is "
            f"missing, and delete {self.set_aside.name} when you no longer need it."
        )


def suspect_mark(path: Path) -> Path:
    """Return the file that, while it exists, asks for a full check of the database at the next start."""
    return path.with_name(f"{path.name}.suspect")


def finish_interrupted(path: Path) -> None:
    """Clean up after a crash during the creation or replacement of a database."""
    saved = _saved(path)
    if saved.exists() and not path.exists():
        os.replace(saved, path)
        sync_directory(path.parent)
    for leftover in (saved, _beside(path, "new"), _beside(path, "saving")):
        _remove_with_sides(leftover)
    if not path.exists():
        _set_aside_orphaned_log(path)


def make_new(path: Path, migrations: Sequence[Migration]) -> None:
    """Make a fresh database at `path`, atomically.

    The second of a kind is a copy of the first, as it was made: the statements of all migrations take 15 ms.
    """
    new = _beside(path, "new")
    kind = tuple(migrations)
    if kind in _made:
        write_new(new, zlib.decompress(_made[kind]))
    else:
        connection = create(new)
        try:
            migrate(connection, migrations, path)
        finally:
            connection.close()
        if len(_made) < KINDS_LIMIT:
            _made[kind] = zlib.compress(new.read_bytes(), 1)
    os.replace(new, path)
    sync_directory(path.parent)


def find_damage(connection: sqlite3.Connection, path: Path, *, limit_bytes: int = CHECK_LIMIT_BYTES) -> str | None:
    """Check the database's pages if it is small enough or suspect; return the damage, or None."""
    mark = suspect_mark(path)
    suspect, size_bytes = mark.exists(), path.stat().st_size
    if size_bytes > limit_bytes and not suspect:
        return None
    check = "integrity_check" if suspect or size_bytes <= WHOLE_CHECK_LIMIT_BYTES else "quick_check"
    try:
        found = [str(row[0]) for row in connection.execute(f"PRAGMA {check}(5)")]
    except sqlite3.Error as error:
        if is_damage(error):
            return str(error)
        raise
    if found == ["ok"]:
        mark.unlink(missing_ok=True)
        return None
    return "; ".join(line.strip().replace("\n", " ") for line in found)[:500]


def is_foreign(path: Path) -> str | None:
    """Return why the file cannot be a database at all, or None if its first bytes are right."""
    size = path.stat().st_size
    if size == 0:
        return "the file is empty"
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
    return None if head == MAGIC else "it does not begin like a database"


def replace_damaged(path: Path, migrations: Sequence[Migration], reason: str, *, save_rows: bool = True) -> Damage:
    """Save readable rows into a new database, set the damaged file aside, and replace it with the new one.

    Args:
        save_rows: False for a disposable database: the new one is empty, and of the files set aside the last is kept.

    Raises:
        OSError, sqlite3.Error: There is no room or no permission for it; the damaged file is where it was.
    """
    saving = _beside(path, "saving")
    if save_rows:
        version, rows, incomplete = _save_rows(path, saving, migrations)
    else:
        version, rows, incomplete = len(migrations), {}, ()
        make_new(saving, migrations)
        for old in damaged_copies(path):
            _remove_with_sides(old)
    _log.error("%s is damaged (%s); %d rows of schema version %d were saved", path, reason, sum(rows.values()), version)
    saved = _saved(path)
    os.replace(saving, saved)
    sync_directory(path.parent)
    aside = _aside_name(path)
    os.replace(path, aside)
    for suffix in _SIDE_FILES:
        side = Path(f"{path}{suffix}")
        if side.exists():
            os.replace(side, f"{aside}{suffix}")
    os.replace(saved, path)
    sync_directory(path.parent)
    suspect_mark(path).unlink(missing_ok=True)
    damage = Damage(path, aside, reason, rows, incomplete)
    _log.error("%s", damage.text)
    return damage


def damaged_copies(path: Path) -> list[Path]:
    """Return the damaged files that were set aside beside the database, oldest first."""
    names = path.parent.glob(f"{path.name}.damaged-*")
    return sorted(each for each in names if not each.name.endswith(_SIDE_FILES))


def _save_rows(
    path: Path, target: Path, migrations: Sequence[Migration]
) -> tuple[int, dict[str, int], tuple[str, ...]]:
    """Make a database at `target` with every row of the damaged one that can be read."""
    copy = _beside(path, "copy")
    _remove_with_sides(copy)
    shutil.copyfile(path, copy)
    os.chmod(copy, 0o600)
    wal = Path(f"{path}-wal")
    if wal.exists():
        shutil.copyfile(wal, f"{copy}-wal")
    rows: dict[str, int] = {}
    incomplete: list[str] = []
    try:
        _mend_header(copy)
        source = sqlite3.connect(copy, isolation_level=None)
        source.text_factory = decode_text
        try:
            version = min(max(_version_of(source, len(migrations)), 1), len(migrations))
            new = create(target)
            try:
                migrate(new, migrations[:version], path)
                new.execute("BEGIN IMMEDIATE")
                for table, columns in _tables(new).items():
                    count, whole = _copy_table(source, new, table, columns)
                    rows[table] = count
                    if not whole:
                        incomplete.append(table)
                new.execute("COMMIT")
            finally:
                new.close()
        finally:
            source.close()
    finally:
        _remove_with_sides(copy)
    return version, rows, tuple(incomplete)


def _mend_header(copy: Path) -> None:
    """Restore the header fields that are the same in all our files, so that a flipped bit does not hide the rows."""
    size = copy.stat().st_size
    if size < PAGE_BYTES:
        return
    with copy.open("r+b") as file:
        head = bytearray(file.read(100))
        head[0:16] = MAGIC
        head[16:24] = struct.pack(">HBBBBBB", PAGE_BYTES, 2, 2, 0, 64, 32, 32)
        head[28:32] = struct.pack(">I", size // PAGE_BYTES)
        head[32:40] = bytes(8)  # the free list is of no use to a reader
        head[44:56] = struct.pack(">III", 4, 0, 0)
        head[56:60] = struct.pack(">I", 1)
        head[64:68] = bytes(4)
        head[92:96] = head[24:28]
        file.seek(0)
        file.write(head)


def _version_of(source: sqlite3.Connection, known: int) -> int:
    try:
        return schema_version(source, known)
    except UNREADABLE:
        return 0


def _tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    names = [str(row[0]) for row in connection.execute(query)]
    return {name: [str(row[1]) for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in names}


def _copy_table(
    source: sqlite3.Connection, new: sqlite3.Connection, table: str, columns: list[str]
) -> tuple[int, bool]:
    """Copy the readable rows of a table, from its beginning and, past a damaged page, from its end."""
    names = ", ".join(f'"{column}"' for column in columns)
    marks = ", ".join("?" for _ in columns)
    insert = f'INSERT OR IGNORE INTO "{table}"({names}) VALUES({marks})'
    whole = True
    copied = 0
    for order in ("ASC", "DESC"):
        try:
            query = f'SELECT {names} FROM "{table}" NOT INDEXED ORDER BY rowid {order}'  # noqa: S608
            for row in source.execute(query):
                try:
                    copied += new.execute(insert, row).rowcount
                except sqlite3.IntegrityError:
                    whole = False
            return copied, whole
        except UNREADABLE as error:
            _log.info("reading the damaged table %s (%s) ended early: %s", table, order, error)
            whole = False
    return copied, whole


def _set_aside_orphaned_log(path: Path) -> None:
    """Set aside a log without its database, which would be replayed onto a new one."""
    aside = _aside_name(path)
    for suffix in _SIDE_FILES:
        side = Path(f"{path}{suffix}")
        if side.exists():
            os.replace(side, f"{aside}{suffix}")
            _log.error("%s had no database beside it and was kept as %s%s", side, aside.name, suffix)


def _aside_name(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    candidate, number = path.with_name(f"{path.name}.damaged-{stamp}"), 1
    while candidate.exists() or Path(f"{candidate}-wal").exists():
        number += 1
        candidate = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    return candidate


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}.{what}")


def _saved(path: Path) -> Path:
    return _beside(path, "saved")


def _remove_with_sides(path: Path) -> None:
    for suffix in ("", *_SIDE_FILES):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
