"""Decrypts the files of WeCom: AES-256-CBC, each with a key of its own."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

PADDED_TO = 32
"""The padding fills blocks of 32 bytes, though those of AES have 16."""


async def decrypted(pieces: AsyncIterator[bytes], key: str) -> AsyncIterator[bytes]:
    """Yield a file in the clear, piece by piece.

    Args:
        key: 32 bytes in base64, whose padding may be missing.

    Raises:
        ValueError: The key is none, or the file is not encrypted with it.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    secret = base64.b64decode(key + "=" * (-len(key) % 4), validate=True)
    if len(secret) != PADDED_TO:
        raise ValueError(f"a key of {len(secret)} bytes")
    cipher = Cipher(algorithms.AES256(secret), modes.CBC(secret[:16])).decryptor()
    held = b""
    async for piece in pieces:
        held += cipher.update(piece)
        ready, held = held[:-PADDED_TO], held[-PADDED_TO:]
        if ready:
            yield ready
    held += cipher.finalize()
    filled = held[-1] if held else 0
    if not 1 <= filled <= PADDED_TO or held[-filled:] != bytes([filled]) * filled:
        raise ValueError("the padding is wrong")
    if rest := held[:-filled]:
        yield rest
