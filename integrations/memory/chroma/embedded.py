"""Chroma in this process, its files in a directory; one process at a time."""

from __future__ import annotations

import contextlib
import errno
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import chromadb
import numpy as np
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings

from hub.memory.engine_contract import EngineUnavailable, IndexDamaged
from integrations.memory.chroma.bounded_thread import BoundedThread
from integrations.memory.chroma.collections import CONFIGURATION

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector, Vectors

DATABASE = "chroma.sqlite3"
PAGE = 20_000
SHOWN = 200
WRITE_SHARE = 5.0
"""How much longer a call that writes may take."""
_NOT_WRITTEN = re.compile(
    r"disk is full|no space|disk i/o error|file too large|read-?only|permission denied|is locked|os error 2[78]",
    re.IGNORECASE,
)
T = TypeVar("T")

_FULL = re.compile(r"disk is full|no space", re.IGNORECASE)


class EmbeddedCollections:
    """See `Collections`.

    Args:
        path: Its directory, made when it is missing.
        timeout_s: After which a call that reads is given up.

    Raises:
        EngineUnavailable: Chroma does not return.
        IndexDamaged: The content is not as written.
        OSError: Nothing can be written there.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._opened: dict[str, Any] = {}
        self._client: Any = None
        thread = f"chroma {path}"
        if BoundedThread.is_left(thread):
            raise EngineUnavailable(self._hangs)
        if path.exists():
            self._check()
        path.mkdir(parents=True, exist_ok=True)
        self._thread = BoundedThread(thread)
        try:
            self.largest_batch: int = self._told(self._open, WRITE_SHARE)
        except BaseException:
            self.close()
            raise

    def names(self) -> Mapping[str, Mapping[str, str]]:
        """Return the metadata of each collection by its name."""
        found = self._told(self._client.list_collections)
        self._opened = {str(collection.name): collection for collection in found}
        return {name: collection.metadata or {} for name, collection in self._opened.items()}

    def make(self, name: str, metadata: Mapping[str, str]) -> None:
        """Make a collection, if there is none with that name."""
        self._opened[name] = self._told(
            lambda: self._client.get_or_create_collection(
                name, metadata=dict(metadata), configuration=CONFIGURATION, embedding_function=None
            ),
            WRITE_SHARE,
        )

    def drop(self, name: str) -> None:
        """Delete a collection, if there is one with that name."""
        if self._opened.pop(name, None) is not None:
            self._told(lambda: self._client.delete_collection(name), WRITE_SHARE)

    def upsert(self, name: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors, replacing those with the same ids."""
        self._told(lambda: self._opened[name].upsert(ids=list(ids), embeddings=vectors), WRITE_SHARE)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove vectors."""
        self._told(lambda: self._opened[name].delete(ids=list(ids)), WRITE_SHARE)

    def nearest(
        self, name: str, vector: Vector, limit: int, allowed: Collection[str] | None
    ) -> list[tuple[str, float]]:
        """Return ids and cosine distances."""
        found = self._told(
            lambda: self._opened[name].query(
                query_embeddings=vector[None, :],
                n_results=limit,
                ids=None if allowed is None else list(allowed),
                include=["distances"],
            )
        )
        return list(zip(found["ids"][0], map(float, found["distances"][0]), strict=True))

    def vectors(self, name: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the vectors of those that are there."""
        found = self._told(lambda: self._opened[name].get(ids=list(ids), include=["embeddings"]))
        return dict(zip(found["ids"], np.asarray(found["embeddings"], dtype=np.float32), strict=True))

    def ids(self, name: str) -> list[str]:
        """Return all ids."""
        found: list[str] = []
        while page := self._told(partial(self._opened[name].get, limit=PAGE, offset=len(found), include=[]))["ids"]:
            found += page
        return found

    def close(self) -> None:
        """Close the store."""
        client, self._client = self._client, None
        self._opened.clear()
        # A client that hangs is left as it is: letting go of it hangs as well. Its lock goes with the process.
        if client is not None and not self._thread.is_stuck:
            with contextlib.suppress(TimeoutError):
                self._thread.call(client.close, self._timeout_s * WRITE_SHARE)
        self._thread.close()

    def _open(self) -> int:
        # Neither a .env of wherever this runs nor telemetry.
        settings = Settings(_env_file=None, anonymized_telemetry=False)
        try:
            self._client = chromadb.PersistentClient(str(self._path), settings=settings)
        except BaseException:
            # What did not start stays in its cache under this path, and would be handed out to the next that opens it.
            getattr(SharedSystemClient, "_identifier_to_system", {}).pop(str(self._path), None)
            raise
        return int(self._client.get_max_batch_size())

    def _check(self) -> None:
        """Check the database of a store; of its graphs there is nothing to check them by."""
        path = self._path / DATABASE
        if not path.exists():
            if any(each.is_file() for each in self._path.rglob("*")):
                raise IndexDamaged(f"{path} is missing.")
            return
        try:
            with contextlib.closing(sqlite3.connect(path)) as connection:
                (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as error:
            raise IndexDamaged(f"{path}: {error}") from error
        if found != "ok":
            raise IndexDamaged(f"{path}: {found}")

    @property
    def _hangs(self) -> str:
        return f"Chroma hangs on {self._path}, as it does when a disk is full. Make room, and restart the hub."

    def _told(self, work: Callable[[], T], share: float = 1.0) -> T:
        """Return the result of a call into Chroma, with its errors mapped to the contract's."""
        try:
            return self._thread.call(work, self._timeout_s * share)
        except TimeoutError as error:
            # Seen on a full disk: its writer is gone, and whoever waits for it waits for ever.
            raise EngineUnavailable(self._hangs) from error
        except OSError:
            raise
        except BaseException as error:  # a panic of its Rust parts is none of Exception
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            text = f"{self._path}: {type(error).__name__}: {str(error)[:SHOWN]}"
            if _NOT_WRITTEN.search(str(error)):
                number = errno.ENOSPC if _FULL.search(str(error)) else errno.EIO
                raise OSError(number, text) from error
            raise IndexDamaged(text) from error
