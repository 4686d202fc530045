"""Scoped tokens for programs and other machines: shown once, stored as a digest, told to all when revoked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.security.credentials import (
    PLAIN_LENGTH_LIMIT,
    Expiry,
    OnRevoke,
    RevocationListeners,
    Store,
    digest,
    granted_scopes,
    join_scopes,
    new_plain,
    same_digest,
    split_scopes,
)

PREFIX = "homtok_"
TOKEN_LIMIT = 500
NAME_LIMIT = 100
EXPIRES_LIMIT_S = 10 * 366 * 86_400
USE_NOTED_EVERY_MS = 60_000

_COLUMNS = "id, name, hash, scopes, generation, created_ms, last_used_ms, expires_ms, revoked_ms"
_SELECT = f"SELECT {_COLUMNS} FROM tokens"  # noqa: S608  made of constants


@dataclass(frozen=True, slots=True)
class Token:
    """A scoped token, without its secret.

    Attributes:
        id: Names it; the credential's id is `token:<id>`.
        name: What its owner calls it.
        scopes: As granted, not expanded.
        generation: Rises each time its secret is replaced.
        created_ms: When it was made, milliseconds since the epoch.
        last_used_ms: When it was last used, to the minute.
        expires_ms: When it ends; None means never.
        revoked_ms: When it was revoked.
    """

    id: str
    name: str
    scopes: frozenset[str]
    generation: int
    created_ms: int
    last_used_ms: int | None = None
    expires_ms: int | None = None
    revoked_ms: int | None = None

    @property
    def credential_id(self) -> str:
        """What listeners to revocation are told."""
        return f"token:{self.id}"


@dataclass(slots=True)
class _Live:
    token: Token
    hash: bytes
    expiry: Expiry


class TokenStore:
    """Makes, checks and revokes tokens; checking looks at memory alone.

    Args:
        db: The hub database, open, with the table `tokens`.
        clock: The clock.
    """

    def __init__(self, db: Store, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._live: dict[bytes, _Live] = {}
        self._all: dict[str, Token] = {}
        self._listeners = RevocationListeners()

    async def open(self) -> None:
        """Read what the database has."""
        rows = await self._db.read(_select)
        self._live.clear()
        self._all.clear()
        for row in rows:
            token = Token(row[0], row[1], split_scopes(row[3]), row[4], row[5], row[6], row[7], row[8])
            self._all[token.id] = token
            if token.revoked_ms is None:
                self._remember(token, bytes(row[2]))

    async def create(
        self, name: str, scopes: Iterable[str], expires_s: float | None = None, *, by: Authority | None = None
    ) -> tuple[Token, Secret]:
        """Make a token; it is durable when this returns.

        Args:
            name: What its owner calls it, 1 to 100 characters.
            scopes: What it may do.
            expires_s: Seconds until it ends; None means never.
            by: Who makes it, and so the most it can be granted; None means the hub itself.

        Returns:
            The token, and the secret, which is shown this once.

        Raises:
            InvalidRequest: The name, a scope or the time is not valid.
            Forbidden: The maker lacks a scope.
            LimitExceeded: There are 500 already.
        """
        name = name.strip()
        if not 1 <= len(name) <= NAME_LIMIT or not name.isprintable():
            raise InvalidRequest(f"a token needs a name of 1 to {NAME_LIMIT} printable characters")
        granted = granted_scopes(scopes, by)
        if expires_s is not None and not 0 < expires_s <= EXPIRES_LIMIT_S:
            raise InvalidRequest("a token expires after more than 0 seconds and at most ten years")
        if sum(1 for each in self._all.values() if each.revoked_ms is None) >= TOKEN_LIMIT:
            raise LimitExceeded(f"there are already {TOKEN_LIMIT} tokens; revoke one first")
        now_ms = self._now_ms()
        expires_ms = None if expires_s is None else now_ms + int(expires_s * 1000)
        token = Token(new_id(), name, granted, 1, now_ms, expires_ms=expires_ms)
        plain = new_plain(PREFIX)
        hashed = digest(plain)
        row = (token.id, name, hashed, join_scopes(granted), 1, now_ms, None, expires_ms, None)
        await self._db.write(
            lambda connection: (
                connection.execute(f"INSERT INTO tokens({_COLUMNS}) VALUES(?,?,?,?,?,?,?,?,?)", row).rowcount
            )
        )
        self._all[token.id] = token
        self._remember(token, hashed)
        return token, Secret(plain)

    def verify(self, plain: str) -> Token | None:
        """Return the token with this secret, or None when there is none, or it ended or was revoked."""
        if not plain.startswith(PREFIX) or len(plain) > PLAIN_LENGTH_LIMIT:
            return None
        hashed = digest(plain)
        live = self._live.get(hashed)
        if live is None or not same_digest(live.hash, hashed):
            return None
        if live.expiry.passed():
            del self._live[hashed]
            self._listeners.tell(live.token.credential_id)
            return None
        self._note_use(live)
        return live.token

    def is_valid(self, token_id: str) -> bool:
        """Whether the token with this id was neither revoked nor ended; for connections that it opened."""
        live = self._find(token_id)
        return live is not None and not live.expiry.passed()

    def list(self) -> list[Token]:
        """Return all tokens, the newest first, with those that were revoked."""
        return sorted(self._all.values(), key=lambda token: token.created_ms, reverse=True)

    async def revoke(self, token_id: str) -> Token:
        """Make a token worthless, at once for whoever asks and whoever listens, and for good when this returns.

        Raises:
            NotFound: There is no token with this id.
            StorageError: It is refused from now on, but could not be written: it would be good after a restart.
        """
        token = self._all.get(token_id)
        if token is None:
            raise NotFound(f"there is no token {token_id}", details={"id": token_id})
        if token.revoked_ms is not None:
            return token
        live = self._find(token_id)
        if live is not None:
            del self._live[live.hash]
        revoked = self._all[token_id] = replace(token, revoked_ms=self._now_ms())
        self._listeners.tell(revoked.credential_id)
        row = (revoked.revoked_ms, token_id)
        await self._db.write(
            lambda connection: connection.execute("UPDATE tokens SET revoked_ms = ? WHERE id = ?", row).rowcount
        )
        return revoked

    async def rotate(self, token_id: str) -> tuple[Token, Secret]:
        """Give a token a new secret; the old one is worthless at once, and its connections are told.

        Raises:
            NotFound: There is no such token, or it was revoked or ended.
        """
        live = self._find(token_id)
        if live is None or live.expiry.passed():
            raise NotFound(f"there is no token {token_id} that is still valid", details={"id": token_id})
        plain = new_plain(PREFIX)
        hashed = digest(plain)
        token = replace(live.token, generation=live.token.generation + 1)
        del self._live[live.hash]
        self._listeners.tell(token.credential_id)
        row = (hashed, token.generation, token_id)
        await self._db.write(
            lambda connection: (
                connection.execute("UPDATE tokens SET hash = ?, generation = ? WHERE id = ?", row).rowcount
            )
        )
        self._all[token_id] = token
        self._live[hashed] = _Live(token, hashed, live.expiry)
        return token, Secret(plain)

    def on_revoke(self, listener: OnRevoke) -> Callable[[], None]:
        """Call `listener("token:<id>")` when a token is revoked, replaced or found ended; return an unsubscriber."""
        return self._listeners.add(listener)

    def _remember(self, token: Token, hashed: bytes) -> None:
        ends_at_s = None if token.expires_ms is None else token.expires_ms / 1000
        self._live[hashed] = _Live(token, hashed, Expiry(self._clock, ends_at_s))

    def _find(self, token_id: str) -> _Live | None:
        return next((live for live in self._live.values() if live.token.id == token_id), None)

    def _note_use(self, live: _Live) -> None:
        now_ms = self._now_ms()
        last_ms = live.token.last_used_ms
        if last_ms is not None and 0 <= now_ms - last_ms < USE_NOTED_EVERY_MS:
            return
        live.token = self._all[live.token.id] = replace(live.token, last_used_ms=now_ms)
        row = (now_ms, live.token.id)
        self._db.post(lambda connection: connection.execute("UPDATE tokens SET last_used_ms = ? WHERE id = ?", row))

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _select(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute(_SELECT).fetchall()
