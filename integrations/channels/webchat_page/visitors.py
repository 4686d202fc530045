"""The identity of a visitor: a random id, and the token that a browser keeps as its proof. Nothing is stored for it."""

from __future__ import annotations

import base64
import hmac
import re
import secrets

from hub.integration.json_storage import JsonStorage

KEY_BYTES = 32
_VISITOR = re.compile(r"[a-z2-7]{16}")


async def signing_key(storage: JsonStorage) -> bytes:
    """Return the key that signs visitors; one is made at first. Without it, everybody is new again.

    Raises:
        HubError: It cannot be read or written.
    """
    kept = await storage.load({})
    if not kept:
        kept = {"key": secrets.token_hex(KEY_BYTES)}
        await storage.save(kept)
    return bytes.fromhex(kept["key"])


def is_visitor(value: str) -> bool:
    """Whether `value` has the form of a visitor's id."""
    return _VISITOR.fullmatch(value) is not None


class Visitors:
    """The visitors of one page.

    Args:
        key: Signs.
        account: The page; a token is good for this one alone.
    """

    def __init__(self, key: bytes, account: str) -> None:
        self._key = key
        self._account = account

    def new(self) -> str:
        """Return the id of a new visitor, 80 random bits. It is not secret; the token is."""
        return base64.b32encode(secrets.token_bytes(10)).decode().lower()

    def token(self, visitor: str) -> str:
        """Return the token of a visitor."""
        digest = hmac.digest(self._key, f"{self._account}\0{visitor}".encode(), "sha256")
        return f"{visitor}.{digest.hex()}"

    def find(self, token: str) -> str | None:
        """Return the visitor whose token this is, or None."""
        visitor = token.partition(".")[0]
        if is_visitor(visitor) and hmac.compare_digest(token.encode(), self.token(visitor).encode()):
            return visitor
        return None
