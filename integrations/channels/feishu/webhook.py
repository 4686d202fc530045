"""The webhook of an app: events that are signed and encrypted with its Encrypt Key.

Source: https://open.feishu.cn/document/event-subscription-guide/event-subscriptions/event-subscription-configure-/encrypt-key-encryption-configuration-case
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import orjson
from aiohttp import web

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, Unauthorized
from hub.core.secret import Secret
from hub.core.surfaces import HttpCall, Open, Route
from hub.security.webhook_signature import TOLERANCE_S
from integrations.channels.feishu.intake import FeishuIntake

BODY_BYTES = 2 * 1024 * 1024
CHALLENGE_BYTES = 4_096
STAMP, NONCE, SIGNATURE = "X-Lark-Request-Timestamp", "X-Lark-Request-Nonce", "X-Lark-Signature"
_BLOCK = 16


class FeishuWebhook:
    """Hands events to an app's intake.

    Args:
        intake: Returns the intake while the app is connected.
    """

    def __init__(self, account: str, key: Secret, clock: Clock) -> None:
        self._account = account
        self._key = key
        self._clock = clock
        self.intake: FeishuIntake | None = None

    def route(self) -> Route:
        """Return the route that Feishu posts to."""
        path = f"/feishu/{self._account}"
        return Route("POST", path, self.deliver, "feishu", Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES)

    async def deliver(self, call: HttpCall) -> web.StreamResponse:
        """`POST /feishu/<account>`: take an event; it is on disk when this answers 200, and otherwise comes again."""
        body, headers = bytes(call.body or b""), call.request.headers
        signed = is_signed(self._key.reveal(), body, headers, self._clock.time())
        # Feishu does not sign its question whether the address is ours; whoever can encrypt it has the key.
        if not signed and (SIGNATURE in headers or len(body) > CHALLENGE_BYTES):
            raise Unauthorized("the signature is wrong, or older than five minutes; compare encrypt_key")
        try:
            event = decrypted(self._key.reveal(), body)
        except ValueError as error:
            if not signed:
                raise Unauthorized("the signature is missing") from error
            raise InvalidRequest(f"this is no event of Feishu's: {error}") from error
        if event.get("type") == "url_verification":
            return web.json_response({"challenge": event.get("challenge")})
        if not signed:
            raise Unauthorized("the signature is missing")
        if self.intake is None:
            return web.json_response({}, status=503)
        return web.json_response(await self.intake.take(orjson.dumps(event)) or {})


def signature_of(key: str, stamp: str, nonce: str, body: bytes) -> str:
    """Return the signature of a body."""
    return sha256(f"{stamp}{nonce}{key}".encode("utf-8", "replace") + body).hexdigest()


def is_signed(key: str, body: bytes, headers: Mapping[str, str], now: float) -> bool:
    """Whether a body was signed with the key, and within the last five minutes."""
    stamp, given = headers.get(STAMP, ""), headers.get(SIGNATURE, "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 20):
        return False
    expected = signature_of(key, stamp, headers.get(NONCE, ""), body)
    if not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
        return False
    at = int(stamp)
    while at > 10**11:  # milliseconds, or less
        at //= 1_000
    return abs(now - at) <= TOLERANCE_S


def decrypted(key: str, body: bytes) -> dict[str, Any]:
    """Return the event of a body: AES-256 in CBC mode, whose first block is the initialisation vector.

    Raises:
        ValueError: It holds none.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    try:
        data = base64.b64decode(orjson.loads(body)["encrypt"], validate=True)
    except (LookupError, TypeError, binascii.Error) as error:
        raise ValueError(f"it is not encrypted: {error!r}") from error
    if len(data) < 2 * _BLOCK or len(data) % _BLOCK:
        raise ValueError("it is cut off")
    cipher = Cipher(algorithms.AES256(sha256(key.encode()).digest()), modes.CBC(data[:_BLOCK])).decryptor()
    padding = PKCS7(8 * _BLOCK).unpadder()
    event = orjson.loads(padding.update(cipher.update(data[_BLOCK:]) + cipher.finalize()) + padding.finalize())
    if not isinstance(event, dict):
        raise ValueError("it is no event")
    return event
