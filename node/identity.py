"""The node's identity: an Ed25519 key in a file of its own, and what it signs when it connects (payload v3)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .home import NodeHome, NodeProblem

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class NodeIdentity:
    """The key of this node."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        raw = key.public_key().public_bytes_raw()
        self.public_key = _text(raw)
        self.id = sha256(raw).hexdigest()

    def proof(self, connect: Mapping[str, Any], token: str, nonce: str, signed_at_ms: int) -> dict[str, Any]:
        """Return the `device` of a connect request.

        Args:
            connect: The rest of the request's parameters.
            token: The credential presented with it.
            nonce: The challenge's.
            signed_at_ms: The challenge's time.
        """
        client = connect["client"]
        parts = (
            "v3",
            self.id,
            client["id"],
            client["mode"],
            connect["role"],
            ",".join(connect["scopes"]),
            str(signed_at_ms),
            token,
            nonce,
            client["platform"].lower(),
            client["deviceFamily"].lower(),
        )
        return {
            "id": self.id,
            "publicKey": self.public_key,
            "signature": _text(self._key.sign("|".join(parts).encode())),
            "signedAt": signed_at_ms,
            "nonce": nonce,
        }


def identity_of(home: NodeHome) -> NodeIdentity:
    """Return the identity of this node; the first call makes it.

    Raises:
        NodeProblem: The file of the key cannot be read.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    kept = home.read(home.key_file)
    if not kept:
        key = Ed25519PrivateKey.generate()
        home.write(home.key_file, {"version": 1, "privateKey": _text(key.private_bytes_raw())})
        return NodeIdentity(key)
    try:
        text = kept["privateKey"]
        return NodeIdentity(
            Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NodeProblem(f"{home.key_file} holds no key; remove it to pair this node as a new one") from error


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
