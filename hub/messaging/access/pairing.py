"""Pairing: lets in unknown people for direct messages, by a code that an owner approves.

The code is shown to the stranger alone: an owner who gets it from them knows whom they let in. Pairing grants direct
messages and nothing else: no group, no place among the people of this home, no owner's rights.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.context import Context, system_context
from hub.core.errors import Forbidden, HubError, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.contract import Address, DeliveryState, Inbound, InboundMessage, OutboundMessage
from hub.messaging.notices.owner_place import OwnerPlaces
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.texts import say
from hub.security.login_codes import ALPHABET
from hub.security.rate_limit import AttemptLimiter
from hub.storage.database import Database

_log = logging.getLogger(__name__)

EVENT_PAIRING_REQUESTED = "pairing_requested"
EVENT_PAIRING_DECIDED = "pairing_decided"
SCOPE = "operator.pairing"

CODE_LENGTH = 8
"""Of an alphabet of 32: 40 bits."""
CODE_LIFE_S = 3_600
"""How long a code can be approved, and how long its stranger is not answered again."""
PENDING_LIMIT = 3
"""Requests that wait on one account."""
REPLIES_LIMIT = 10
"""Codes that one account sends in `CODE_LIFE_S`, however many requests are decided meanwhile."""
WRONG_CODES = 5
"""Wrong guesses in `CODE_LIFE_S`, over all accounts of a channel."""
PAIRED_LIMIT = 1_000
"""Identities that are paired, or denied for good, on one account."""
SEND_LIMIT_S = 30.0
NAME_LENGTH = 64
_CLOCK_STEP_MS = 60_000
_COLUMNS = "id, channel, account, identity, state, data, created_ms"


class PairingState(StrEnum):
    """The state of a request."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    """The code could not be sent."""


class PairingEntry(Struct, frozen=True):
    """A request, or an owner's decision about it.

    Attributes:
        account: The platform's id of the account, or its name in the configuration where it has none.
        identity: Typed identity of the requester.
        created_ms: Milliseconds since the epoch when they asked.
        name: Their own name; never authorises.
        peer: Their conversation.
        account_name: The account in the configuration.
        decided_by: The principal who decided.
    """

    id: str
    channel: str
    account: str
    identity: str
    state: PairingState
    created_ms: int
    name: str = ""
    peer: str = ""
    account_name: str = "default"
    decided_by: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entry as clients see it."""
        pending = self.state is PairingState.PENDING
        return {
            "id": self.id,
            "channel": self.channel,
            "account": self.account_name,
            "accountId": self.account,
            "identity": self.identity,
            "name": self.name,
            "state": self.state.value,
            "createdAtMs": self.created_ms,
            "expiresAtMs": self.created_ms + CODE_LIFE_S * 1_000 if pending else None,
            "decidedBy": self.decided_by,
        }


class Pairings:
    """Keeps pairing requests and decisions.

    Fires `pairing_requested` (id, channel, account, identity) and `pairing_decided` (the same, state, decided_by).

    Args:
        db: The hub database.
        outbox: Sends to those who are known; its channels show strangers their code.
        tasks: Owner of the sending tasks.
        language: The language of the home.
    """

    def __init__(
        self,
        db: Database,
        outbox: Outbox,
        *,
        places: OwnerPlaces,
        bus: EventBus,
        clock: Clock,
        tasks: TaskOwner,
        language: Callable[[], str],
    ) -> None:
        self._db = db
        self._outbox = outbox
        self._places = places
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self._language = language
        self._paired: dict[tuple[str, str], frozenset[str]] = {}
        self._guesses = AttemptLimiter(
            clock, WRONG_CODES, CODE_LIFE_S, CODE_LIFE_S, told="too many wrong pairing codes for this channel"
        )

    async def open(self) -> None:
        """Load the paired identities."""
        self._remember(await self._db.read(lambda connection: _select(connection, "state = 'approved'")))

    def identities_of(self, address: Address) -> frozenset[str]:
        """Return the identities that are paired with the account of an address."""
        return self._paired.get((address.channel, address.account_id or address.account), frozenset())

    async def entries(self, channel: str | None = None, *, decided: bool = False) -> list[PairingEntry]:
        """Return the pending requests, oldest first, and optionally the decided ones."""
        since_ms = self._now_ms() - CODE_LIFE_S * 1_000
        wanted = "(state = 'pending' AND created_ms > ? OR ? = 1 AND state IN ('approved', 'denied'))"
        wanted += " AND channel = coalesce(?, channel) ORDER BY created_ms, id"
        return await self._db.read(lambda connection: _select(connection, wanted, since_ms, int(decided), channel))

    async def offer(self, inbound: Inbound) -> bool:
        """Offer a stranger a pairing code, at most hourly; return whether one will be sent.

        Nothing happens while as many wait as may, after too many codes, or where an owner has said no.
        """
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        address = inbound.address
        entry = PairingEntry(
            id=new_id(),
            channel=address.channel,
            account=address.account_id or address.account,
            identity=inbound.sender,
            state=PairingState.PENDING,
            created_ms=self._now_ms(),
            name=shown_name(inbound.sender_name if isinstance(inbound, InboundMessage) else None),
            peer=address.peer,
            account_name=address.account,
        )
        if not await self._db.write(lambda connection: _insert(connection, entry, code)):
            return False
        self._tasks.spawn(self._send_code(entry, address, code), name=f"pairing {entry.id}")
        return True

    async def approve(self, channel: str, code: str, context: Context, only: str | None = None) -> PairingEntry:
        """Approve the holder of a code; on disk when this returns, and they get a message.

        Args:
            channel: Name of the channel.
            code: The code as they were shown it; case, spaces and hyphens do not matter.
            context: Carries the authority of who decides.
            only: Id of the request that the code must be of; any without it.

        Raises:
            Forbidden: The caller may not pair.
            TooManyAttempts: There were too many wrong codes; it says when to try again.
            NotFound: No request that waits has this code.
        """
        entry = await self._decide(channel, code, PairingState.APPROVED, context, only)
        address = Address(entry.channel, entry.peer, entry.account_name)
        try:
            await self._outbox.send(address, say("pairing.approved", self._language()), context)
        except HubError as error:
            _log.warning("%s did not get the message that they are paired: %s", entry.identity, error.message)
        return entry

    async def deny(self, channel: str, code_or_id: str, context: Context) -> PairingEntry:
        """Refuse a request by its code or id; its sender is not answered again until that is revoked.

        Raises:
            As `approve`.
        """
        return await self._decide(channel, code_or_id, PairingState.DENIED, context)

    async def revoke(self, channel: str, identity: str, context: Context) -> list[PairingEntry]:
        """Forget the decisions about an identity, on every account of a channel; return them.

        Raises:
            Forbidden: The caller may not pair.
            NotFound: Nothing was decided about it.
        """
        _check(context)

        def write(connection: SqlConnection) -> list[PairingEntry]:
            found = _select(connection, "channel = ? AND identity = ? AND state != 'pending'", channel, identity)
            for entry in found:
                connection.execute("DELETE FROM pairings WHERE id = ?", (entry.id,))
            return found

        found = await self._db.write(write)
        if not found:
            raise NotFound(f"{identity[:100]!r} is neither paired nor denied on {channel[:64]!r}")
        for entry in found:
            key = (entry.channel, entry.account)
            self._paired[key] = self._paired.get(key, frozenset()) - {identity}
            self._tell_decided(entry, "revoked", context)
        return found

    async def _decide(
        self, channel: str, named: str, state: PairingState, context: Context, only: str | None = None
    ) -> PairingEntry:
        _check(context)
        code = "".join(symbol for symbol in named[:NAME_LENGTH].upper() if symbol.isalnum())
        by_id = state is PairingState.DENIED
        self._guesses.reserve(channel)
        since_ms, by = self._now_ms() - CODE_LIFE_S * 1_000, context.authority.principal

        def write(connection: SqlConnection) -> PairingEntry | None:
            waiting = "channel = ? AND state = 'pending' AND created_ms > ?"
            for entry in _select(connection, waiting, channel, since_ms):
                if only not in (None, entry.id):
                    continue
                held = connection.execute("SELECT code_hash FROM pairings WHERE id = ?", (entry.id,)).fetchone()[0]
                if hmac.compare_digest(held, _hash(entry.id, code)) or (by_id and named == entry.id):
                    return _settle(connection, entry, state, by)
            return None

        entry = await self._db.write(write)
        if entry is None:
            raise NotFound(f"no pairing request of {channel[:64]!r} has this code, or it has expired")
        self._guesses.succeed(channel)
        if state is PairingState.APPROVED:
            self._remember([entry])
        self._tell_decided(entry, state.value, context)
        return entry

    async def _send_code(self, entry: PairingEntry, address: Address, code: str) -> None:
        """Send the stranger the code, in one attempt that leaves no copy, and tell an owner who asks."""
        attached = self._outbox.channels.get(address.channel, address.account)
        text = say("pairing.code", self._language(), code=code, identity=entry.identity)
        state = DeliveryState.PERMANENT if attached is None else DeliveryState.UNKNOWN
        with suppress(TimeoutError):
            async with asyncio.timeout(SEND_LIMIT_S):
                if attached is not None:
                    await self._outbox.channels.lease.held()
                    state = (await attached.channel.send(OutboundMessage(entry.id, address, text))).state
        if state not in (DeliveryState.DELIVERED, DeliveryState.UNKNOWN):
            await self._db.write(lambda connection: _expire(connection, entry.id))
            _log.warning("a pairing code could not be sent to %s", entry.identity)
            return
        self._bus.fire(EVENT_PAIRING_REQUESTED, _facts(entry))
        await self._ask_owner(entry)

    async def _ask_owner(self, entry: PairingEntry) -> None:
        place = await self._places.find()
        if place is None:
            return
        name = f" ({entry.name})" if entry.name else ""
        text = say("pairing.asked", self._language(), channel=entry.channel, identity=entry.identity, name=name)
        try:
            await self._outbox.send(place.address, text, system_context(), session_key=place.session_key)
        except HubError as error:
            _log.warning("the pairing request of %s could not be sent to an owner: %s", entry.identity, error.message)

    def _remember(self, approved: list[PairingEntry]) -> None:
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for entry in approved:
            found[entry.channel, entry.account].add(entry.identity)
        for key, identities in found.items():
            self._paired[key] = self._paired.get(key, frozenset()) | identities

    def _tell_decided(self, entry: PairingEntry, state: str, context: Context) -> None:
        told = {**_facts(entry), "state": state, "decided_by": context.authority.principal}
        self._bus.fire(EVENT_PAIRING_DECIDED, told, context)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1_000)


def _check(context: Context) -> None:
    if not context.authority.has(SCOPE):
        raise Forbidden(f"pairing needs the scope {SCOPE}")


def _hash(id: str, code: str) -> bytes:
    return sha256(f"{id}:{code}".encode()).digest()


def shown_name(name: str | None) -> str:
    """Return a self-given name as one short line."""
    return " ".join("".join(char if char.isprintable() else " " for char in name or "").split())[:NAME_LENGTH]


def _facts(entry: PairingEntry) -> dict[str, Any]:
    facts = {"id": entry.id, "channel": entry.channel, "account": entry.account_name}
    return {**facts, "identity": entry.identity}


def _insert(connection: SqlConnection, entry: PairingEntry, code: str) -> bool:
    """Insert a request, unless there are too many."""
    since_ms = entry.created_ms - CODE_LIFE_S * 1_000
    connection.execute(
        "DELETE FROM pairings WHERE state IN ('pending', 'expired') AND (created_ms <= ? OR created_ms > ?)",
        (since_ms, entry.created_ms + _CLOCK_STEP_MS),
    )
    here = (entry.channel, entry.account)
    known, waiting, sent, kept = connection.execute(
        "SELECT count(*) FILTER (WHERE identity = ?), count(*) FILTER (WHERE state = 'pending'),"
        " count(*) FILTER (WHERE created_ms > ?), count(*) FROM pairings WHERE channel = ? AND account = ?",
        (entry.identity, since_ms, *here),
    ).fetchone()
    if known or waiting >= PENDING_LIMIT or sent >= REPLIES_LIMIT or kept >= PAIRED_LIMIT:
        return False
    data = {"name": entry.name, "peer": entry.peer, "account_name": entry.account_name}
    connection.execute(
        "INSERT INTO pairings(id, channel, account, identity, state, code_hash, data, created_ms, expires_ms)"
        " VALUES (?,?,?,?,'pending',?,?,?,?)",
        (
            entry.id,
            *here,
            entry.identity,
            _hash(entry.id, code),
            json.dumps(data),
            entry.created_ms,
            entry.created_ms + CODE_LIFE_S * 1_000,
        ),
    )
    return True


def _settle(connection: SqlConnection, entry: PairingEntry, state: PairingState, by: str) -> PairingEntry:
    data = {"name": entry.name, "peer": entry.peer, "account_name": entry.account_name, "decided_by": by}
    connection.execute(
        "UPDATE pairings SET state = ?, code_hash = NULL, expires_ms = NULL, data = ? WHERE id = ?",
        (state.value, json.dumps(data), entry.id),
    )
    return _select(connection, "id = ?", entry.id)[0]


def _expire(connection: SqlConnection, id: str) -> None:
    connection.execute("UPDATE pairings SET state = 'expired' WHERE id = ? AND state = 'pending'", (id,))


def approved_entries(connection: SqlConnection) -> list[PairingEntry]:
    """Return the approved requests of all accounts, the oldest first."""
    return _select(connection, "state = 'approved'")


def _select(connection: SqlConnection, where: str, *values: Any) -> list[PairingEntry]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM pairings WHERE {where}", values)  # noqa: S608  constants
    return [_entry(row) for row in rows.fetchall()]


def _entry(row: tuple[Any, ...]) -> PairingEntry:
    id, channel, account, identity, state, data, created_ms = row
    kept: Mapping[str, Any] = json.loads(data or "{}")
    return PairingEntry(id, channel, account, identity, PairingState(state), created_ms, **kept)
