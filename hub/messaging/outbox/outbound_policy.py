"""Policies of writing and sending, also while an answer is unfinished: `messages:`, and the overrides of an account."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from hub.agent.answer.human_delay import HUMAN_DELAY_SCHEMA, HumanDelay, human_delay, in_order
from hub.core.schema import All, In, Optional, Range, Schema, boolean, integer, number, string
from hub.messaging.outbox.chunking import SMALLEST_LIMIT, BlockBreak, ChunkMode

ATTEMPTS = 12
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


class ReplyToMode(StrEnum):
    """Which messages of an answer are replies to the message they answer."""

    OFF = "off"
    FIRST = "first"
    ALL = "all"


class DeliveryRetry(Struct, frozen=True):
    """The retries of sending."""

    attempts: int = ATTEMPTS
    min_delay_s: float = 1.0
    max_delay_s: float = 600.0
    jitter: float = 0.3

    def delay_s(self, attempts: int, retry_after_s: float | None, chance: float) -> float:
        """Return the delay before the next attempt: doubling, bounded, and never shorter than the platform asked.

        Args:
            attempts: How many have failed.
            retry_after_s: The platform's own request.
            chance: 0 to 1, for the jitter.
        """
        wait: float = min(self.max_delay_s, self.min_delay_s * 2.0 ** min(attempts - 1, 30))
        return max(wait * (1.0 + self.jitter * chance), retry_after_s or 0.0)


class OutboxSettings(Struct, frozen=True):
    """The settings of `messages:` about sending.

    Attributes:
        response_prefix: The text before every answer.
        language: The language of the sentences that the hub itself adds.
        media_roots: Directories below which attachments may be.
        blocks: Whether answers are sent in blocks while they are written.
        human_delay: The pause between those, for agents without their own.
    """

    retry: DeliveryRetry = DeliveryRetry()
    response_prefix: str | None = None
    blocks: BlockStreaming = BlockStreaming()
    human_delay: HumanDelay = HumanDelay()
    language: str = "en"
    media_roots: tuple[Path, ...] = ()

    @classmethod
    def from_config(cls, messages: Mapping[str, Any], language: str) -> OutboxSettings:
        """Read the settings from the section of a valid configuration."""
        return cls(
            retry=DeliveryRetry(**messages["retry"]),
            response_prefix=messages.get("response_prefix"),
            blocks=block_streaming(messages["block_streaming"]),
            human_delay=human_delay(messages["human_delay"]),
            language=language,
        )


class OutboundPolicy(Struct, frozen=True):
    """An account's overrides about sending; None defers to `messages:`."""

    text_limit: int | None = None
    chunk_mode: ChunkMode = ChunkMode.LENGTH
    response_prefix: str | None = None
    reply_to_mode: ReplyToMode = ReplyToMode.FIRST
    blocks: BlockStreaming | None = None
    streaming: DraftStreaming = DraftStreaming.OFF


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
MESSAGE_SENDING_KEYS: Mapping[Any, Any] = {
    Optional("retry", default=dict, description="Attempts to send a message that the platform did not accept."): (
        RETRY_SCHEMA
    ),
    Optional(
        "response_prefix", description="Text before every answer; {name}, {emoji}, {agent} and {model} in it."
    ): string,
    Optional("block_streaming", default=dict, description="Answers are sent in blocks while they are written."): (
        BLOCK_STREAMING_SCHEMA
    ),
    Optional(
        "human_delay", default="off", description="The pause between blocks: off, natural (800 to 2500 ms), or from–to."
    ): HUMAN_DELAY_SCHEMA,
}
"""Keys of `messages:` about sending."""

OUTBOUND_KEYS: Mapping[Any, Any] = {
    Optional("text_limit", description="Maximum message length, if shorter than the platform's."): All(
        integer, Range(min=SMALLEST_LIMIT, max=1_000_000)
    ),
    Optional("chunk_mode", default="length", description="Cut long texts by length, or at every blank line."): In(
        [each.value for each in ChunkMode]
    ),
    Optional("response_prefix", description="Text before every answer, instead of the one under messages."): string,
    Optional("reply_to_mode", default="first", description="Which messages of an answer in a group are replies."): In(
        [each.value for each in ReplyToMode]
    ),
    Optional("block_streaming", description="Answers in blocks, instead of what messages says."): (
        BLOCK_STREAMING_SCHEMA
    ),
    Optional(
        "streaming", default="off", description="Show an answer while it is written: off, partial, or block by block."
    ): In([each.value for each in DraftStreaming]),
}
"""Keys that every channel's account schema takes in, so that sending reads the same everywhere."""


def outbound_policy(account: Mapping[str, Any]) -> OutboundPolicy:
    """Return the policy that a validated account states."""
    return OutboundPolicy(
        text_limit=account.get("text_limit"),
        chunk_mode=ChunkMode(account.get("chunk_mode", "length")),
        response_prefix=account.get("response_prefix"),
        reply_to_mode=ReplyToMode(account.get("reply_to_mode", "first")),
        blocks=block_streaming(account["block_streaming"]) if "block_streaming" in account else None,
        streaming=DraftStreaming(account.get("streaming", "off")),
    )
