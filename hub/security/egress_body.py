"""Bodies of answers from outside: read within a bound, before and after they are decompressed."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

ACCEPTED_ENCODINGS = "gzip, deflate"
_CHUNK_BYTES = 64 * 1024
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_GZIP_START = 0x1F
_DEFLATE_METHOD = 8


class BodyRefused(Exception):
    """The body cannot be accepted; the message says why, and follows "its answer "."""


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit_bytes: int) -> bytes:
    """Return a body, decompressed.

    Args:
        chunks: The bytes as they come.
        encoding: The `Content-Encoding` header, in any case; empty for none.
        limit_bytes: The limit on it, as sent and decompressed.

    Raises:
        BodyRefused: It is larger, compressed in an unrequested way, or damaged.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return await _read_plain(chunks, limit_bytes)
    if name not in {"gzip", "x-gzip", "deflate"}:
        raise BodyRefused(f"is compressed in an unrequested way ({name[:40]})")
    return await _read_compressed(chunks, limit_bytes, is_gzip=name != "deflate")


async def _read_plain(chunks: AsyncIterator[bytes], limit_bytes: int) -> bytes:
    found = bytearray()
    async for chunk in chunks:
        found += chunk
        if len(found) > limit_bytes:
            raise _too_large(limit_bytes)
    return bytes(found)


async def _read_compressed(chunks: AsyncIterator[bytes], limit_bytes: int, *, is_gzip: bool) -> bytes:
    found = bytearray()
    received = 0
    decompress: zlib._Decompress | None = None
    async for chunk in chunks:
        received += len(chunk)
        if received > limit_bytes:
            raise _too_large(limit_bytes)
        rest = chunk
        while rest:
            if decompress is None:
                decompress = _begin(rest, is_gzip=is_gzip)
            elif decompress.eof:
                if not is_gzip or rest[0] != _GZIP_START:
                    break  # padding behind the end
                decompress = _begin(rest, is_gzip=True)  # one gzip file may hold several members
            rest = _step(decompress, rest, found, limit_bytes)
    if decompress is None:
        return b""
    found += decompress.flush()  # a few bytes at most: everything received was consumed
    if len(found) > limit_bytes:
        raise _too_large(limit_bytes)
    if not decompress.eof:
        raise BodyRefused("ended in the middle of its compressed data")
    return bytes(found)


def _begin(data: bytes, *, is_gzip: bool) -> zlib._Decompress:
    """Return a decompressor; `deflate` is zlib by the standard, and raw from many servers."""
    is_raw = not is_gzip and data[0] & 0x0F != _DEFLATE_METHOD
    return zlib.decompressobj(-zlib.MAX_WBITS if is_raw else _GZIP_OR_ZLIB)


def _step(decompress: zlib._Decompress, data: bytes, found: bytearray, limit_bytes: int) -> bytes:
    """Decompress some of `data` into `found`; return what is left of it."""
    try:
        found += decompress.decompress(data, min(_CHUNK_BYTES, limit_bytes + 1 - len(found)))
    except zlib.error as error:
        raise BodyRefused(f"is damaged ({error})") from error
    if len(found) > limit_bytes:
        raise _too_large(limit_bytes)
    return decompress.unused_data if decompress.eof else decompress.unconsumed_tail


def _too_large(limit_bytes: int) -> BodyRefused:
    return BodyRefused(f"has more than {limit_bytes} bytes")
