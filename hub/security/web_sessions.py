"""Dashboard sessions: what a browser's cookie stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import InvalidRequest
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

PREFIX = "homweb_"
EXPIRES_S = 30 * 86_400.0
SESSION_LIMIT = 200
USE_NOTED_EVERY_MS = 60_000

_COLUMNS = "id, hash, principal, scopes, created_ms, last_used_ms, expires_ms"
_SELECT = f"SELECT {_COLUMNS} FROM web_sessions"  # noqa: S608  made of constants


@dataclass(frozen=True, slots=True)
class WebSession:
    """A signed-in browser.

    Attributes:
        id: Names it; the credential's id is `cookie:<id>`.
        principal: Who signed in.
        scopes: As granted, not expanded.
        created_ms: When, milliseconds since the epoch.
        expires_ms: When it ends.
        last_used_ms: When it was last used, to the minute.
    """

    id: str
    principal: str
    scopes: frozenset[str]
    created_ms: int
    expires_ms: int
    last_used_ms: int | None = None

    @property
    def credential_id(self) -> str:
        """What listeners to revocation are told."""
        return f"cookie:{self.id}"


@dataclass(slots=True)
class _Live:
    session: WebSession
    hash: bytes
    expiry: Expiry


class WebSessions:
    """Makes, checks and revokes dashboard sessions; checking looks at memory alone.

    Args:
        db: The hub database, open, with the table `web_sessions`.
        clock: The clock.
    """

    def __init__(self, db: Store, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._live: dict[bytes, _Live] = {}
        self._listeners = RevocationListeners()

    async def open(self) -> None:
        """Read what the database has; what ended meanwhile is deleted."""
        now_ms = self._now_ms()
        self._db.post(
            lambda connection: connection.execute("DELETE FROM web_sessions WHERE expires_ms <= ?", (now_ms,))
        )
        rows: list[tuple[Any, ...]] = await self._db.read(lambda connection: connection.execute(_SELECT).fetchall())
        self._live.clear()
        for id, hashed, principal, scopes, created_ms, last_used_ms, expires_ms in rows:
            session = WebSession(id, principal, split_scopes(scopes), created_ms, expires_ms, last_used_ms)
            self._remember(session, bytes(hashed))

    async def create(
        self,
        principal: str,
        scopes: Iterable[str],
        expires_s: float = EXPIRES_S,
        *,
        by: Authority | None = None,
    ) -> tuple[WebSession, Secret]:
        """Sign a browser in; it is durable when this returns. Beyond 200 the one longest unused is signed out.

        Args:
            principal: Who it is.
            scopes: What it may do.
            expires_s: Seconds until it must sign in again.
            by: Who lets it in, and so the most it can be granted; None means the hub itself.

        Returns:
            The session, and the value of its cookie.
        """
        if not 0 < expires_s <= 366 * 86_400:
            raise InvalidRequest("a dashboard session lasts more than 0 seconds and at most a year")
        granted = granted_scopes(scopes, by)
        while len(self._live) >= SESSION_LIMIT:
            oldest = min(self._live.values(), key=lambda live: live.session.last_used_ms or live.session.created_ms)
            await self.revoke(oldest.session.id)
        now_ms = self._now_ms()
        session = WebSession(new_id(), principal, granted, now_ms, now_ms + int(expires_s * 1000))
        plain = new_plain(PREFIX)
        hashed = digest(plain)
        row = (session.id, hashed, principal, join_scopes(granted), now_ms, None, session.expires_ms)
        await self._db.write(
            lambda connection: (
                connection.execute(f"INSERT INTO web_sessions({_COLUMNS}) VALUES(?,?,?,?,?,?,?)", row).rowcount
            )
        )
        self._remember(session, hashed)
        return session, Secret(plain)

    def verify(self, plain: str) -> WebSession | None:
        """Return the session of a cookie's value, or None when there is none or it ended."""
        if not plain.startswith(PREFIX) or len(plain) > PLAIN_LENGTH_LIMIT:
            return None
        hashed = digest(plain)
        live = self._live.get(hashed)
        if live is None or not same_digest(live.hash, hashed):
            return None
        if live.expiry.passed():
            del self._live[hashed]
            self._listeners.tell(live.session.credential_id)
            return None
        self._note_use(live)
        return live.session

    def is_valid(self, session_id: str) -> bool:
        """Whether the session with this id was neither revoked nor ended; for connections that it opened."""
        live = self._find(session_id)
        return live is not None and not live.expiry.passed()

    def list(self) -> list[WebSession]:
        """Return the sessions that are good, the newest first."""
        good = [live.session for live in self._live.values() if not live.expiry.passed()]
        return sorted(good, key=lambda session: session.created_ms, reverse=True)

    async def revoke(self, session_id: str) -> bool:
        """Sign a browser out, at once and for good; return whether it was signed in."""
        live = self._find(session_id)
        if live is None:
            return False
        del self._live[live.hash]
        self._listeners.tell(live.session.credential_id)
        await self._db.write(
            lambda connection: connection.execute("DELETE FROM web_sessions WHERE id = ?", (session_id,)).rowcount
        )
        return True

    async def revoke_all(self) -> int:
        """Sign every browser out; return how many there were."""
        gone = [live.session for live in self._live.values()]
        self._live.clear()
        for session in gone:
            self._listeners.tell(session.credential_id)
        await self._db.write(lambda connection: connection.execute("DELETE FROM web_sessions").rowcount)
        return len(gone)

    def on_revoke(self, listener: OnRevoke) -> Callable[[], None]:
        """Call `listener("cookie:<id>")` when a session is revoked or found ended; return an unsubscriber."""
        return self._listeners.add(listener)

    def _remember(self, session: WebSession, hashed: bytes) -> None:
        expiry = Expiry(self._clock, session.expires_ms / 1000)
        if not expiry.passed():
            self._live[hashed] = _Live(session, hashed, expiry)

    def _find(self, session_id: str) -> _Live | None:
        return next((live for live in self._live.values() if live.session.id == session_id), None)

    def _note_use(self, live: _Live) -> None:
        now_ms = self._now_ms()
        last_ms = live.session.last_used_ms
        if last_ms is not None and 0 <= now_ms - last_ms < USE_NOTED_EVERY_MS:
            return
        live.session = replace(live.session, last_used_ms=now_ms)
        row = (now_ms, live.session.id)
        self._db.post(
            lambda connection: connection.execute("UPDATE web_sessions SET last_used_ms = ? WHERE id = ?", row)
        )

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)
