"""Inbound messages as JSON, for the row that outlives the process."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hub.messaging.contract import Address, ChatType, InboundMessage
from hub.models.contract import Image


def dump_message(message: InboundMessage) -> str:
    """Return the message as one line of JSON."""
    return json.dumps(asdict(message), ensure_ascii=False, separators=(",", ":"))


def load_message(stored: str) -> InboundMessage:
    """Read what `dump_message` wrote."""
    data: dict[str, Any] = json.loads(stored)
    address = data.pop("address")
    images = tuple(Image(**image) for image in data.pop("images"))
    return InboundMessage(
        address=Address(**{**address, "chat_type": ChatType(address["chat_type"])}), images=images, **data
    )
