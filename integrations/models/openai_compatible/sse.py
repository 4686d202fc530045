"""Server-sent events, from bytes to the data of each event. Pure."""

from __future__ import annotations

EVENT_LIMIT_BYTES = 8 * 1024 * 1024


class EventTooLong(ValueError):
    """One event is longer than 8 MiB."""


class SseParser:
    """Takes bytes as they come and gives the data of whole events; names, ids and comments are left out."""

    __slots__ = ("_begun", "_buffer", "_data")

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[bytes] = []
        self._begun = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that `chunk` completes.

        Raises:
            EventTooLong: An event passes the bound.
        """
        buffer = self._buffer + chunk if self._buffer else chunk
        if not self._begun:
            if len(buffer) < 3 and b"\xef\xbb\xbf".startswith(buffer):
                self._buffer = buffer
                return []
            self._begun = True
            buffer = buffer.removeprefix(b"\xef\xbb\xbf")
        held = b""
        if b"\r" in buffer:
            # A CR at the very end may be the first half of CRLF.
            if buffer.endswith(b"\r"):
                buffer, held = buffer[:-1], b"\r"
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = buffer.split(b"\n")
        self._buffer = lines.pop() + held
        events: list[bytes] = []
        for line in lines:
            self._line(line, events)
        if len(self._buffer) + sum(map(len, self._data)) > EVENT_LIMIT_BYTES:
            raise EventTooLong
        return events

    def end(self) -> list[bytes]:
        """Return the data of an event that the end of the stream left without its blank line."""
        events: list[bytes] = []
        if self._buffer:
            self._line(self._buffer.rstrip(b"\r"), events)
            self._buffer = b""
        self._line(b"", events)
        return events

    def _line(self, line: bytes, events: list[bytes]) -> None:
        if not line:
            if self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
            return
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
