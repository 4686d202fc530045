"""Device identity: the text a device signs when it connects, and its verification. Pure but for the library."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from hub.core.errors import HubError

SIGNED_AT_TOLERANCE_MS = 120_000
KEY_BYTES = 32
SIGNATURE_BYTES = 64


class DeviceAuthFailed(HubError):
    """A device did not prove who it is; `details.code` says why in the protocol's words."""

    code = "UNAUTHORIZED"
    http_status = 401


class DeviceProof(Struct, frozen=True):
    """The proof of a device: its id, raw public key and signature (base64url), when it signed (ms), and the nonce."""

    id: str
    public_key: str
    signature: str
    signed_at_ms: int
    nonce: str


class SignedClient(Struct, frozen=True):
    """Further fields of the signed text."""

    client_id: str
    client_mode: str
    role: str
    scopes: Sequence[str]
    token: str
    platform: str
    device_family: str


def payload_v2(proof: DeviceProof, client: SignedClient) -> str:
    """Return the text that protocol v2 signs."""
    return "|".join(("v2", *_parts(proof, client)))


def payload_v3(proof: DeviceProof, client: SignedClient) -> str:
    """Return the text that protocol v3 signs: v2's, with platform and device family."""
    tail = (_normal(client.platform), _normal(client.device_family))
    return "|".join(("v3", *_parts(proof, client), *tail))


def device_id(public_key: bytes) -> str:
    """Return the id of a raw public key."""
    return sha256(public_key).hexdigest()


def decode_base64url(text: str, size: int) -> bytes | None:
    """Return the bytes of unpadded base64url of exactly `size` bytes, or None."""
    if len(text) > size * 2:
        return None
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == size else None


def verify(proof: DeviceProof, client: SignedClient, nonce: str, now_ms: int) -> None:
    """Raise unless the device holds the private key and signed this very connection.

    Raises:
        DeviceAuthFailed: With `details.code` as the protocol names it.
    """
    if not proof.nonce:
        raise _failed("DEVICE_AUTH_NONCE_REQUIRED", "the device did not sign the challenge's nonce")
    if proof.nonce != nonce:
        raise _failed("DEVICE_AUTH_NONCE_MISMATCH", "the device signed another nonce than the challenge's")
    key = decode_base64url(proof.public_key, KEY_BYTES)
    if key is None:
        raise _failed("DEVICE_AUTH_PUBLIC_KEY_INVALID", "the public key is not 32 bytes in base64url")
    if device_id(key) != proof.id.lower():
        raise _failed("DEVICE_AUTH_DEVICE_ID_MISMATCH", "the device id is not the hash of its public key")
    if abs(now_ms - proof.signed_at_ms) > SIGNED_AT_TOLERANCE_MS:
        raise _failed("DEVICE_AUTH_SIGNATURE_EXPIRED", "the device's clock is more than two minutes off")
    signature = decode_base64url(proof.signature, SIGNATURE_BYTES)
    if signature is None or not _holds(key, signature, payload_v3(proof, client), payload_v2(proof, client)):
        raise _failed("DEVICE_AUTH_SIGNATURE_INVALID", "the device's signature does not hold")


def _holds(key: bytes, signature: bytes, *texts: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = Ed25519PublicKey.from_public_bytes(key)
    for text in texts:
        try:
            public.verify(signature, text.encode())
        except InvalidSignature:
            continue
        return True
    return False


def _parts(proof: DeviceProof, client: SignedClient) -> tuple[str, ...]:
    return (
        proof.id,
        client.client_id,
        client.client_mode,
        client.role,
        ",".join(client.scopes),
        str(proof.signed_at_ms),
        client.token,
        proof.nonce,
    )


def _normal(text: str) -> str:
    return "".join(each.lower() if each.isascii() else each for each in text.strip())


def _failed(code: str, message: str) -> DeviceAuthFailed:
    return DeviceAuthFailed(message, details={"code": code})
