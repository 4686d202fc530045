"""Carries the small files of a home between its folder and the table of its database, unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.document_table import FOLDERS, OF_INTEGRATIONS, PUT, is_document, load
from hub.storage.files import FILES
from hub.storage.homedir import Home
from hub.storage.moving import READ_LIMIT_S, MoveFailed

TABLE = "documents"


async def files_into_documents(home: Home, db: Database) -> int:
    """Write every small file into the table, which is empty, in the order in which they were written; return how many.

    Raises:
        MoveFailed: What arrived differs.
        OSError: The disk cannot be read.
    """
    found = await asyncio.to_thread(_read_files, home)
    for version, (name, data) in enumerate(found.items(), 1):
        await db.write(partial(_put, name=name, version=version, data=data))
    if (await db.read(load, limit_s=READ_LIMIT_S))[0] != found:
        raise MoveFailed("not every small file of .storage arrived. The home stays where it was; report this.")
    return len(found)


async def documents_into_files(home: Home, db: Database) -> int:
    """Write every row of the table as a file, in place of what lies there; return how many.

    Files that have no row any more, as they were deleted meanwhile, are deleted.

    Raises:
        MoveFailed: What arrived differs.
        StorageError, OSError: The disk cannot be written.
    """
    found, _ = await db.read(load, limit_s=READ_LIMIT_S)
    await asyncio.to_thread(_write_files, home, found)
    if await asyncio.to_thread(_read_files, home) != found:
        raise MoveFailed(
            f"the small files in {home.storage} do not hold what was written. The home stays where it was; look at "
            "the disk."
        )
    return len(found)


def _read_files(home: Home) -> dict[str, bytes]:
    paths = sorted(_files(home), key=lambda path: (path.stat().st_mtime_ns, path))
    return {path.relative_to(home.storage).as_posix(): path.read_bytes() for path in paths}


def _write_files(home: Home, found: dict[str, bytes]) -> None:
    for path in list(_files(home)):
        if path.relative_to(home.storage).as_posix() not in found:
            path.unlink()
    for name, data in found.items():
        FILES.write(home.storage / name, data)


def _files(home: Home) -> Iterator[Path]:
    for pattern in ("*", *(f"{folder}/*" for folder in FOLDERS), f"{OF_INTEGRATIONS}/*/*"):
        for path in home.storage.glob(pattern):
            if is_document(path.relative_to(home.storage).as_posix()) and path.is_file():
                yield path


def _put(connection: SqlConnection, name: str, version: int, data: bytes) -> None:
    connection.execute(PUT, (name, version, data))
