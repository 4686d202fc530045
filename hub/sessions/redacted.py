"""Removes secrets from messages before they are stored; a message without any is returned unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any

from msgspec.structs import replace

from hub.models.contract import Block, Image, Message, TextBlock, Thinking, ToolCallBlock

Redact = Callable[[str], str]


def redact_message(message: Message, redact: Redact) -> Message:
    """Return `message` without secrets; the same object when there were none."""
    blocks: tuple[Block, ...] = ()
    for block in message.content:
        blocks += (_block(block, redact),)
    return message if all(map(is_, blocks, message.content)) else replace(message, content=blocks)


def redact_data(value: Any, redact: Redact) -> Any:
    """Return plain data without secrets; the same object when there were none."""
    match value:
        case str():
            clean = redact(value)
            return value if clean == value else clean
        case dict() | Mapping():
            fresh = {}
            for key, item in value.items():
                fresh[key] = redact_data(item, redact)
            return value if all(map(is_, fresh.values(), value.values())) else fresh
        case list() | tuple():
            items = [redact_data(item, redact) for item in value]
            return value if all(map(is_, items, value)) else items
    return value


def _block(block: Block, redact: Redact) -> Block:
    match block:
        case TextBlock(text):
            clean = redact(text)
            return block if clean == text else TextBlock(clean)
        case Thinking(text, _):
            clean = redact(text)
            # The signature is over the words that were thought; over others it would be refused.
            return block if clean == text else Thinking(clean)
        case ToolCallBlock(id, name, arguments, malformed):
            fresh = redact_data(arguments, redact)
            broken = redact(malformed) if malformed is not None else None
            if fresh is arguments and broken == malformed:
                return block
            return ToolCallBlock(id, name, fresh, broken)
        case Image():
            return block
