"""How messages are written and sent: what `messages:` says, and what an account of a channel says instead."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.schema import All, AnyOf, In, Optional, Range, Required, Schema, boolean, integer, number, string
from hub.messaging.chunking import SMALLEST_LIMIT, ChunkMode

ATTEMPTS = 12
NATURAL_DELAY_MS = (800, 2_500)


class BlockBreak(StrEnum):
    """Where a block that is streamed preferably ends."""

    PARAGRAPH = "paragraph"
    NEWLINE = "newline"
    SENTENCE = "sentence"


class ReplyToMode(StrEnum):
    """Which messages of an answer are replies to the message they answer."""

    OFF = "off"
    FIRST = "first"
    ALL = "all"


class StreamingMode(StrEnum):
    """Whether an answer is shown while it is being written: as it grows, or block by block."""

    OFF = "off"
    PARTIAL = "partial"
    BLOCK = "block"


class DeliveryRetry(Struct, frozen=True):
    """How often and when sending is tried again."""

    attempts: int = ATTEMPTS
    min_delay_s: float = 1.0
    max_delay_s: float = 600.0
    jitter: float = 0.3

    def delay_s(self, attempts: int, retry_after_s: float | None, chance: float) -> float:
        """Return how long to wait before the next attempt: doubling, bounded, never before the platform asked.

        Args:
            attempts: How many have failed.
            retry_after_s: What the platform asked for.
            chance: 0 to 1, for the jitter.
        """
        wait: float = min(self.max_delay_s, self.min_delay_s * 2.0 ** min(attempts - 1, 30))
        return max(wait * (1.0 + self.jitter * chance), retry_after_s or 0.0)


class BlockStreaming(Struct, frozen=True):
    """Whether an answer is sent in blocks while it is being written, and how they are cut."""

    enabled: bool = False
    min_chars: int = 800
    max_chars: int = 1_200
    break_at: BlockBreak = BlockBreak.PARAGRAPH
    idle_ms: int = 1_000


class OutboxSettings(Struct, frozen=True):
    """What `messages:` says about sending.

    Attributes:
        response_prefix: Stands before every answer.
        human_delay_ms: The shortest and longest pause between streamed blocks; None for no pause.
        language: Of the sentences that the hub itself adds.
        media_roots: Directories below which attachments may lie.
    """

    retry: DeliveryRetry = DeliveryRetry()
    response_prefix: str | None = None
    human_delay_ms: tuple[int, int] | None = None
    block_streaming: BlockStreaming = BlockStreaming()
    language: str = "en"
    media_roots: tuple[Path, ...] = ()

    @classmethod
    def from_config(cls, messages: Mapping[str, Any], language: str) -> OutboxSettings:
        """Read the settings from the section of a valid configuration."""
        return cls(
            retry=DeliveryRetry(**messages["retry"]),
            response_prefix=messages.get("response_prefix"),
            human_delay_ms=_human_delay(messages["human_delay"]),
            block_streaming=_block_streaming(messages["block_streaming"]),
            language=language,
        )


class OutboundPolicy(Struct, frozen=True):
    """What an account says about sending; None where `messages:` decides."""

    text_limit: int | None = None
    chunk_mode: ChunkMode = ChunkMode.LENGTH
    response_prefix: str | None = None
    reply_to_mode: ReplyToMode = ReplyToMode.FIRST
    streaming: StreamingMode = StreamingMode.OFF
    block_streaming: BlockStreaming | None = None


_MS = All(integer, Range(min=0, max=60_000))

RETRY_SCHEMA = Schema(
    {
        Optional("attempts", default=ATTEMPTS, description="Attempts before a message is given up."): All(
            integer, Range(min=1, max=100)
        ),
        Optional("min_delay_s", default=1.0, description="Seconds before the second attempt; doubles each time."): All(
            number, Range(min=0.1, max=3_600)
        ),
        Optional("max_delay_s", default=600.0, description="The longest wait, unless the platform asks for more."): All(
            number, Range(min=0.1, max=86_400)
        ),
        Optional("jitter", default=0.3, description="Share of a wait that is added at random."): All(
            number, Range(min=0, max=1)
        ),
    }
)
BLOCK_STREAMING_SCHEMA = Schema(
    {
        Optional("enabled", default=False, description="Whether answers are sent in blocks as they are written."): (
            boolean
        ),
        Optional("min_chars", default=800, description="Characters before a block is sent."): All(
            integer, Range(min=1, max=100_000)
        ),
        Optional("max_chars", default=1_200, description="Characters of a block at most."): All(
            integer, Range(min=SMALLEST_LIMIT, max=100_000)
        ),
        Optional("break", default="paragraph", description="Where a block preferably ends."): In(
            [each.value for each in BlockBreak]
        ),
        Optional("idle_ms", default=1_000, description="Pause of the model after which a shorter block is sent."): _MS,
    }
)
MESSAGE_SENDING_KEYS: Mapping[Any, Any] = {
    Optional("retry", default=dict, description="Attempts to send a message that the platform did not take."): (
        RETRY_SCHEMA
    ),
    Optional("response_prefix", description="Text before every answer; {model} and {agent} are filled in."): string,
    Optional(
        "human_delay",
        default="off",
        description="Pause between streamed blocks: off, natural (800 to 2500 ms), or min_ms and max_ms.",
    ): AnyOf(In(["off", "natural"]), {Required("min_ms"): _MS, Required("max_ms"): _MS}),
    Optional("block_streaming", default=dict, description="Sending an answer in blocks while it is written."): (
        BLOCK_STREAMING_SCHEMA
    ),
}
"""Keys of `messages:` about sending."""

OUTBOUND_KEYS: Mapping[Any, Any] = {
    Optional("text_limit", description="The longest message, when it is to be shorter than the platform's."): All(
        integer, Range(min=SMALLEST_LIMIT, max=1_000_000)
    ),
    Optional("chunk_mode", default="length", description="Cut long texts by length, or at every blank line."): In(
        [each.value for each in ChunkMode]
    ),
    Optional("response_prefix", description="Text before every answer, instead of that of messages."): string,
    Optional("reply_to_mode", default="first", description="Which messages of an answer in a group are replies."): In(
        [each.value for each in ReplyToMode]
    ),
    Optional("streaming", default="off", description="Show an answer while it is written: off, partial or block."): In(
        [each.value for each in StreamingMode]
    ),
    Optional("block_streaming", description="Instead of that of messages."): BLOCK_STREAMING_SCHEMA,
}
"""Keys that every channel's account schema takes in, so that sending reads the same everywhere."""


def outbound_policy(account: Mapping[str, Any]) -> OutboundPolicy:
    """Return the policy that a validated account states."""
    blocks = account.get("block_streaming")
    return OutboundPolicy(
        text_limit=account.get("text_limit"),
        chunk_mode=ChunkMode(account["chunk_mode"]),
        response_prefix=account.get("response_prefix"),
        reply_to_mode=ReplyToMode(account["reply_to_mode"]),
        streaming=StreamingMode(account["streaming"]),
        block_streaming=None if blocks is None else _block_streaming(blocks),
    )


def _human_delay(stated: Any) -> tuple[int, int] | None:
    if isinstance(stated, Mapping):
        low, high = sorted((stated["min_ms"], stated["max_ms"]))
        return low, high
    return NATURAL_DELAY_MS if stated == "natural" else None


def _block_streaming(stated: Mapping[str, Any]) -> BlockStreaming:
    return BlockStreaming(
        enabled=stated["enabled"],
        min_chars=min(stated["min_chars"], stated["max_chars"]),
        max_chars=stated["max_chars"],
        break_at=BlockBreak(stated["break"]),
        idle_ms=stated["idle_ms"],
    )
