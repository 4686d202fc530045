"""The records of all known nodes: name, declared commands, and approved commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from hub.core.errors import LimitExceeded
from hub.core.sql import SqlConnection
from hub.storage.database import Database

NODES_LIMIT = 2_000


class SurfaceRequest(Struct, frozen=True):
    """Commands that a node declares and nobody has approved yet."""

    id: str
    commands: tuple[str, ...]
    caps: tuple[str, ...]
    asked_ms: int


class NodeRecord(Struct, frozen=True):
    """A node that has connected at least once.

    Attributes:
        name: Its own name.
        label: A person's name for it; takes precedence over `name`.
        platform: `ios`, `linux`, …
        about: Further facts: `version`, `clientId`, `deviceFamily`, `modelIdentifier`, …
        transport: The transport of its last connection.
        commands: The approved ones.
        approved_ms: The time of its approval; None for never.
        request: Commands that wait for approval.
        skills, tools: Its last offer.
    """

    id: str
    name: str
    platform: str
    created_ms: int
    label: str | None = None
    about: dict[str, Any] = field(default_factory=dict)
    permissions: dict[str, bool] = field(default_factory=dict)
    transport: str = ""
    caps: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    approved_ms: int | None = None
    request: SurfaceRequest | None = None
    connected_ms: int | None = None
    seen_ms: int | None = None
    seen_reason: str = "connect"

    @property
    def title(self) -> str:
        """The name for people."""
        return self.label or self.name

    @property
    def approval(self) -> str:
        """The state of its approval, in the protocol's terms."""
        if self.request is not None:
            return "pending-approval" if self.approved_ms is None else "pending-reapproval"
        return "unapproved" if self.approved_ms is None else "approved"


class NodeRecords:
    """Keeps the records in the hub database, with a copy in memory for reading.

    Args:
        db: The hub database; without one nothing outlives the process.
    """

    def __init__(self, db: Database | None = None) -> None:
        self._db = db
        self._records: dict[str, NodeRecord] = {}

    async def open(self) -> None:
        """Load what is stored."""
        if self._db is None:
            return
        rows = await self._db.read(lambda conn: conn.execute("SELECT data FROM nodes").fetchall())
        for (data,) in rows:
            record = msgspec.json.decode(data, type=NodeRecord)
            self._records[record.id] = record

    def all(self) -> list[NodeRecord]:
        """Return all records, by id."""
        return [self._records[id] for id in sorted(self._records)]

    def get(self, id: str) -> NodeRecord | None:
        """Return a record, or None."""
        return self._records.get(id)

    def by_request(self, request_id: str) -> NodeRecord | None:
        """Return the record with this pending request."""
        return next((each for each in self._records.values() if each.request and each.request.id == request_id), None)

    def put(self, record: NodeRecord) -> NodeRecord:
        """Store a record; written with a delay.

        Raises:
            LimitExceeded: There are too many.
        """
        if record.id not in self._records and len(self._records) >= NODES_LIMIT:
            raise LimitExceeded(f"{NODES_LIMIT} nodes are known already; remove some: homarus nodes list")
        self._records[record.id] = record
        if self._db is not None:
            row = (record.id, msgspec.json.encode(record).decode())
            self._db.post(lambda conn: _write(conn, row))
        return record

    def remove(self, id: str) -> bool:
        """Forget a node; return whether it was known."""
        if self._records.pop(id, None) is None:
            return False
        if self._db is not None:
            self._db.post(lambda conn: conn.execute("DELETE FROM nodes WHERE id = ?", (id,)))
        return True

    def find(self, given: str) -> NodeRecord | None:
        """Return the single node of this id, name, or id prefix; None for none or several."""
        if (record := self._records.get(given)) is not None:
            return record
        found = [each for each in self._records.values() if each.title.casefold() == given.casefold()]
        found = found or [each for each in self._records.values() if len(given) >= 6 and each.id.startswith(given)]
        return found[0] if len(found) == 1 else None


def _write(connection: SqlConnection, row: tuple[str, str]) -> None:
    connection.execute(
        "INSERT INTO nodes(id, data) VALUES(?, ?) ON CONFLICT(id) DO UPDATE SET data = excluded.data", row
    )


def node_data(
    record: NodeRecord, effective: Iterable[str], extra: Mapping[str, Any], *, connected: bool
) -> dict[str, Any]:
    """Return a node as the protocol lists it.

    Args:
        effective: The commands it may be asked now.
        extra: Further facts while it is connected.
    """
    request = record.request
    listed: dict[str, Any] = {
        **record.about,
        "nodeId": record.id,
        "displayName": record.title,
        "platform": record.platform,
        "transport": record.transport,
        "caps": sorted(record.caps) if record.approved_ms is not None else [],
        "commands": sorted(effective),
        "permissions": record.permissions,
        "sessionHost": False,
        "nodePluginTools": [],
        "approvalState": record.approval,
        "connectedAtMs": record.connected_ms if connected else None,
        "lastConnectedAtMs": record.connected_ms,
        "lastSeenAtMs": record.seen_ms,
        "lastSeenReason": record.seen_reason,
        "approvedAtMs": record.approved_ms,
        "paired": True,
        "connected": connected,
        **extra,
    }
    if request is not None:
        listed |= {
            "pendingRequestId": request.id,
            "pendingDeclaredCaps": list(request.caps),
            "pendingDeclaredCommands": list(request.commands),
        }
    return {key: value for key, value in listed.items() if value is not None}
