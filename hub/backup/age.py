"""Encryption with a passphrase, in the age v1 format (age-encryption.org/v1): `age -d` reads what this writes.

The key is made from the passphrase by scrypt; the data is sealed in pieces of 64 KiB by ChaCha20-Poly1305, each with
its place and the last one marked, so that nothing can be changed, moved, or cut off unnoticed. Both ways are streams.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from base64 import b64decode, b64encode
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hub.backup.errors import BackupDamaged, WrongPassphrase

VERSION = b"age-encryption.org/v1\n"
WORK_FACTOR = 17
"""Base-2 logarithm of scrypt's cost: 128 MiB and about half a second, for whoever guesses as well."""
WORK_FACTOR_LIMIT = 20
"""A file that asks for more than 1 GiB of memory is refused."""
PIECE_BYTES = 65_536

_SALT_LABEL = b"age-encryption.org/v1/scrypt"
_TAG_BYTES = 16
_HEADER = re.compile(
    rb"age-encryption\.org/v1\n-> scrypt ([A-Za-z0-9+/]{22}) ([1-9][0-9]?)\n([A-Za-z0-9+/]{43})\n"
    rb"---( [A-Za-z0-9+/]{43})\n"
)
_HEADER_LIMIT_BYTES = 512


def is_age(head: bytes) -> bool:
    """Whether a file with this beginning is an age file."""
    return head.startswith(VERSION)


class AgeWriter:
    """Encrypts what is written to it.

    Args:
        sink: Where the encrypted bytes go; it is not closed.
        passphrase: Whoever has it can read the file.
    """

    def __init__(self, sink: BinaryIO, passphrase: str, *, work_factor: int = WORK_FACTOR) -> None:
        file_key, salt, nonce = os.urandom(16), os.urandom(16), os.urandom(16)
        wrapped = ChaCha20Poly1305(_wrap_key(passphrase, salt, work_factor)).encrypt(bytes(12), file_key, None)
        head = VERSION + b"-> scrypt %s %d\n%s\n---" % (_encode(salt), work_factor, _encode(wrapped))
        sink.write(head + b" " + _encode(_mac(file_key, head)) + b"\n" + nonce)
        self._sink = sink
        self._seal = ChaCha20Poly1305(_derive(file_key, nonce, b"payload"))
        self._number = 0
        self._waiting = bytearray()

    def write(self, data: bytes | memoryview) -> int:
        """Encrypt data; a piece is passed on once more follows it, since the last one is marked."""
        self._waiting += data
        while len(self._waiting) > PIECE_BYTES:
            self._put(bytes(self._waiting[:PIECE_BYTES]), last=False)
            del self._waiting[:PIECE_BYTES]
        return len(data)

    def flush(self) -> None:
        """Do nothing: only whole pieces can be written."""

    def close(self) -> None:
        """Write the last piece."""
        self._put(bytes(self._waiting), last=True)
        self._waiting.clear()

    def _put(self, piece: bytes, *, last: bool) -> None:
        self._sink.write(self._seal.encrypt(_nonce(self._number, last=last), piece, None))
        self._number += 1


class AgeReader:
    """Decrypts a file that a passphrase protects.

    Args:
        source: The file, at its beginning.

    Raises:
        WrongPassphrase: The passphrase is another one.
        BackupDamaged: The header of the file is not that of a passphrase-encrypted file.
    """

    def __init__(self, source: BinaryIO, passphrase: str) -> None:
        found = _HEADER.match(head := source.read(_HEADER_LIMIT_BYTES))
        if found is None:
            raise BackupDamaged("the file is not encrypted with a passphrase, or its header is damaged")
        salt, factor, wrapped, mac = (_decode(found[1]), int(found[2]), _decode(found[3]), _decode(found[4][1:]))
        if factor > WORK_FACTOR_LIMIT:
            raise BackupDamaged(f"the file has the work factor {factor}; expected at most {WORK_FACTOR_LIMIT}")
        try:
            file_key = ChaCha20Poly1305(_wrap_key(passphrase, salt, factor)).decrypt(bytes(12), wrapped, None)
        except InvalidTag:
            raise WrongPassphrase("this is not the passphrase of the backup") from None
        if not hmac.compare_digest(mac, _mac(file_key, head[: found.start(4)])):
            raise BackupDamaged("the header of the encrypted file is damaged")
        self._rest = head[found.end() :]
        self._source = source
        self._open = ChaCha20Poly1305(_derive(file_key, self._take(16), b"payload"))
        self._number = 0
        self._piece = self._take(PIECE_BYTES + _TAG_BYTES)
        self._clear = b""

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` decrypted bytes; empty at the end.

        Raises:
            BackupDamaged: Bytes of the file changed, or its end is missing.
        """
        while not self._clear and self._piece is not None:
            self._clear = self._next()
        taken = self._clear if size < 0 else self._clear[:size]
        self._clear = self._clear[len(taken) :]
        return taken

    def _next(self) -> bytes:
        """Decrypt a piece; whether it is the last one shows when nothing follows it."""
        piece = self._piece or b""
        following = self._take(PIECE_BYTES + _TAG_BYTES)
        try:
            clear = self._open.decrypt(_nonce(self._number, last=not following), piece, None)
        except InvalidTag:
            raise BackupDamaged("the encrypted file is damaged or was cut short") from None
        self._number += 1
        self._piece = following or None
        return clear

    _piece: bytes | None

    def _take(self, size: int) -> bytes:
        """Return the next bytes of the file, fewer only at its end."""
        taken = self._rest[:size]
        self._rest = self._rest[size:]
        while len(taken) < size and (more := self._source.read(size - len(taken))):
            taken += more
        return taken


def _wrap_key(passphrase: str, salt: bytes, factor: int) -> bytes:
    cost = 1 << factor
    return hashlib.scrypt(
        passphrase.encode(), salt=_SALT_LABEL + salt, n=cost, r=8, p=1, maxmem=cost * 8 * 128 + (1 << 20), dklen=32
    )


def _derive(key: bytes, salt: bytes, label: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, label).derive(key)


def _mac(file_key: bytes, head: bytes) -> bytes:
    return hmac.digest(_derive(file_key, b"", b"header"), head, "sha256")


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _encode(data: bytes) -> bytes:
    return b64encode(data).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    return b64decode(text + b"=" * (-len(text) % 4))
