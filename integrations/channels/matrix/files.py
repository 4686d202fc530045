"""Getting the bytes of attachments from the homeserver, in pieces, and decrypting those of encrypted rooms."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hub.core.errors import HubError, Unavailable

if TYPE_CHECKING:
    from nio import AsyncClient

PIECE_BYTES = 64 * 1024
STALLED_S = 30.0
_ADDRESS = re.compile(r"mxc://([A-Za-z0-9.:\[\]-]{1,255})/([A-Za-z0-9_-]{1,255})")
_PLACES = ("/_matrix/client/v1/media/download", "/_matrix/media/v3/download")
"""Where media are, with authentication since 2024, and on older homeservers."""


async def fetch(client: AsyncClient, reference: str) -> AsyncIterator[bytes]:
    """Yield a file in pieces.

    Raises:
        HubError: The reference is damaged, the homeserver does not have the file, or it is not the encrypted one;
            then what was yielded must be discarded.
    """
    file = json.loads(reference) if reference.startswith("{") else {"url": reference}
    found = _ADDRESS.fullmatch(str(file.get("url")))
    if found is None:
        raise HubError(f"{str(file.get('url'))[:100]!r} is not an address of a file on Matrix")
    pieces = _download(client, f"{quote(found[1])}/{quote(found[2])}")
    async for piece in _decrypted(pieces, file) if "key" in file else pieces:
        yield piece


async def _download(client: AsyncClient, path: str) -> AsyncIterator[bytes]:
    from aiohttp import ClientError, ClientTimeout

    limit = ClientTimeout(sock_connect=STALLED_S, sock_read=STALLED_S)
    headers = {"Authorization": f"Bearer {client.access_token}"}
    status = 0
    try:
        for place in _PLACES:
            async with await client.send("GET", f"{place}/{path}", headers=headers, timeout=limit) as response:
                status = response.status
                if status == 200:
                    async for piece in response.content.iter_chunked(PIECE_BYTES):
                        yield piece
                    return
            if status not in (404, 405):
                break
    except (ClientError, TimeoutError, OSError) as error:
        raise Unavailable(f"the homeserver did not send the file: {error}") from error
    raise HubError(f"the homeserver does not give the file ({status})")


async def _decrypted(pieces: AsyncIterator[bytes], file: dict[str, Any]) -> AsyncIterator[bytes]:
    """Yield what was encrypted with AES-CTR, as in "Sending encrypted attachments" of the specification."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    try:
        key, start, digest = (_bytes(part) for part in (file["key"]["k"], file["iv"], file["hashes"]["sha256"]))
        decryptor = Cipher(algorithms.AES(key), modes.CTR(start)).decryptor()
    except (KeyError, TypeError, ValueError) as error:
        raise HubError(f"the keys of the file are damaged: {error}") from error
    seen = hashlib.sha256()
    async for piece in pieces:
        seen.update(piece)
        yield decryptor.update(piece)
    if not hmac.compare_digest(seen.digest(), digest):
        raise HubError("the file is not the one that was encrypted")


def _bytes(text: str) -> bytes:
    """Decode unpadded base64 in either alphabet."""
    return base64.b64decode(text.replace("-", "+").replace("_", "/") + "==")
