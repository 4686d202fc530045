"""Dashboard sessions behind browsers' cookies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.security.credentials import digest, granted_scopes, join_scopes, new_plain, split_scopes
from hub.security.live_credentials import Credential, LiveCredentials

EXPIRES_S = 30 * 86_400.0
SESSION_LIMIT = 200

_COLUMNS = "id, hash, principal, scopes, created_ms, last_used_ms, expires_ms"
_SELECT = f"SELECT {_COLUMNS} FROM web_sessions"  # noqa: S608  made of constants


class WebSession(Credential, frozen=True, kw_only=True):
    """A signed-in browser.

    Attributes:
        principal: The signed-in principal.
    """

    KIND: ClassVar[str] = "cookie"

    principal: str


class WebSessions(LiveCredentials[WebSession]):
    """Makes, checks and revokes dashboard sessions.

    Args:
        db: The hub database, open, with the table `web_sessions`.
        clock: The clock.
    """

    PREFIX = "homweb_"
    TABLE = "web_sessions"

    async def open(self) -> None:
        """Load the sessions; expired ones are deleted."""
        now_ms = self._now_ms()
        self._db.post(
            lambda connection: connection.execute("DELETE FROM web_sessions WHERE expires_ms <= ?", (now_ms,))
        )
        rows: list[tuple[Any, ...]] = await self._db.read(lambda connection: connection.execute(_SELECT).fetchall())
        self._live.clear()
        for id, hashed, principal, scopes, created_ms, last_used_ms, expires_ms in rows:
            session = WebSession(
                id=id,
                principal=principal,
                scopes=split_scopes(scopes),
                created_ms=created_ms,
                last_used_ms=last_used_ms,
                expires_ms=expires_ms,
            )
            self._remember(session, bytes(hashed))

    async def create(
        self,
        principal: str,
        scopes: Iterable[str],
        expires_s: float = EXPIRES_S,
        *,
        by: Authority | None = None,
    ) -> tuple[WebSession, Secret]:
        """Create a browser session; durable when this returns. Above 200, the longest unused is signed out.

        Args:
            principal: The principal.
            scopes: Its rights.
            expires_s: Seconds until it must sign in again.
            by: The approver, whose rights limit it; None means the hub itself.

        Returns:
            The session, and the value of its cookie.
        """
        if not 0 < expires_s <= 366 * 86_400:
            raise InvalidRequest("expected a session of more than 0 seconds and at most a year")
        granted = granted_scopes(scopes, by)
        while len(self._live) >= SESSION_LIMIT:
            oldest = min(
                self._live.values(), key=lambda live: live.credential.last_used_ms or live.credential.created_ms
            )
            await self.revoke(oldest.credential.id)
        now_ms = self._now_ms()
        expires_ms = now_ms + int(expires_s * 1000)
        session = WebSession(id=new_id(), principal=principal, scopes=granted, created_ms=now_ms, expires_ms=expires_ms)
        plain = new_plain(self.PREFIX)
        hashed = digest(plain)
        row = (session.id, hashed, principal, join_scopes(granted), now_ms, None, expires_ms)
        await self._db.write(
            lambda connection: (
                connection.execute(f"INSERT INTO web_sessions({_COLUMNS}) VALUES(?,?,?,?,?,?,?)", row).rowcount
            )
        )
        self._remember(session, hashed)
        return session, Secret(plain)

    def list(self) -> list[WebSession]:
        """Return the valid sessions, newest first."""
        good = [live.credential for live in self._live.values() if not live.expiry.passed()]
        return sorted(good, key=lambda session: session.created_ms, reverse=True)

    async def revoke(self, session_id: str) -> bool:
        """Sign a browser out, at once and for good; return whether it was signed in."""
        live = self._find(session_id)
        if live is None:
            return False
        self._forget(live)
        await self._db.write(
            lambda connection: connection.execute("DELETE FROM web_sessions WHERE id = ?", (session_id,)).rowcount
        )
        return True
