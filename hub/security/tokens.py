"""Scoped tokens for programs and other machines: shown once, stored as a digest, revocations announced."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.security.credentials import (
    CredentialStore,
    digest,
    granted_scopes,
    join_scopes,
    named,
    new_plain,
    split_scopes,
)
from hub.security.live_credentials import Credential, LiveCredential, LiveCredentials

TOKEN_LIMIT = 500
NAME_LIMIT = 100
EXPIRES_LIMIT_S = 10 * 366 * 86_400

_COLUMNS = "id, name, hash, scopes, generation, created_ms, last_used_ms, expires_ms, revoked_ms, made_by"
_SELECT = f"SELECT {_COLUMNS} FROM tokens"  # noqa: S608  made of constants


class Token(Credential, frozen=True, kw_only=True):
    """A scoped token, without its secret.

    Attributes:
        name: Its owner's name for it.
        generation: Rises each time its secret is replaced.
        revoked_ms: When it was revoked.
        made_by: The credentials it was made with, as `<id>@<generation>`; it ends with the first of them.
    """

    KIND: ClassVar[str] = "token"

    name: str
    generation: int = 1
    revoked_ms: int | None = None
    made_by: frozenset[str] = frozenset()


class TokenStore(LiveCredentials[Token]):
    """Makes, checks and revokes tokens.

    Args:
        db: The hub database, open, with the table `tokens`.
        clock: The clock.
        home: Which their secrets name, when it is one of many.
    """

    PREFIX = "homtok_"
    TABLE = "tokens"
    BRIEF_PREFIX = "homacc_"
    """What secrets begin with that stand for a token for a while."""

    def __init__(self, db: CredentialStore, clock: Clock, home: str | None = None) -> None:
        super().__init__(db, clock)
        self._home = home
        self._all: dict[str, Token] = {}

    async def open(self) -> None:
        """Load the tokens."""
        rows: list[tuple[Any, ...]] = await self._db.read(lambda connection: connection.execute(_SELECT).fetchall())
        self._live.clear()
        self._all.clear()
        for id, name, hashed, scopes, generation, created_ms, last_used_ms, expires_ms, revoked_ms, made_by in rows:
            token = self._all[id] = Token(
                id=id,
                name=name,
                scopes=split_scopes(scopes),
                generation=generation,
                created_ms=created_ms,
                last_used_ms=last_used_ms,
                expires_ms=expires_ms,
                revoked_ms=revoked_ms,
                made_by=frozenset(made_by.split()),
            )
            if token.revoked_ms is None:
                self._remember(token, bytes(hashed))

    async def create(
        self,
        name: str,
        scopes: Iterable[str],
        expires_s: float | None = None,
        *,
        by: Authority | None = None,
        made_by: Iterable[str] = (),
    ) -> tuple[Token, Secret]:
        """Make a token; it is durable when this returns.

        Args:
            name: Its owner's name for it, 1 to 100 characters.
            scopes: Its rights.
            expires_s: Seconds until it ends; None means never.
            by: The creator, whose rights limit it; None means the hub itself.
            made_by: The credentials of its maker.

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
            raise InvalidRequest("expected a lifetime of more than 0 seconds and at most ten years")
        if sum(1 for each in self._all.values() if each.revoked_ms is None) >= TOKEN_LIMIT:
            raise LimitExceeded(f"there are already {TOKEN_LIMIT} tokens; revoke one first")
        now_ms = self._now_ms()
        expires_ms = None if expires_s is None else now_ms + int(expires_s * 1000)
        makers = frozenset(made_by)
        token = Token(id=new_id(), name=name, scopes=granted, created_ms=now_ms, expires_ms=expires_ms, made_by=makers)
        plain = new_plain(self.PREFIX, self._home)
        hashed = digest(plain)
        row = (
            *(token.id, name, hashed, join_scopes(granted), token.generation, now_ms, None, expires_ms, None),
            " ".join(sorted(makers)),
        )
        await self._db.write(
            lambda connection: (
                connection.execute(f"INSERT INTO tokens({_COLUMNS}) VALUES(?,?,?,?,?,?,?,?,?,?)", row).rowcount
            )
        )
        self._all[token.id] = token
        self._remember(token, hashed)
        return token, Secret(plain)

    def get(self, token_id: str) -> Token | None:
        """Return a token by its id, or None."""
        return self._all.get(token_id)

    def list(self) -> list[Token]:
        """Return all tokens, newest first, revoked ones included."""
        return sorted(self._all.values(), key=lambda token: token.created_ms, reverse=True)

    async def revoke(self, token_id: str) -> Token:
        """Revoke a token: at once in memory and for listeners, durably when this returns.

        Raises:
            NotFound: There is no token with this id.
            StorageError: It is refused from now on, but could not be written: it would be good after a restart.
        """
        token = self._all.get(token_id)
        if token is None:
            raise NotFound(f"there is no token {token_id}", details={"id": token_id})
        if token.revoked_ms is not None:
            return token
        revoked = self._all[token_id] = replace(token, revoked_ms=self._now_ms())
        live = self._find(token_id)
        if live is not None:
            self._forget(live)
        row = (revoked.revoked_ms, token_id)
        await self._db.write(
            lambda connection: connection.execute("UPDATE tokens SET revoked_ms = ? WHERE id = ?", row).rowcount
        )
        return revoked

    async def rotate(self, token_id: str) -> tuple[Token, Secret]:
        """Give a token a new secret; the old one is invalid at once, and its connections are closed.

        Raises:
            NotFound: There is no such token, or it was revoked or ended.
        """
        live = self._find(token_id)
        if live is None or live.expiry.passed():
            raise _not_valid(token_id)
        plain = new_plain(self.PREFIX, self._home)
        hashed = digest(plain)
        token = replace(live.credential, generation=live.credential.generation + 1)
        self._forget(live)
        row = (hashed, token.generation, token_id)
        await self._db.write(
            lambda connection: (
                connection.execute("UPDATE tokens SET hash = ?, generation = ? WHERE id = ?", row).rowcount
            )
        )
        if self._all[token_id].revoked_ms is not None:  # while the new secret was written
            raise _not_valid(token_id)
        self._all[token_id] = token
        self._live[hashed] = LiveCredential(token, hashed, live.expiry)
        return token, Secret(plain)

    def brief(self, token_id: str, life_s: float) -> Secret:
        """Return a secret that stands for a token for some seconds, and ends with it.

        Raises:
            NotFound: There is no such token that is still valid.
        """
        live = self._find(token_id)
        if live is None or live.expiry.passed():
            raise _not_valid(token_id)
        until = int(self._clock.time() + life_s)
        return Secret(f"{self.BRIEF_PREFIX}{named(self._home)}{token_id}.{until}.{_signature(live, until)}")

    def verify(self, plain: str) -> Token | None:
        """Return the token that this secret, or a brief one, stands for; None if unknown, expired or revoked."""
        if not plain.startswith(self.BRIEF_PREFIX):
            return super().verify(plain)
        told = plain.removeprefix(self.BRIEF_PREFIX).removeprefix(named(self._home))
        id, _, signed = told.partition(".")
        until, _, signature = signed.partition(".")
        live = self._find(id)
        if live is None or live.expiry.passed() or not (until.isascii() and until.isdigit() and len(until) <= 11):
            return None
        is_right = hmac.compare_digest(_signature(live, int(until)).encode(), signature.encode("utf-8", "replace"))
        if not is_right or int(until) < self._clock.time():
            return None
        self._note_use(live)
        return live.credential

    def _note_use(self, live: LiveCredential[Token]) -> None:
        super()._note_use(live)
        self._all[live.credential.id] = live.credential


def _signature(live: LiveCredential[Token], until: int) -> str:
    """Sign with the digest of the token's secret: whoever replaces or ends the token ends these too."""
    return hmac.new(live.hash, f"brief {live.credential.id} {until}".encode(), hashlib.sha256).hexdigest()


def _not_valid(token_id: str) -> NotFound:
    return NotFound(f"there is no token {token_id} that is still valid", details={"id": token_id})
