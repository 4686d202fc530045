"""Inbound messages as JSON, for the row that outlives the process."""

from __future__ import annotations

import msgspec

from hub.messaging.contract import InboundMessage


def dump_message(message: InboundMessage) -> str:
    """Return the message as one line of JSON."""
    return msgspec.json.encode(message).decode()


def load_message(stored: str) -> InboundMessage:
    """Read what `dump_message` wrote."""
    return msgspec.json.decode(stored, type=InboundMessage)
