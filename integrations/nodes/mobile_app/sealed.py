"""The encryption of the wire: NaCl's SecretBox, nonce first, in base64."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from typing import Any

from hub.core.errors import InvalidRequest

KEY_BYTES = 32


def new_key() -> str | None:
    """Return a key in hex, or None when the package for it is not installed."""
    try:
        import nacl.secret  # noqa: F401
    except ModuleNotFoundError:
        return None
    return secrets.token_hex(KEY_BYTES)


def seal(key: str, data: Any) -> str:
    """Encrypt plain data."""
    from nacl.secret import SecretBox

    sealed = SecretBox(bytes.fromhex(key)).encrypt(json.dumps(data, ensure_ascii=False).encode())
    return base64.b64encode(bytes(sealed)).decode()


def unseal(key: str, text: str) -> Any:
    """Return the plain data.

    Raises:
        InvalidRequest: It was not encrypted with this key.
    """
    from nacl.exceptions import CryptoError
    from nacl.secret import SecretBox

    try:
        return json.loads(SecretBox(bytes.fromhex(key)).decrypt(base64.b64decode(text, validate=True)) or b"{}")
    except (CryptoError, binascii.Error, ValueError, TypeError) as error:
        raise InvalidRequest("encrypted_data cannot be decrypted with the key of this registration") from error
