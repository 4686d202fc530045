"""Pending work for sleeping nodes: commands to run when they connect, and requests they fetch themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hub.core.errors import LimitExceeded
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.storage.database import Database

LIMIT_PER_NODE = 64
LIFE_MS = 86_400_000
BYTES_LIMIT = 65_536
HIGH = "high"
COMMAND = "command"


class NodeWork(Struct, frozen=True):
    """One piece of pending work.

    Attributes:
        type: `command`, `status.request` or `location.request`.
        priority: high | normal.
        data: Of a command: `command`, `params`, and `foreground` when the node itself collects it.
    """

    id: str
    node_id: str
    type: str
    priority: str
    data: dict[str, Any]
    created_ms: int
    expires_ms: int

    def as_item(self) -> dict[str, Any]:
        """Return it in the protocol's shape."""
        return {
            "id": self.id,
            "type": self.type,
            "priority": self.priority,
            "createdAtMs": self.created_ms,
            "expiresAtMs": self.expires_ms,
        }

    def as_action(self) -> dict[str, Any]:
        """Return a command in the protocol's shape for the node that fetches it."""
        params = msgspec.json.encode(self.data.get("params", {})).decode()
        return {
            "id": self.id,
            "command": self.data.get("command"),
            "paramsJSON": params,
            "enqueuedAtMs": self.created_ms,
        }


class PendingWork:
    """Keeps pending work in the hub database, with a copy in memory for reading.

    Args:
        wall_time: Seconds since the epoch.
        db: The hub database; without one nothing outlives the process.
    """

    def __init__(self, wall_time: Callable[[], float], db: Database | None = None) -> None:
        self._wall_time = wall_time
        self._db = db
        self._items: dict[str, NodeWork] = {}
        self.revision = 0

    async def open(self) -> None:
        """Load what is stored."""
        if self._db is not None:
            rows = await self._db.read(lambda conn: conn.execute("SELECT data FROM node_work").fetchall())
            found = [msgspec.json.decode(data, type=NodeWork) for (data,) in rows]
            self._items = {item.id: item for item in found}

    def of(self, node_id: str, *types: str) -> list[NodeWork]:
        """Return a node's pending work, urgent first, then oldest."""
        self._expire()
        found = [each for each in self._items.values() if each.node_id == node_id and (not types or each.type in types)]
        return sorted(found, key=lambda each: (each.priority != HIGH, each.created_ms))

    async def add(
        self,
        node_id: str,
        type: str,
        data: Mapping[str, Any] | None = None,
        *,
        priority: str = "normal",
        life_ms: int = LIFE_MS,
    ) -> NodeWork:
        """Add pending work; stored when this returns.

        Raises:
            LimitExceeded: Its queue is full, or the item is too large.
        """
        if len(self.of(node_id)) >= LIMIT_PER_NODE:
            raise LimitExceeded(f"{LIMIT_PER_NODE} items wait for this node already")
        now = int(self._wall_time() * 1000)
        item = NodeWork(new_id(), node_id, type, priority, dict(data or {}), now, now + life_ms)
        encoded = msgspec.json.encode(item).decode()
        if len(encoded) > BYTES_LIMIT:
            raise LimitExceeded(f"this is too large to keep for a disconnected node: over {BYTES_LIMIT} bytes")
        self._items[item.id] = item
        self.revision += 1
        if self._db is not None:
            await self._db.write(lambda conn: _insert(conn, (item.id, node_id, encoded)))
        return item

    async def remove(self, node_id: str, ids: Iterable[str]) -> list[str]:
        """Remove finished work; return what existed of it."""
        gone = [id for id in ids if id in self._items and self._items[id].node_id == node_id]
        for id in gone:
            del self._items[id]
        if gone:
            self.revision += 1
            await self._delete(gone)
        return gone

    async def forget(self, node_id: str) -> None:
        """Remove all pending work of a node."""
        await self.remove(node_id, [each.id for each in self.of(node_id)])

    async def _delete(self, ids: list[str]) -> None:
        if self._db is not None:
            await self._db.write(lambda conn: _remove(conn, ids))

    def _expire(self) -> None:
        now = int(self._wall_time() * 1000)
        old = [id for id, each in self._items.items() if each.expires_ms <= now]
        for id in old:
            del self._items[id]
        if old and self._db is not None:
            self._db.post(lambda conn: _remove(conn, old))


def _insert(connection: SqlConnection, row: tuple[str, str, str]) -> None:
    connection.execute("INSERT INTO node_work(id, node_id, data) VALUES(?, ?, ?)", row)


def _remove(connection: SqlConnection, ids: list[str]) -> None:
    connection.executemany("DELETE FROM node_work WHERE id = ?", [(id,) for id in ids])
