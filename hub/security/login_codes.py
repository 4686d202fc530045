"""Login codes: single-use, ten minutes, short enough to be typed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.security.credentials import CredentialStore, Expiry, digest, granted_scopes, join_scopes, split_scopes

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without 0, O, 1 and I, which look alike."""
GROUP_LENGTH = 5
GROUPS = 2
EXPIRES_S = 600.0
PENDING_LIMIT = 16
TYPED_LENGTH_LIMIT = 64


class LoginCodes:
    """Makes and redeems login codes; the caller limits attempts.

    Args:
        db: The hub database, open, with the table `login_codes`.
        clock: The clock.
    """

    def __init__(self, db: CredentialStore, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._pending: dict[bytes, tuple[frozenset[str], Expiry]] = {}

    async def open(self) -> None:
        """Load the valid codes and delete the others."""
        now_ms = self._now_ms()

        def read(connection: Any) -> list[tuple[Any, ...]]:
            connection.execute("DELETE FROM login_codes WHERE expires_ms <= ? OR used_ms IS NOT NULL", (now_ms,))
            found: list[tuple[Any, ...]] = connection.execute(
                "SELECT hash, expires_ms, scopes FROM login_codes ORDER BY created_ms"
            ).fetchall()
            return found

        self._pending = {
            bytes(hashed): (split_scopes(scopes), Expiry(self._clock, expires_ms / 1000))
            for hashed, expires_ms, scopes in await self._db.write(read)
        }

    async def create(
        self, scopes: Iterable[str] = ("operator.admin",), expires_s: float = EXPIRES_S, *, by: Authority | None = None
    ) -> str:
        """Make a code such as `K7WQX-2MPRT`; above 16 pending codes, the oldest becomes invalid.

        Args:
            scopes: The rights of the session it opens.
            expires_s: Seconds it is good for.
            by: The maker, and so the most it can grant; None means the hub itself.
        """
        granted = granted_scopes(scopes, by)
        groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS))
        code = "-".join(groups)
        hashed = digest(_plain(code))
        now_ms = self._now_ms()
        expires_ms = now_ms + int(expires_s * 1000)
        self._forget_ended()
        dropped = list(self._pending)[: max(0, len(self._pending) - PENDING_LIMIT + 1)]
        for old in dropped:
            del self._pending[old]

        def write(connection: Any) -> None:
            connection.executemany("DELETE FROM login_codes WHERE hash = ?", [(old,) for old in dropped])
            connection.execute("DELETE FROM login_codes WHERE expires_ms <= ? OR used_ms IS NOT NULL", (now_ms,))
            connection.execute(
                "INSERT INTO login_codes(hash, created_ms, expires_ms, scopes) VALUES(?,?,?,?)",
                (hashed, now_ms, expires_ms, join_scopes(granted)),
            )

        await self._db.write(write)
        self._pending[hashed] = (granted, Expiry(self._clock, expires_ms / 1000))
        return code

    async def redeem(self, code: str) -> frozenset[str] | None:
        """Redeem a code; return its scopes, or None if it is invalid (unknown, expired, used).

        Case, spaces and hyphens do not matter. It is used up before this waits for anything, so that of two who come
        with it at once only one gets in; and on disk before this returns, so that a restart does not revive it.
        """
        if len(code) > TYPED_LENGTH_LIMIT:
            return None
        hashed = digest(_plain(code))
        found = self._pending.pop(hashed, None)
        if found is None:
            return None
        scopes, expiry = found
        now_ms = self._now_ms()
        await self._db.write(
            lambda connection: (
                connection.execute("UPDATE login_codes SET used_ms = ? WHERE hash = ?", (now_ms, hashed)).rowcount
            )
        )
        return None if expiry.passed() else scopes

    def _forget_ended(self) -> None:
        self._pending = {key: each for key, each in self._pending.items() if not each[1].passed()}

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _plain(code: str) -> str:
    return "".join(symbol for symbol in code.upper() if symbol not in " -\t\r\n")
