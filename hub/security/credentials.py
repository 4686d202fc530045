"""Shared by all credentials: random secrets, stored only as digests, with an expiry."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from hub.core.clock import Clock
from hub.core.context import SCOPES, Authority
from hub.core.errors import Forbidden, InvalidRequest
from hub.core.sql import SqlConnection

_log = logging.getLogger(__name__)

T = TypeVar("T")

OnRevoke = Callable[[str], None]
PLAIN_LENGTH_LIMIT = 512
_NAMING = re.compile(
    r"(?:hom(?:tok|dev)_(?P<home>[a-z0-9-]{1,63})\.[A-Za-z0-9_-]{43}"
    r"|homacc_(?P<brief>[a-z0-9-]{1,63})\.[A-Za-z0-9]{16,64}\.[0-9]{10,11}\.[0-9a-f]{64})"
)


class CredentialStore(Protocol):
    """The store of credentials: the hub database, passed in from above."""

    async def write(self, fn: Callable[[SqlConnection], T]) -> T:
        """Run `fn` in a transaction; it is durable when this returns."""
        ...

    async def read(self, fn: Callable[[SqlConnection], T]) -> T:
        """Run `fn` over one unchanging state."""
        ...

    def post(self, fn: Callable[[SqlConnection], Any]) -> bool:
        """Run `fn` in a transaction without waiting."""
        ...


def new_plain(prefix: str, home: str | None = None) -> str:
    """Return a fresh secret of 256 random bits, with a prefix that redactors recognise.

    Args:
        home: The home among those of a worker, which the secret names: any worker knows where to bring it.
    """
    return f"{prefix}{named(home)}{secrets.token_urlsafe(32)}"


def named(home: str | None) -> str:
    """Return how a secret names its home, behind its prefix: `elm.`; nothing for a hub of its own."""
    return f"{home}." if home is not None else ""


def home_named_by(secret: str) -> str | None:
    """Return the home that a token names; None for one of a hub of its own, and for any other text."""
    match = _NAMING.fullmatch(secret) if len(secret) <= PLAIN_LENGTH_LIMIT else None
    return match["home"] or match["brief"] if match is not None else None


def digest(plain: str) -> bytes:
    """Return the stored digest of a credential."""
    return sha256(plain.encode("utf-8", "surrogatepass")).digest()


def same_digest(one: bytes, other: bytes) -> bool:
    """Whether two digests are equal, in constant time."""
    return hmac.compare_digest(one, other)


class Expiry:
    """The expiry of a credential by both clocks: setting the wall clock back does not prolong it.

    Args:
        clock: The clock.
        ends_at_s: Seconds since the epoch; None means never.
    """

    __slots__ = ("_clock", "_monotonic_s", "_wall_s")

    def __init__(self, clock: Clock, ends_at_s: float | None) -> None:
        self._clock = clock
        self._wall_s = ends_at_s
        self._monotonic_s = None if ends_at_s is None else clock.monotonic() + (ends_at_s - clock.time())

    def passed(self) -> bool:
        """Whether it has expired."""
        if self._wall_s is None or self._monotonic_s is None:
            return False
        return self._clock.time() >= self._wall_s or self._clock.monotonic() >= self._monotonic_s


class RevocationListeners:
    """The listeners to revocations: above all, open connections."""

    def __init__(self) -> None:
        self._listeners: list[OnRevoke] = []

    def add(self, listener: OnRevoke) -> Callable[[], None]:
        """Call `listener(credential id)` at each revocation; return a function that unsubscribes."""
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def tell(self, credential_id: str) -> None:
        """Call all listeners, even if some fail."""
        for listener in tuple(self._listeners):
            try:
                listener(credential_id)
            except Exception:  # the next listener may be the one that closes the connection
                _log.exception("a listener failed when %s was revoked", credential_id)


def granted_scopes(requested: Iterable[str], by: Authority | None) -> frozenset[str]:
    """Return the scopes of a new credential.

    Args:
        requested: Names of scopes.
        by: The maker; None means the hub itself.

    Raises:
        InvalidRequest: A name is unknown, or there is none.
        Forbidden: The maker does not have all of them.
    """
    wanted = frozenset(requested)
    unknown = sorted(wanted - SCOPES)
    if unknown:
        raise InvalidRequest(
            f"there is no scope {', '.join(unknown)}; there are: {', '.join(sorted(SCOPES))}",
            details={"unknown": unknown},
        )
    if not wanted:
        raise InvalidRequest(f"name at least one scope of: {', '.join(sorted(SCOPES))}")
    missing = sorted(wanted - by.scopes) if by is not None else []
    if missing:
        raise Forbidden(
            f"you cannot grant scopes that you do not have: {', '.join(missing)}", details={"missing": missing}
        )
    return wanted


def join_scopes(scopes: Iterable[str]) -> str:
    """Return scopes in their stored form."""
    return " ".join(sorted(scopes))


def split_scopes(stored: str) -> frozenset[str]:
    """Read the result of `join_scopes`; unknown scopes grant nothing."""
    return SCOPES.intersection(stored.split())
