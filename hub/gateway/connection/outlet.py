"""The output to one client: a bounded queue that never waits for the client and never grows without bound.

Frames of one turn of the event loop go out in one write. While the client does not read, frames wait here; over the
bound, optional frames are dropped first, and then the client is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from hub.gateway.access.guarded_socket import Socket
from hub.gateway.connection.protocol import text_frame, with_sequence

BATCH_BYTES = 262_144
DROP_AT_FRACTION = 0.5
"""Above this share of the bound, droppable frames are no longer queued."""

ANSWER, EVENT, DROPPABLE = 0, 1, 2


class Outlet:
    """Sends frames to one WebSocket client.

    Args:
        socket: The connection, after the upgrade.
        limit_bytes: The most that may wait, here and in the transport.
        on_overflow: Called once when even frames that may not be missed exceed it.
    """

    def __init__(self, socket: Socket, limit_bytes: int, on_overflow: Callable[[], None]) -> None:
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._limit_bytes = limit_bytes
        self._on_overflow = on_overflow
        self._frames: deque[tuple[bytes, int]] = deque()
        self._waiting_bytes = 0
        self._scheduled = False
        self._closed = False
        self._sequence = 0
        self.dropped = 0
        socket.on_writable = self._flush

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait here or in the transport."""
        transport = self._socket.transport
        return self._waiting_bytes + (transport.get_write_buffer_size() if transport is not None else 0)

    def close(self) -> None:
        """Flush, and accept nothing more."""
        if not self._closed:
            self._flush()
            self._closed = True
            self._frames.clear()
            self._waiting_bytes = 0
        self._socket.on_writable = None

    def send(self, payload: bytes, kind: int = ANSWER) -> bool:
        """Queue an answer, or an event as `encode_event` made it, which is numbered when it is sent.

        Args:
            payload: What is sent.
            kind: ANSWER, EVENT, or DROPPABLE for an event that may be missed.

        Returns:
            Whether it will be sent.
        """
        if self._closed:
            return False
        size = len(payload)
        if self._socket.writing_paused or self._waiting_bytes > BATCH_BYTES:
            waiting = self.waiting_bytes + size
            if kind == DROPPABLE and waiting > self._limit_bytes * DROP_AT_FRACTION:
                self.dropped += 1
                return False
            if waiting > self._limit_bytes and not self._shed(waiting - self._limit_bytes):
                self._closed = True
                self._frames.clear()
                self._on_overflow()
                return False
        self._frames.append((payload, kind))
        self._waiting_bytes += size
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush)
        return True

    def _flush(self) -> None:
        self._scheduled = False
        frames = self._frames
        while frames and not self._closed:
            transport = self._socket.transport
            if transport is None or transport.is_closing():
                frames.clear()
                self._waiting_bytes = 0
                return
            if self._socket.writing_paused:
                return
            batch: list[bytes] = []
            size = 0
            while frames and size < BATCH_BYTES:
                payload, kind = frames.popleft()
                size += len(payload)
                if kind:
                    self._sequence += 1
                    payload = with_sequence(payload, self._sequence)
                batch.append(text_frame(payload))
                batch.append(payload)
            self._waiting_bytes -= size
            transport.write(b"".join(batch))

    def _shed(self, needed: int) -> bool:
        """Drop droppable frames, oldest first, until `needed` bytes are free; return whether that sufficed."""
        kept: deque[tuple[bytes, int]] = deque()
        freed = 0
        for payload, kind in self._frames:
            if kind == DROPPABLE and freed < needed:
                freed += len(payload)
                self.dropped += 1
            else:
                kept.append((payload, kind))
        self._frames = kept
        self._waiting_bytes -= freed
        return freed >= needed
