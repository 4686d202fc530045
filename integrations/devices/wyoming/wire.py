"""Events of the Wyoming protocol: a line of JSON, then the data and the bytes that it announces.

Source: https://github.com/OHF-Voice/wyoming
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

EVENT_LIMIT_BYTES = 65_536
"""What a stream may buffer for a line, and what data and bytes of an event may have."""


class WyomingEvent(NamedTuple):
    """An event; the payload is sound."""

    type: str
    data: Mapping[str, Any] = {}
    payload: bytes = b""


async def read_event(reader: asyncio.StreamReader, wait_s: float | None) -> WyomingEvent | None:
    """Read an event; None at the end.

    Args:
        wait_s: Seconds that it may take; None for as long as it takes.

    Raises:
        ValueError: It is not an event, or is too large.
        TimeoutError: None came in time.
        EOFError: The other side ended within it.
    """
    async with asyncio.timeout(wait_s):
        line = await reader.readline()
        if not line:
            return None
        said = json.loads(line)
        if not isinstance(said, dict):
            raise ValueError("expected a JSON object as an event")
        data, payload = said.get("data") or {}, b""
        for key in ("data_length", "payload_length"):
            length = said.get(key) or 0
            if not isinstance(length, int) or not 0 <= length <= EVENT_LIMIT_BYTES:
                raise ValueError(f"{key}: expected at most {EVENT_LIMIT_BYTES}")
            read = await reader.readexactly(length)
            if key == "payload_length":
                payload = read
            elif read:
                data = json.loads(read)
        if not isinstance(data, dict):
            raise ValueError("data: expected a JSON object")
        return WyomingEvent(str(said.get("type")), data, payload)


def encode(event: WyomingEvent) -> bytes:
    """Return an event as it is sent."""
    body = json.dumps(event.data, ensure_ascii=False).encode()
    head = {"type": event.type, "data_length": len(body)}
    if event.payload:
        head["payload_length"] = len(event.payload)
    return json.dumps(head).encode() + b"\n" + body + event.payload
