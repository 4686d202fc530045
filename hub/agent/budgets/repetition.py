"""Whether a run repeats itself: a pure rule over its tool calls and their results."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum

import orjson
from msgspec import Struct

from hub.models.contract import ToolCallBlock
from hub.tools.contract import ToolResult

PERIOD_LIMIT = 4
"""The longest sequence of calls whose repetition is looked for: A B A B has the period 2."""
CALLS_KEPT = 400


class ToolCallMade(Struct, frozen=True):
    """A call with its result, as digests.

    Attributes:
        name: The tool.
        asked: Digest of tool and arguments.
        got: Digest of tool and result.
        is_error: Whether it failed.
        read_only: Whether the tool only reads: it makes progress by results alone.
    """

    name: str
    asked: str
    got: str
    is_error: bool = False
    read_only: bool = True


class RepetitionKind(StrEnum):
    """The kind of repetition."""

    SAME = "same"
    IN_TURN = "in_turn"
    FAILING = "failing"
    STALE = "stale"


class Repetition(Struct, frozen=True):
    """A repetition in the tool calls of a run.

    Attributes:
        kind: How the calls repeat.
        times: How often they do.
        limit: How often is too often.
        tools: The tools that were called, where they are always the same.
    """

    kind: RepetitionKind
    times: int
    limit: int
    tools: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The repetition in words."""
        match self.kind:
            case RepetitionKind.FAILING:
                return "every tool call fails"
            case RepetitionKind.STALE:
                return "tool calls bring nothing new"
            case _:
                turn = "in turn " if self.kind is RepetitionKind.IN_TURN else ""
                return f"{' and '.join(self.tools)} was called {turn}with the same arguments and the same result"

    @property
    def is_over(self) -> bool:
        """Whether the run must end."""
        return self.times >= self.limit

    @property
    def warning(self) -> str:
        """The note for the model, added to the result."""
        return (
            f"[Note of the hub: {self.description}, {self.times} times now; after {self.limit} this run ends. "
            "Try something else, or answer with what you have.]"
        )


def digest_call(call: ToolCallBlock, result: ToolResult, *, read_only: bool) -> ToolCallMade:
    """Return a call and its result as digests."""
    arguments = orjson.dumps(call.arguments, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
    asked = _digest(call.name, arguments, (call.malformed or "").encode())
    images = [image.data.encode() for image in result.media]
    return ToolCallMade(
        call.name, asked, _digest(call.name, result.output.encode(), *images), result.is_error, read_only
    )


def repetition(calls: Sequence[ToolCallMade], limit: int) -> Repetition | None:
    """Return the repetition in the latest calls, from half of `limit` on; None while there is progress.

    Three things are looked for: one call, or up to four in turn, with the same arguments and results `limit` times in a
    row; calls that only read and return nothing new, twice `limit` in a row; calls that all fail,
    twice `limit` in a row.

    Args:
        calls: The calls of the run so far, oldest first.
        limit: The key `repeats` of `agents[].limits`; 0 finds nothing.
    """
    if limit == 0 or not calls:
        return None
    for period in range(1, PERIOD_LIMIT + 1):
        times = _rounds(calls, period)
        if times >= max(2, limit // 2):
            kind = RepetitionKind.IN_TURN if period > 1 else RepetitionKind.SAME
            return Repetition(kind, times, limit, tuple(dict.fromkeys(call.name for call in calls[-period:])))
    failing = _failing(calls)
    if failing >= limit:
        return Repetition(RepetitionKind.FAILING, failing, 2 * limit)
    stale = _stale(calls)
    if stale >= limit:
        return Repetition(RepetitionKind.STALE, stale, 2 * limit)
    return None


def _rounds(calls: Sequence[ToolCallMade], period: int) -> int:
    """Return how often the last `period` calls occurred in a row."""
    last = [(call.asked, call.got) for call in calls[-period:]]
    if len(last) < period or (period > 1 and len(set(last)) == 1):
        return 0
    times = 0
    for end in range(len(calls), period - 1, -period):
        if [(call.asked, call.got) for call in calls[end - period : end]] != last:
            break
        times += 1
    return times


def _failing(calls: Sequence[ToolCallMade]) -> int:
    return next((at for at, call in enumerate(reversed(calls)) if not call.is_error), len(calls))


def _stale(calls: Sequence[ToolCallMade]) -> int:
    """Return how many of the latest calls brought a result that was known already."""
    seen: set[str] = set()
    stale = 0
    for call in calls:
        stale = stale + 1 if call.read_only and call.got in seen else 0
        seen.add(call.got)
    return stale


def _digest(name: str, *parts: bytes) -> str:
    found = hashlib.blake2b(name.encode(), digest_size=12)
    for part in parts:
        found.update(b"\0")
        found.update(part)
    return found.hexdigest()
