"""Setup codes: pair a phone or another computer by a QR code that its owner shows it.

A code is base64url of `{url, bootstrapToken, expiresAtMs}`. It holds for ten minutes and one device, and no longer than
the hub runs: the hub keeps hashes of the tokens in memory alone.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.surfaces import BROWSER
from hub.gateway.access.auth import WrongCredential
from hub.gateway.access.device_grants import token_hash
from hub.gateway.access.hosts import lan_address
from hub.gateway.calls.settings import HttpSettings

LIFE_MS = 600_000
OPEN_LIMIT = 20
KEPT_LIMIT = 50
"""Codes that were used or have expired are remembered, so that whoever showed one learns what came of it."""
TOKEN_BYTES = 32
PHONE_SCOPES = (
    *("operator.admin", "operator.approvals", "operator.questions", "operator.read"),
    *("operator.talk.secrets", "operator.write"),
)
TAB_PROFILE = "tab"
PROFILES: Mapping[str, tuple[str, ...]] = {
    "full": PHONE_SCOPES,
    "limited": tuple(scope for scope in PHONE_SCOPES if scope != "operator.admin"),
    "node": (),
    TAB_PROFILE: (BROWSER,),
}
"""The operator scopes of each kind of code; every kind but `tab` lets the device in as a node, too."""


class SetupCode(Struct, frozen=True):
    """A code that pairs one device.

    Attributes:
        profile: One of `PROFILES`.
        scopes: The rights of the device as an operator; without any it is a node alone.
        owner: Id of the owner who made it; None if it was not an owner.
        made_by: The credentials with which it was made.
    """

    id: str
    profile: str
    scopes: tuple[str, ...]
    owner: str | None
    made_by: frozenset[str]
    expires_ms: int

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """The roles that the device gets, each with its scopes."""
        node: dict[str, tuple[str, ...]] = {} if self.profile == TAB_PROFILE else {"node": ()}
        return node | ({"operator": self.scopes} if self.scopes else {})


class SetupCodes:
    """Makes setup codes and redeems each of them once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[bytes, SetupCode] = {}
        self._completed: dict[str, Mapping[str, Any]] = {}

    def make(self, profile: str, by: Authority, made_by: frozenset[str]) -> tuple[SetupCode, str]:
        """Return a new code and its token; it grants no more than its maker has.

        Raises:
            LimitExceeded: Too many are open.
        """
        now = self._now_ms()
        self._open = {digest: code for digest, code in self._open.items() if code.expires_ms > now}
        if len(self._open) >= OPEN_LIMIT:
            raise LimitExceeded(phrase("too many setup codes are open; wait until they have expired"))
        scopes = tuple(scope for scope in PROFILES[profile] if scope in by.scopes)
        code = SetupCode(new_id(), profile, scopes, by.person if by.owner else None, made_by, now + LIFE_MS)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._open[token_hash(token)] = code
        return code, token

    def take(self, token: str) -> SetupCode:
        """Redeem the code of a token, which becomes invalid.

        Raises:
            WrongCredential: There is none, it was used, or it has expired.
        """
        given = token_hash(token)
        found = next((digest for digest in self._open if hmac.compare_digest(digest, given)), None)
        code = self._open.pop(found) if found is not None else None
        if code is None or code.expires_ms <= self._now_ms():
            raise WrongCredential(
                phrase("this setup code is not valid: it works once and for ten minutes; make another"),
                details={"code": "AUTH_BOOTSTRAP_TOKEN_INVALID"},
            )
        return code

    def complete(self, code: SetupCode, device_id: str, name: str) -> Mapping[str, Any]:
        """Note which device used a code, and return it as the protocol shows it."""
        facts = {"setupId": code.id, "deviceId": device_id, "deviceName": name, "access": code.profile}
        while len(self._completed) >= KEPT_LIMIT:
            del self._completed[next(iter(self._completed))]
        self._completed[code.id] = facts | {"ts": self._now_ms()}
        return self._completed[code.id]

    def completion(self, id: str) -> Mapping[str, Any] | None:
        """Return which device used a code, or None."""
        return self._completed.get(id)

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def encode_code(url: str, token: str, expires_ms: int) -> str:
    """Return the encoded code, as text or for a QR code."""
    data = {"url": url, "bootstrapToken": token, "expiresAtMs": expires_ms}
    return urlsafe_b64encode(orjson.dumps(data)).decode().rstrip("=")


def device_url(settings: HttpSettings, port: int) -> str:
    """Return the address by which another device reaches this hub.

    Raises:
        InvalidRequest: Only this machine can.
    """
    if settings.in_worker is not None:
        return settings.in_worker.url.replace("http", "ws", 1)
    if settings.loopback:
        raise InvalidRequest(
            phrase(
                "the hub listens on this machine only (http: host: {host}); set `http: host: 0.0.0.0` with "
                "`http: tls:`, or name the address of a proxy or tunnel: --url wss://hub.example",
                host=settings.host,
            )
        )
    from hub.core.container import has_own_network

    if not settings.lacks_loopback and has_own_network():
        raise InvalidRequest(
            phrase(
                "the hub runs in a container with a network of its own, and does not know the address of its machine; "
                "name it: --url wss://hub.example"
            )
        )
    host = settings.host if settings.lacks_loopback else lan_address()
    return f"{'wss' if settings.tls else 'ws'}://{f'[{host}]' if ':' in host else host}:{port}"


def check_url(url: str) -> str:
    """Return the address of a WebSocket that a person has named.

    Raises:
        InvalidRequest: It is not one.
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
        valid = valid and parts.username is None and not (parts.query or parts.fragment)
    except ValueError:
        valid = False
    if not valid:
        raise InvalidRequest(phrase("publicUrl: expected an address such as wss://hub.example:8443"))
    return url


def is_open_wire(url: str) -> bool:
    """Whether others on the network can read what is sent to this address."""
    parts = urlsplit(url)
    if parts.scheme == "wss" or parts.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return True
