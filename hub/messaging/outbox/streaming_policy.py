"""What is sent of an answer while it is being written: blocks, drafts, and the pauses between blocks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.core.schema import All, AnyOf, In, Invalid, Optional, Range, Schema, boolean, integer
from hub.messaging.outbox.chunking import SMALLEST_LIMIT, BlockBreak

LONGEST_DELAY_MS = 60_000


class DraftStreaming(StrEnum):
    """How an answer that is being written is shown as one message: not, as it grows, or block by block."""

    OFF = "off"
    PARTIAL = "partial"
    BLOCK = "block"


class BlockStreaming(Struct, frozen=True):
    """Whether finished blocks of an answer are sent while the rest is being written, and how it is cut.

    Attributes:
        min_chars, max_chars: The length of a block.
        break_at: The weakest break at which one ends before it is full.
        idle_ms: After so long without a word, the whole sentences there are make a block.
    """

    enabled: bool = False
    min_chars: int = 800
    max_chars: int = 1_200
    break_at: BlockBreak = BlockBreak.PARAGRAPH
    idle_ms: int = 1_000


class HumanDelay(Struct, frozen=True):
    """The pause between two blocks."""

    min_ms: int = 0
    max_ms: int = 0

    def delay_ms(self, chance: float) -> int:
        """Return a pause; `chance` is 0 to 1."""
        return int(self.min_ms + (self.max_ms - self.min_ms) * chance)


NATURAL_DELAY = HumanDelay(800, 2_500)


def _ordered(least: str, most: str) -> Any:
    def check(value: dict[str, Any]) -> dict[str, Any]:
        if value[least] > value[most]:
            raise Invalid(
                f"{value[least]} is more than {most}, which is {value[most]}; lower it, or raise {most}", [least]
            )
        return value

    return check


_DELAY_MS = All(integer, Range(min=0, max=LONGEST_DELAY_MS))
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
            ): All(integer, Range(min=100, max=LONGEST_DELAY_MS)),
        }
    ),
    _ordered("min_chars", "max_chars"),
)
HUMAN_DELAY_SCHEMA = AnyOf(
    In(["off", "natural"]),
    All(
        Schema(
            {
                Optional("min_ms", default=NATURAL_DELAY.min_ms, description="The shortest pause."): _DELAY_MS,
                Optional("max_ms", default=NATURAL_DELAY.max_ms, description="The longest pause."): _DELAY_MS,
            }
        ),
        _ordered("min_ms", "max_ms"),
    ),
)


def block_streaming(stated: Mapping[str, Any]) -> BlockStreaming:
    """Return what a valid `block_streaming:` says."""
    return BlockStreaming(
        stated["enabled"], stated["min_chars"], stated["max_chars"], BlockBreak(stated["break"]), stated["idle_ms"]
    )


def human_delay(stated: Any) -> HumanDelay:
    """Return what a valid `human_delay:` says."""
    if isinstance(stated, str):
        return NATURAL_DELAY if stated == "natural" else HumanDelay()
    return HumanDelay(stated["min_ms"], stated["max_ms"])
