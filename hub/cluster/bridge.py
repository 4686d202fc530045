"""A WebSocket brought from one connection to another, byte by byte; only the ends of frames are looked for."""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp.base_protocol import BaseProtocol

CLOSE_RESTART = 1012
"""What a hub says that restarts: clients connect again."""
_RESTART = b"home moves"
_CLOSE = bytes((0x88, 2 + len(_RESTART))) + CLOSE_RESTART.to_bytes(2, "big") + _RESTART
_CLOSE_CODE = 0x8
FLUSH_S = 5.0
"""How long a client may take to read what is left when its bridge ends."""


class FrameEnds:
    """Follows the frames that a server sends, so that one can be put between two."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._left = 0
        self._closed = False

    @property
    def between(self) -> bool:
        """Whether a frame may begin here."""
        return not (self._header or self._left or self._closed)

    def feed(self, data: bytes) -> None:
        """Follow some bytes."""
        at = 0
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                continue
            self._header.append(data[at])
            at += 1
            if (size := _payload_size(self._header)) is not None:
                self._left = size
                self._closed |= self._header[0] & 0xF == _CLOSE_CODE
                self._header.clear()


class Pipe:
    """One direction: what aiohttp gives a parser of one connection is written to the other.

    Args:
        source, target: The connections.
        ended: Set when the source ends.
        frames: Follows what goes through.
    """

    def __init__(
        self, source: BaseProtocol, target: BaseProtocol, ended: asyncio.Event, frames: FrameEnds | None = None
    ) -> None:
        self._source, self._target = source, target
        self._ended, self._frames = ended, frames
        self._full = asyncio.Event()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Write to the target; reading pauses while it takes no more."""
        if self._target.transport is None or self._ended.is_set():
            return False, b""
        if self._frames is not None:
            self._frames.feed(data)
        self._target.transport.write(data)
        if self._target.writing_paused and not self._full.is_set():
            self._source.pause_reading()
            self._full.set()
        return False, b""

    def feed_eof(self) -> None:
        """Note the end of the source."""
        self._ended.set()

    async def resume(self) -> None:
        """Let the source be read again each time the target has room; until cancelled, or the target is gone."""
        with contextlib.suppress(ConnectionError):
            while True:
                await self._full.wait()
                await self._target._drain_helper()
                self._full.clear()
                self._source.resume_reading()
        self._ended.set()


class Bridge:
    """Both directions.

    Args:
        client: The connection of the client, which has its answer 101 and no other reader.
        hub: That of the hub or of the next worker.
    """

    def __init__(self, client: BaseProtocol, hub: BaseProtocol) -> None:
        self._client = client
        self._ended = asyncio.Event()
        self._frames = FrameEnds()
        self.from_client = Pipe(client, hub, self._ended)
        self.from_hub = Pipe(hub, client, self._ended, self._frames)

    async def carry(self) -> None:
        """Carry both directions until one side ends or `close`; a client that got no reason is asked to reconnect.

        When cancelled, the client is told nothing.
        """
        tasks = [asyncio.ensure_future(pipe.resume()) for pipe in (self.from_client, self.from_hub)]
        try:
            await self._ended.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        transport = self._client.transport
        if transport is None:
            return
        if self._frames.between:
            transport.write(_CLOSE)
        asyncio.get_running_loop().call_later(FLUSH_S, transport.abort)

    def close(self) -> None:
        """End it: the home moves, or this worker stops."""
        self._ended.set()


def _payload_size(header: bytearray) -> int | None:
    """Return the bytes behind a header that is complete."""
    if len(header) < 2:
        return None
    short = header[1] & 0x7F
    more = {126: 2, 127: 8}.get(short, 0)
    masked = 4 if header[1] & 0x80 else 0
    if len(header) < 2 + more + masked:
        return None
    return int.from_bytes(header[2 : 2 + more], "big") if more else short
