"""The small files of a home as rows of its database, so that whoever takes the home over has them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from hub.core.errors import LimitExceeded, Unavailable
from hub.core.sql import SqlConnection, upsert
from hub.storage.database import Database

TOP = frozenset(
    {
        *("agent_secrets.json", "helpers.json", "home_page.json", "home_registry.json", "hooks.json"),
        *("ignored_repairs.json", "integrations.json", "model_credentials.json", "notifications.json", "skills.json"),
        "voicewake.json",
    }
)
"""Those that lie in `.storage` itself."""
FOLDERS = frozenset({"feeds", "pages"})
"""Folders of `.storage` in which all are documents."""
OF_INTEGRATIONS = "integrations"
MADE_AGAIN = frozenset({"provides.json"})
"""Those of integrations that stay files: they are made again, and read where no hub runs."""
SELECT = "SELECT name, data FROM documents ORDER BY version"
PUT = upsert("documents", "name, version, data")


def is_document(name: str) -> bool:
    """Return whether a file of `.storage`, or what was kept beside it, is one that the database holds.

    Args:
        name: Its path there, with `/`.
    """
    *folders, last = name.split("/")
    stem, dot, _ = last.partition(".json")
    base = f"{stem}{dot}"
    if not dot or last.endswith(".lock") or last.startswith("."):
        return False
    if not folders:
        return base in TOP
    if len(folders) == 1:
        return folders[0] in FOLDERS
    return len(folders) == 2 and folders[0] == OF_INTEGRATIONS and base not in MADE_AGAIN


class DocumentTable:
    """The small files of a home in its database; see `Documents`.

    All of them are held in memory, as only the owner of a home changes them: they are read while the server is away.
    A row's version says in which order documents were written.

    Args:
        folder: The `.storage` in which they would be.
        db: The hub database.
        kept: What is in it, where that was read already.
    """

    def __init__(self, folder: Path, db: Database, kept: dict[str, bytes] | None = None) -> None:
        self._folder = folder
        self._db = db
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        """That of the event loop."""
        self._kept = kept
        """In the order in which they were written."""
        self._version = 0

    async def open(self) -> None:
        """Load the documents, once the database is open."""
        self._kept, self._version = await self._db.read(load)
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    def read(self, path: Path, limit_bytes: int) -> bytes:
        """Return the contents of a document."""
        data = self._all().get(self._name(path))
        if data is None:
            raise FileNotFoundError(2, "there is no such document", str(path))
        if len(data) > limit_bytes:
            raise LimitExceeded(f"{path} is larger than {limit_bytes} bytes and was not read")
        return data

    def write(self, path: Path, data: bytes) -> None:
        """Replace a document."""
        self._settle(self._put(self._name(path), data))

    def exists(self, path: Path) -> bool:
        """Return whether there is such a document."""
        return self._name(path) in self._all()

    def rename(self, path: Path, target: Path) -> None:
        """Give a document another name."""
        self._settle(self._rename(self._name(path), self._name(target)))

    def prune(self, folder: Path, limit: int) -> None:
        """Delete the documents of a folder that were written longest ago."""
        start = f"{folder.relative_to(self._folder).as_posix()}/"
        there = [name for name in tuple(self._all()) if name.startswith(start)]
        if old := there[: max(0, len(there) - limit)]:
            self._settle(self._delete(old))

    def _name(self, path: Path) -> str:
        name = path.relative_to(self._folder).as_posix()
        if not is_document(name):
            raise RuntimeError(f"{name} is not among the documents that a move of the home carries; name it there")
        return name

    def _all(self) -> dict[str, bytes]:
        if self._kept is None:
            raise Unavailable("the small files of the home are in the hub database, which is not open yet")
        return self._kept

    def _settle(self, change: Coroutine[Any, Any, None]) -> None:
        """Have the event loop make a change, and wait for it in this thread."""
        try:
            if self._loop is None:
                raise Unavailable("the small files of the home are in the hub database, and only its hub changes them")
            if threading.get_ident() == self._thread:
                raise RuntimeError("documents are written in a thread, as the event loop must not wait for them")
            done = asyncio.run_coroutine_threadsafe(change, self._loop)
        except BaseException:
            change.close()
            raise
        done.result()

    # --- below: in the event loop, so that what is in memory changes in the order of the rows ---

    async def _put(self, name: str, data: bytes) -> None:
        self._version += 1
        version = self._version
        await self._db.write(lambda connection: connection.execute(PUT, (name, version, data)).rowcount)
        kept = self._all()
        kept.pop(name, None)
        kept[name] = data

    async def _rename(self, name: str, target: str) -> None:
        await self._db.write(partial(_rename, name=name, target=target))
        kept = self._all()
        kept[target] = kept.pop(name)

    async def _delete(self, names: list[str]) -> None:
        await self._db.write(partial(_delete, names=names))
        for name in names:
            self._all().pop(name, None)


def load(connection: SqlConnection) -> tuple[dict[str, bytes], int]:
    """Return all documents in the order in which they were written, and the latest version."""
    kept = {str(name): bytes(data) for name, data in connection.execute(SELECT).fetchall()}
    version = connection.execute("SELECT coalesce(max(version), 0) FROM documents").fetchone()
    return kept, int(version[0])


def _rename(connection: SqlConnection, name: str, target: str) -> None:
    connection.execute("DELETE FROM documents WHERE name = ?", (target,))
    connection.execute("UPDATE documents SET name = ? WHERE name = ?", (target, name))


def _delete(connection: SqlConnection, names: list[str]) -> None:
    connection.executemany("DELETE FROM documents WHERE name = ?", [(name,) for name in names])
