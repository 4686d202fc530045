"""Device grants and pending pairing requests, as data and as rows of the hub database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson
from msgspec import Struct

from hub.core.sql import SqlConnection


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of one device in one role.

    Attributes:
        scopes: Approved operator scopes as requested, not expanded.
        data: What the device reported about itself: platform, display name, client.
        generation: Goes into the token; higher after each rotation.
        owner: Id of the owner who let it in, on whose behalf it acts within its scopes; None if it was not an owner.
        made_by: The credentials that let it in, as `<id>@<generation>`; the grant ends with the first of them.
    """

    device_id: str
    role: str
    public_key: str
    scopes: tuple[str, ...]
    data: Mapping[str, Any]
    created_ms: int
    generation: int = 1
    last_used_ms: int | None = None
    token_hash: bytes = field(default=b"", repr=False)
    owner: str | None = None
    made_by: frozenset[str] = frozenset()

    @property
    def credential_id(self) -> str:
        """The data passed to revocation listeners."""
        return f"device:{self.row_id}"

    @property
    def link(self) -> str:
        """The reference stored with credentials made by this device."""
        return f"{self.credential_id}@{self.generation}"

    @property
    def row_id(self) -> str:
        """Key of its row."""
        return f"{self.device_id}/{self.role}"


class PairingRequest(Struct, frozen=True):
    """A device that asks to be let in.

    Attributes:
        brought_by: The credentials that came with its request: they cannot approve it themselves.
    """

    id: str
    device_id: str
    public_key: str
    role: str
    scopes: tuple[str, ...]
    data: Mapping[str, Any]
    address: str
    created_ms: int
    expires_ms: int
    brought_by: frozenset[str] = frozenset()

    def as_dict(self) -> dict[str, Any]:
        """The request as the protocol lists it."""
        return {
            "requestId": self.id,
            "deviceId": self.device_id,
            "publicKey": self.public_key,
            "role": self.role,
            "roles": [self.role],
            "scopes": list(self.scopes),
            "remoteIp": self.address,
            "ts": self.created_ms,
            "expiresAtMs": self.expires_ms,
            **self.data,
        }


def as_device(grants: Sequence[Grant], connected: bool) -> dict[str, Any]:
    """Return the grants of one device as the protocol lists it; their tokens are never in it."""
    first = grants[0]
    seen = [grant.last_used_ms for grant in grants if grant.last_used_ms is not None]
    tokens = [
        {
            "role": grant.role,
            "scopes": list(grant.scopes),
            "createdAtMs": grant.created_ms,
            "lastUsedAtMs": grant.last_used_ms,
        }
        for grant in grants
    ]
    return {
        **first.data,
        "deviceId": first.device_id,
        "publicKey": first.public_key,
        "role": first.role,
        "roles": [grant.role for grant in grants],
        "scopes": sorted({scope for grant in grants for scope in grant.scopes}),
        "createdAtMs": first.created_ms,
        "approvedAtMs": first.created_ms,
        "lastSeenAtMs": max(seen, default=None),
        "connected": connected,
        "tokens": tokens,
    }


def token_hash(plain: str) -> bytes:
    return sha256(plain.encode("utf-8", "surrogatepass")).digest()


def load_devices(connection: SqlConnection) -> tuple[list[Any], list[Any]]:
    grants = connection.execute(
        "SELECT id, public_key, data, token_hash, scopes, created_ms, last_used_ms FROM devices"
        " WHERE revoked_ms IS NULL"
    ).fetchall()
    requests = connection.execute("SELECT id, device_id, data, created_ms, expires_ms FROM device_requests").fetchall()
    return grants, requests


def store_grant(connection: SqlConnection, grant: Grant) -> None:
    stored = {
        "data": dict(grant.data),
        "generation": grant.generation,
        "owner": grant.owner,
        "made_by": sorted(grant.made_by),
    }
    data = orjson.dumps(stored).decode()
    connection.execute(
        "INSERT INTO devices(id, public_key, data, token_hash, role, scopes, created_ms, last_used_ms)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET public_key = excluded.public_key,"
        " data = excluded.data, token_hash = excluded.token_hash, role = excluded.role, scopes = excluded.scopes,"
        " created_ms = excluded.created_ms, last_used_ms = excluded.last_used_ms, revoked_ms = NULL",
        (
            grant.row_id,
            grant.public_key,
            data,
            grant.token_hash,
            grant.role,
            orjson.dumps(list(grant.scopes)).decode(),
            grant.created_ms,
            grant.last_used_ms,
        ),
    )


def store_request(connection: SqlConnection, request: PairingRequest, replaced: list[str]) -> None:
    connection.executemany("DELETE FROM device_requests WHERE id = ?", [(id,) for id in replaced])
    connection.execute("DELETE FROM device_requests WHERE expires_ms <= ?", (request.created_ms,))
    data = {
        "public_key": request.public_key,
        "role": request.role,
        "scopes": list(request.scopes),
        "data": dict(request.data),
        "address": request.address,
        "brought_by": sorted(request.brought_by),
    }
    connection.execute(
        "INSERT INTO device_requests(id, device_id, data, created_ms, expires_ms) VALUES(?, ?, ?, ?, ?)",
        (request.id, request.device_id, orjson.dumps(data).decode(), request.created_ms, request.expires_ms),
    )
