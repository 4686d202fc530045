"""The server name in a TLS client's first record (RFC 8446, 4.1.2; RFC 6066, 3).

Many hosts share an address: the name of a tunnel alone does not prove which of them answers in it.
"""

from __future__ import annotations

from collections.abc import Callable

from hub.security.tunnel import ReadsBytes

HANDSHAKE = 0x16
_RECORD_HEAD = 5
_CLIENT_HELLO = 1
_SERVER_NAME = 0


class NamedTunnel:
    """Reads from a client, unless it begins TLS with a server name that does not match.

    Args:
        reader: The client's.
        fits: Whether a name is allowed.
    """

    def __init__(self, reader: ReadsBytes, fits: Callable[[str], bool]) -> None:
        self._reader, self._fits = reader, fits
        self._begun = False

    async def read(self, n: int = -1) -> bytes:
        """Return at most `n` bytes, and the whole first record of TLS at once.

        Raises:
            ConnectionError: The name does not fit, or cannot be read.
        """
        chunk = await self._reader.read(n)
        if self._begun or not chunk:
            return chunk
        self._begun = True
        if chunk[0] != HANDSHAKE:
            return chunk
        while len(chunk) < _RECORD_HEAD or len(chunk) < _RECORD_HEAD + int.from_bytes(chunk[3:5]):
            if not (more := await self._reader.read(n)):
                break
            chunk += more
        try:
            name = server_name(chunk[_RECORD_HEAD : _RECORD_HEAD + int.from_bytes(chunk[3:5])])
        except (IndexError, ValueError):
            raise ConnectionError("its first record is not a complete ClientHello") from None
        if name is not None and not self._fits(name):
            raise ConnectionError(f"it asks for {name:.100}, which is not the host it was opened for")
        return chunk


def server_name(hello: bytes) -> str | None:
    """Return the name in a handshake message; None when it has none.

    Raises:
        ValueError, IndexError: It is not a ClientHello, or not a whole one.
    """
    if hello[0] != _CLIENT_HELLO or len(hello) < 4 + int.from_bytes(hello[1:4]):
        raise ValueError("the ClientHello is not complete")
    at = 4 + 2 + 32  # its head, version and random
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at : at + 2])
    at += 1 + hello[at]
    end = at + 2 + int.from_bytes(hello[at : at + 2])
    at += 2
    while at < end:
        kind, size = int.from_bytes(hello[at : at + 2]), int.from_bytes(hello[at + 2 : at + 4])
        at += 4
        if kind == _SERVER_NAME:  # a list of one name, with its kind
            return hello[at + 5 : at + size].decode("ascii").lower().rstrip(".")
        at += size
    return None
