"""The settings of compaction, and the rules for when to compact and how much to keep."""

from __future__ import annotations

from msgspec import Struct

DEFAULT_RESERVE_TOKENS = 20_000
DEFAULT_SOFT_TOKENS = 4_000
DEFAULT_KEEP_TOKENS = 20_000
RESERVE_SHARE = 4
SOFT_SHARE = 20
"""A small window gives at most a fourth of itself to the reserve, and a twentieth to what is soft."""
KEEP_SHARE = 0.4


class CompactionSettings(Struct, frozen=True):
    """The keys of `agents[].compaction`.

    Attributes:
        enabled: Whether conversations are compacted without being asked.
        reserve_tokens: Room left for the answer and for what a turn adds.
        soft_tokens: How long before the reserve it begins.
        keep_tokens: About how many of the newest tokens stay as they were said.
        memory_flush: Whether memory is written first.
    """

    enabled: bool = True
    reserve_tokens: int = DEFAULT_RESERVE_TOKENS
    soft_tokens: int = DEFAULT_SOFT_TOKENS
    keep_tokens: int = DEFAULT_KEEP_TOKENS
    memory_flush: bool = True

    def threshold(self, window: int) -> int:
        """Return the number of tokens above which a conversation is compacted, for a window of this size."""
        return window - min(self.reserve_tokens, window // RESERVE_SHARE) - min(self.soft_tokens, window // SOFT_SHARE)

    def keep(self, tokens: int) -> int:
        """Return how many of the newest tokens to keep when messages may have `tokens` in all."""
        return min(self.keep_tokens, max(1, int(tokens * KEEP_SHARE)))
