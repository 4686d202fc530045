"""Signed tokens (JWT with RS256): those that platforms show with their deliveries, and those that we sign.

Format: https://www.rfc-editor.org/rfc/rfc7519
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import orjson
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, Unauthorized, Unavailable

_log = logging.getLogger(__name__)

TOKEN_CHARS = 8_192
KEYS_S = 86_400.0
UNKNOWN_KEY_S = 300.0
"""How often an unknown key makes us look for new ones: anybody can name one."""
FAILED_S = 10.0
"""How long after a failure: whoever names a key would else let us ask each time."""
SKEW_S = 300.0


class SigningKey(Struct, frozen=True):
    """A public key of a platform; `endorsements` names what it may speak for, where the platform says that."""

    key: RSAPublicKey
    endorsements: frozenset[str] = frozenset()


class SigningKeys:
    """The keys that a platform signs with, fetched when they are first needed and then daily.

    Args:
        fetch: Returns the platform's document with its keys: a JWK set, or certificates by their names.
    """

    def __init__(self, fetch: Callable[[], Awaitable[Any]], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = asyncio.Lock()
        self._keys: Mapping[str, SigningKey] = {}
        self._fetched_at = float("-inf")

    async def get(self, name: str) -> SigningKey | None:
        """Return a key.

        Raises:
            Unavailable: There are none yet, and they cannot be fetched.
        """
        async with self._lock:
            age_s = self._clock.monotonic() - self._fetched_at
            if age_s >= (KEYS_S if name in self._keys else UNKNOWN_KEY_S):
                await self._renew()
            if not self._keys:
                raise Unavailable("the platform's signing keys cannot be fetched")
            return self._keys.get(name)

    async def _renew(self) -> None:
        try:
            if not (keys := keys_of(await self._fetch())):
                raise ValueError("it names none")
        except (HubError, ValueError, LookupError, TypeError, AttributeError) as error:
            _log.warning("the signing keys of a platform cannot be fetched: %s", error)
            self._fetched_at = self._clock.monotonic() - UNKNOWN_KEY_S + FAILED_S
            return
        self._keys, self._fetched_at = keys, self._clock.monotonic()


def keys_of(document: Any) -> dict[str, SigningKey]:
    """Return the RSA keys of a JWK set, or of PEM certificates by their names.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: It is neither.
    """
    if "keys" not in document:
        certificates = {name: x509.load_pem_x509_certificate(pem.encode()) for name, pem in document.items()}
        found = {name: each.public_key() for name, each in certificates.items()}
        return {name: SigningKey(key) for name, key in found.items() if isinstance(key, RSAPublicKey)}
    return {
        each["kid"]: SigningKey(
            RSAPublicNumbers(_number(each["e"]), _number(each["n"])).public_key(),
            frozenset(each.get("endorsements") or ()),
        )
        for each in document["keys"]
        if each.get("kty") == "RSA"
    }


async def verify(
    authorization: str, keys: SigningKeys, *, issuers: Collection[str], audience: str, now: float
) -> tuple[dict[str, Any], SigningKey]:
    """Return the claims of a bearer token, and the key that signed it.

    Args:
        authorization: The value of the header.
        now: Seconds since the epoch.

    Raises:
        Unauthorized: It is missing, not the platform's, for somebody else, or not of this time.
        Unavailable: The platform's keys cannot be had.
    """
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or len(token) > TOKEN_CHARS:
        raise Unauthorized("expected the platform's bearer token")
    try:
        head, body, signature = token.strip().split(".")
        header, signed = orjson.loads(_bytes(head)), f"{head}.{body}".encode()
        name, is_rs256 = str(header["kid"]), header["alg"] == "RS256"
    except (ValueError, LookupError, TypeError) as error:
        raise Unauthorized("the bearer token is malformed") from error
    key = await keys.get(name) if is_rs256 else None
    if key is None:
        raise Unauthorized("the bearer token is signed with an unknown key")
    try:
        key.key.verify(_bytes(signature), signed, PKCS1v15(), SHA256())
        claims: dict[str, Any] = orjson.loads(_bytes(body))
        audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        begins, ends = float(claims.get("nbf", claims.get("iat", 0))), float(claims["exp"])
    except (InvalidSignature, ValueError, LookupError, TypeError) as error:
        raise Unauthorized("the bearer token is not signed by the platform") from error
    if claims.get("iss") not in issuers or audience not in audiences:
        raise Unauthorized("the bearer token is for somebody else")
    if not begins - SKEW_S <= now < ends + SKEW_S:
        raise Unauthorized("the bearer token is not of this time")
    return claims, key


def signed_token(claims: Mapping[str, Any], key: RSAPrivateKey, key_id: str) -> str:
    """Return a token with these claims."""
    header = {"alg": "RS256", "typ": "JWT", "kid": key_id}
    signed = f"{_text(orjson.dumps(header))}.{_text(orjson.dumps(claims))}"
    return f"{signed}.{_text(key.sign(signed.encode(), PKCS1v15(), SHA256()))}"


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text), "big")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
