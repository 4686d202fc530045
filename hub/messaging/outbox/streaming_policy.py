"""Policies for showing an unfinished answer: blocks, or a message that grows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, field

from hub.agent.answer.human_delay import in_order
from hub.core.schema import All, In, Optional, Range, Schema, boolean, integer
from hub.messaging.outbox.chunking import SMALLEST_LIMIT, BlockBreak

LONGEST_IDLE_MS = 60_000


class DraftStreaming(StrEnum):
    """How an unfinished answer is shown as one message: not at all, as it grows, or block by block."""

    OFF = "off"
    PARTIAL = "partial"
    BLOCK = "block"


class BlockSending(StrEnum):
    """When blocks are sent: as soon as each is finished, or once the message is complete."""

    TEXT_END = "text_end"
    MESSAGE_END = "message_end"


class BlockStreaming(Struct, frozen=True):
    """Whether finished blocks of an unfinished answer are sent, and how it is cut.

    Attributes:
        min_chars, max_chars: The length of a block.
        break_at: The weakest break at which one ends before it is full.
        idle_ms: After so long without a word, the whole sentences there are make a block.
        send_at: When they are sent; with `message_end`, what was said before a tool call is, and then the answer.
    """

    enabled: bool = False
    min_chars: int = 800
    max_chars: int = 1_200
    break_at: BlockBreak = field(default=BlockBreak.PARAGRAPH, name="break")
    idle_ms: int = 1_000
    send_at: BlockSending = BlockSending.TEXT_END


_BLOCK_CHARS = All(integer, Range(min=SMALLEST_LIMIT, max=100_000))
BLOCK_STREAMING_SCHEMA = All(
    Schema(
        {
            Optional("enabled", default=False, description="Send blocks of an answer while it is written."): boolean,
            Optional("min_chars", default=800, description="The fewest characters of a block."): _BLOCK_CHARS,
            Optional("max_chars", default=1_200, description="The most characters of a block."): _BLOCK_CHARS,
            Optional("break", default="paragraph", description="Where a block ends: paragraph, newline, sentence."): (
                In([each.value for each in BlockBreak])
            ),
            Optional(
                "idle_ms",
                default=1_000,
                description="Milliseconds without a word after which the whole sentences so far are sent.",
            ): All(integer, Range(min=100, max=LONGEST_IDLE_MS)),
            Optional(
                "send_at",
                default="text_end",
                description="Send a block when it is finished, or when the model has said all before its next tool.",
            ): In([each.value for each in BlockSending]),
        }
    ),
    in_order("min_chars", "max_chars"),
)


def block_streaming(stated: Mapping[str, Any]) -> BlockStreaming:
    """Return the settings of a validated `block_streaming:`."""
    return msgspec.convert(stated, BlockStreaming)
