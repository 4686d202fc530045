"""Paired devices: keys, roles and scopes of those that may connect, and the pending requests.

One grant per device and role. A device token is made from the hub token, so that it can be shown again to its own
device and is stored as a hash only; rotating it raises the generation that goes into it.
"""

from __future__ import annotations

import hmac
import logging
from base64 import urlsafe_b64encode
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import Forbidden, LimitExceeded, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.sql import SqlConnection
from hub.core.surfaces import credential_of
from hub.gateway.access.device_grants import (
    Grant,
    PairingRequest,
    as_device,
    load_devices,
    store_grant,
    store_request,
    token_hash,
)
from hub.security.credentials import named
from hub.security.people import IMPLICIT_OWNER_ID
from hub.storage.database import Database

_log = logging.getLogger(__name__)

EVENT_PAIR_REQUESTED = "device_pair_requested"
EVENT_PAIR_RESOLVED = "device_pair_resolved"
EVENT_PAIR_SETUP = "device_pair_setup_completed"
REQUEST_LIFE_MS = 600_000
PENDING_LIMIT = 50
PENDING_PER_ADDRESS = 5
TOKEN_PREFIX = "homdev_"  # noqa: S105
ROLES = ("operator", "node")
USED_EVERY_MS = 60_000


class Devices:
    """Keeps grants and pairing requests.

    Fires `device_pair_requested` (the request) and `device_pair_resolved` (`requestId`, `deviceId`, `decision`),
    and `device_pair_setup_completed` when a device used a setup code.

    Args:
        home: Which their tokens name, when it is one of many.
    """

    def __init__(self, db: Database, clock: Clock, bus: EventBus, hub_token: Secret, home: str | None = None) -> None:
        self._db = db
        self._home = home
        self._clock = clock
        self._bus = bus
        self._hub_token = hub_token
        self._grants: dict[tuple[str, str], Grant] = {}
        self._requests: dict[str, PairingRequest] = {}
        self._revoked: list[Callable[[str], None]] = []

    async def open(self) -> None:
        """Load what is stored."""
        grants, requests = await self._db.read(load_devices)
        for row in grants:
            stored = orjson.loads(row[2])
            device, _, role = row[0].rpartition("/")
            grant = Grant(
                device_id=device,
                role=role,
                public_key=row[1],
                scopes=tuple(orjson.loads(row[4])),
                data=stored["data"],
                created_ms=row[5],
                generation=stored["generation"],
                last_used_ms=row[6],
                token_hash=row[3] or b"",
                owner=_owner_of(stored.get("owner")),
                made_by=frozenset(stored.get("made_by", ())),
            )
            self._grants[device, role] = grant
        now = self.now_ms()
        for id, device, data, created_ms, expires_ms in requests:
            stored = orjson.loads(data)
            if expires_ms > now:
                self._requests[id] = PairingRequest(
                    id=id,
                    device_id=device,
                    scopes=tuple(stored.pop("scopes")),
                    brought_by=frozenset(stored.pop("brought_by", ())),
                    created_ms=created_ms,
                    expires_ms=expires_ms,
                    **stored,
                )

    def on_revoke(self, listener: Callable[[str], None]) -> None:
        """Call `listener(credential_id)` when a device loses a grant."""
        self._revoked.append(listener)

    def grant(self, device_id: str, role: str) -> Grant | None:
        """Return what a device may do in a role, or None."""
        return self._grants.get((device_id, role))

    def grants(self) -> list[Grant]:
        """Return all grants, oldest first."""
        return sorted(self._grants.values(), key=lambda grant: (grant.created_ms, grant.row_id))

    def list_paired(self, connected: Container[str], device_id: str | None = None) -> list[dict[str, Any]]:
        """Return the devices as the protocol lists them, one entry for all roles of each; or one device."""
        grants = [grant for grant in self.grants() if device_id in (None, grant.device_id)]
        ids = dict.fromkeys(grant.device_id for grant in grants)
        return [as_device([grant for grant in grants if grant.device_id == id], id in connected) for id in ids]

    async def rename(self, device_id: str, label: str) -> int:
        """Give a device another name, in all its roles; return in how many."""
        grants = [grant for key, grant in self._grants.items() if key[0] == device_id]
        for grant in grants:
            await self._store(replace(grant, data={**grant.data, "displayName": label, "renamed": True}))
        return len(grants)

    def pending(self) -> list[PairingRequest]:
        """Return the requests that wait, oldest first."""
        now = self.now_ms()
        self._requests = {id: request for id, request in self._requests.items() if request.expires_ms > now}
        return sorted(self._requests.values(), key=lambda request: request.created_ms)

    def token(self, grant: Grant) -> str:
        """Return the token of a grant; it is shown to its own device only."""
        text = f"device-token|{grant.device_id}|{grant.role}|{grant.generation}|{grant.created_ms}"
        digest = hmac.digest(self._hub_token.reveal().encode(), text.encode(), "sha256")
        return TOKEN_PREFIX + named(self._home) + urlsafe_b64encode(digest).decode().rstrip("=")

    def is_token_of(self, plain: str, grant: Grant) -> bool:
        """Whether this is the token of a grant."""
        return bool(grant.token_hash) and hmac.compare_digest(token_hash(plain), grant.token_hash)

    def verify_token(self, plain: str) -> Grant | None:
        """Return the grant of an operator device by its token, or None."""
        if not plain.startswith(TOKEN_PREFIX):
            return None
        given = token_hash(plain)
        found = None
        for grant in self._grants.values():
            if grant.role == "operator" and grant.token_hash and hmac.compare_digest(given, grant.token_hash):
                found = grant
        return found

    def note_used(self, grant: Grant) -> None:
        """Note that a device connected; written with a delay."""
        now = self.now_ms()
        if grant.last_used_ms is not None and now - grant.last_used_ms < USED_EVERY_MS:
            return
        fresh = replace(grant, last_used_ms=now)
        self._grants[grant.device_id, grant.role] = fresh
        self._db.post(
            lambda conn: conn.execute("UPDATE devices SET last_used_ms = ? WHERE id = ?", (now, grant.row_id))
        )

    async def ask(
        self,
        device_id: str,
        public_key: str,
        role: str,
        scopes: Iterable[str],
        data: Mapping[str, Any],
        address: str,
        brought_by: frozenset[str] = frozenset(),
    ) -> PairingRequest:
        """Store a pairing request and announce it; asking again for the same gives the same request.

        Raises:
            LimitExceeded: Too many wait already.
        """
        wanted = tuple(sorted(set(scopes)))
        waiting = self.pending()
        for request in waiting:
            same = (request.device_id, request.role, request.scopes) == (device_id, role, wanted)
            if same and request.brought_by == brought_by:
                return request
        mine = [request for request in waiting if request.device_id == device_id and request.role == role]
        others = len(waiting) - len(mine)
        from_there = sum(1 for request in waiting if request.address == address) - len(mine)
        if others >= PENDING_LIMIT or from_there >= PENDING_PER_ADDRESS:
            raise LimitExceeded(phrase("too many devices wait to be paired; approve or reject them first"))
        now = self.now_ms()
        request = PairingRequest(
            id=new_id(),
            device_id=device_id,
            public_key=public_key,
            role=role,
            scopes=wanted,
            data=dict(data),
            address=address,
            created_ms=now,
            expires_ms=now + REQUEST_LIFE_MS,
            brought_by=brought_by,
        )
        for old in mine:
            del self._requests[old.id]
        self._requests[request.id] = request
        await self._db.write(lambda conn: store_request(conn, request, [old.id for old in mine]))
        self._bus.fire(EVENT_PAIR_REQUESTED, request.as_dict())
        return request

    async def approve(self, request_id: str, by: Authority, made_by: frozenset[str] = frozenset()) -> Grant:
        """Approve a device, with as much of its request as the approver may grant.

        Args:
            made_by: The credentials of the approver.

        Raises:
            NotFound: There is no such request, or it has expired.
            Forbidden: It asks for scopes the approver does not have, or the approver brought it.
        """
        request = self._request(request_id)
        if set(map(credential_of, request.brought_by)) & set(map(credential_of, made_by)):
            raise Forbidden(phrase("this device asked with your own credential; someone else must approve it"))
        missing = sorted(set(request.scopes) - by.scopes)
        if missing:
            raise Forbidden(
                phrase("this device asks for more than you have: {names}", names=", ".join(missing)),
                details={"scopes": missing},
            )
        grant = await self.admit(
            request.device_id,
            request.public_key,
            request.role,
            request.scopes,
            request.data,
            owner=by.person if by.owner else None,
            made_by=made_by,
        )
        await self._resolve(request, "approved")
        return grant

    async def reject(self, request_id: str) -> PairingRequest:
        """Reject a device's request.

        Raises:
            NotFound: There is no such request.
        """
        request = self._request(request_id)
        await self._resolve(request, "rejected")
        return request

    async def admit(
        self,
        device_id: str,
        public_key: str,
        role: str,
        scopes: Iterable[str],
        data: Mapping[str, Any],
        *,
        owner: str | None = None,
        made_by: frozenset[str] = frozenset(),
    ) -> Grant:
        """Grant a device a role and exactly these scopes; a grant it had is replaced.

        Args:
            owner: Id of the owner who approves it; only an owner can let it act for an owner.
            made_by: The credentials with which it was let in.
        """
        old = self._grants.get((device_id, role))
        now = self.now_ms()
        grant = Grant(
            device_id=device_id,
            role=role,
            public_key=public_key,
            scopes=tuple(sorted(set(scopes))),
            data={**data, **_kept(old)},
            created_ms=old.created_ms if old is not None else now,
            generation=old.generation if old is not None else 1,
            last_used_ms=now,
            owner=owner if role == "operator" else None,
            made_by=made_by,
        )
        return await self._store(grant)

    async def refresh(self, grant: Grant) -> Grant:
        """Recompute the stored hash after the hub token was replaced."""
        if self.is_token_of(self.token(grant), grant):
            return grant
        return await self._store(grant)

    async def rotate(self, device_id: str, role: str) -> Grant:
        """Give a device a new token; the old one stops working and its connections are closed.

        Raises:
            NotFound: There is no such grant.
        """
        grant = self._known(device_id, role)
        fresh = await self._store(replace(grant, generation=grant.generation + 1))
        self._tell_revoked(grant)
        return fresh

    async def remove(self, device_id: str, role: str | None = None) -> int:
        """Remove the grants of a device, in one role or all; return how many."""
        keys = [key for key in self._grants if key[0] == device_id and role in (None, key[1])]
        if not keys:
            return 0
        removed = [self._grants.pop(key) for key in keys]
        rows = [(grant.row_id,) for grant in removed]

        def write(connection: SqlConnection) -> None:
            connection.executemany("DELETE FROM devices WHERE id = ?", rows)

        for grant in removed:
            self._tell_revoked(grant)
        await self._db.write(write)
        return len(keys)

    async def _store(self, grant: Grant) -> Grant:
        grant = replace(grant, token_hash=token_hash(self.token(grant)))
        self._grants[grant.device_id, grant.role] = grant
        await self._db.write(lambda conn: store_grant(conn, grant))
        return grant

    async def _resolve(self, request: PairingRequest, decision: str) -> None:
        self._requests.pop(request.id, None)
        await self._db.write(
            lambda conn: conn.execute("DELETE FROM device_requests WHERE id = ?", (request.id,)).rowcount
        )
        told = {"requestId": request.id, "deviceId": request.device_id, "decision": decision, "ts": self.now_ms()}
        self._bus.fire(EVENT_PAIR_RESOLVED, told)

    def _request(self, request_id: str) -> PairingRequest:
        for request in self.pending():
            if request.id == request_id:
                return request
        raise NotFound(phrase("there is no pairing request {request}, or it has expired", request=request_id[:64]))

    def _known(self, device_id: str, role: str) -> Grant:
        grant = self._grants.get((device_id, role))
        if grant is None:
            raise NotFound(
                phrase("there is no paired device {device} in the role {role}", device=device_id[:80], role=role)
            )
        return grant

    def announce_setup(self, completed: Mapping[str, Any]) -> None:
        """Say that a device used a setup code."""
        self._bus.fire(EVENT_PAIR_SETUP, dict(completed))

    def _tell_revoked(self, grant: Grant) -> None:
        for listener in self._revoked:
            listener(grant.credential_id)

    def now_ms(self) -> int:
        """Return the time, in milliseconds since the epoch."""
        return int(self._clock.time() * 1000)


def _owner_of(stored: object) -> str | None:
    """Return the owner of a stored grant; older grants without an owner belong to the first one."""
    return IMPLICIT_OWNER_ID if stored is True else stored if isinstance(stored, str) else None


def _kept(grant: Grant | None) -> dict[str, Any]:
    """Return the name that a person gave a device, which survives pairing again."""
    renamed = grant is not None and grant.data.get("renamed")
    return {key: grant.data[key] for key in ("displayName", "renamed")} if grant is not None and renamed else {}
