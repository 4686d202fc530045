"""Live credentials: kept as digests, checked in memory, ended at once by time or by revocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.security.credentials import (
    PLAIN_LENGTH_LIMIT,
    CredentialStore,
    Expiry,
    OnRevoke,
    RevocationListeners,
    digest,
    same_digest,
)

USE_NOTED_EVERY_MS = 60_000


class Credential(Struct, frozen=True, kw_only=True):
    """The data of a credential, without its secret.

    Attributes:
        id: Names it among those of its kind.
        scopes: As granted, not expanded.
        created_ms: When it was made, milliseconds since the epoch.
        last_used_ms: When it was last used, to the minute.
        expires_ms: When it ends; None means never.
    """

    KIND: ClassVar[str]

    id: str
    scopes: frozenset[str]
    created_ms: int
    last_used_ms: int | None = None
    expires_ms: int | None = None

    @property
    def credential_id(self) -> str:
        """The id passed to revocation listeners: `<kind>:<id>`."""
        return f"{self.KIND}:{self.id}"


C = TypeVar("C", bound=Credential)


class LiveCredential(Struct, Generic[C]):
    """A live credential, unless it has expired since."""

    credential: C
    hash: bytes
    expiry: Expiry


class LiveCredentials(Generic[C]):
    """Checks credentials of one kind, in memory alone.

    Args:
        db: The hub database, open, with the table of these credentials.
        clock: The clock.
    """

    PREFIX: ClassVar[str]
    """What their secrets begin with."""
    TABLE: ClassVar[str]

    def __init__(self, db: CredentialStore, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._live: dict[bytes, LiveCredential[C]] = {}
        self._listeners = RevocationListeners()

    def verify(self, plain: str) -> C | None:
        """Return the credential with this secret, or None if it is unknown, expired or revoked."""
        if not plain.startswith(self.PREFIX) or len(plain) > PLAIN_LENGTH_LIMIT:
            return None
        hashed = digest(plain)
        live = self._live.get(hashed)
        if live is None or not same_digest(live.hash, hashed):
            return None
        if live.expiry.passed():
            self._forget(live)
            return None
        self._note_use(live)
        return live.credential

    def is_valid(self, id: str) -> bool:
        """Whether the credential with this id was neither revoked nor ended; for connections that it opened."""
        live = self._find(id)
        return live is not None and not live.expiry.passed()

    def on_revoke(self, listener: OnRevoke) -> Callable[[], None]:
        """Call `listener("<kind>:<id>")` when one is revoked, replaced or found ended; return an unsubscriber."""
        return self._listeners.add(listener)

    def _remember(self, credential: C, hashed: bytes) -> None:
        expiry = Expiry(self._clock, None if credential.expires_ms is None else credential.expires_ms / 1000)
        if not expiry.passed():
            self._live[hashed] = LiveCredential(credential, hashed, expiry)

    def _forget(self, live: LiveCredential[C]) -> None:
        del self._live[live.hash]
        self._listeners.tell(live.credential.credential_id)

    def _find(self, id: str) -> LiveCredential[C] | None:
        return next((live for live in self._live.values() if live.credential.id == id), None)

    def _note_use(self, live: LiveCredential[C]) -> None:
        now_ms = self._now_ms()
        last_ms = live.credential.last_used_ms
        if last_ms is not None and 0 <= now_ms - last_ms < USE_NOTED_EVERY_MS:
            return
        live.credential = replace(live.credential, last_used_ms=now_ms)
        row = (now_ms, live.credential.id)
        statement = f"UPDATE {self.TABLE} SET last_used_ms = ? WHERE id = ?"  # noqa: S608  made of constants
        self._db.post(lambda connection: connection.execute(statement, row))

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)
