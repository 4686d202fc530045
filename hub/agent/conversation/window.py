"""The context window: which messages a model is sent. Pure: a function of messages, their sizes and a budget.

Whole turns are left out, the oldest first, and in steps: the cut moves seldom, so that what a provider has cached of
the beginning stays valid over many turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.models.contract import Image, Message, ModelInfo, Role, TextBlock, Thinking, ToolCallBlock, user_message

MESSAGE_OVERHEAD = 4
IMAGE_TOKENS = 1_200
RESERVE_MAX = 8_192
STEP_SHARE = 0.3
"""The cut moves by this share of the budget at a time."""


class Item(Struct, frozen=True):
    """A message as a model is sent it, with its size and its transcript entry."""

    message: Message
    tokens: int
    entry_id: str = ""


class Window(Struct, frozen=True):
    """The input of a model call.

    Attributes:
        messages: The messages, in order.
        tokens: Their estimated size.
        left_out: How many messages are not.
    """

    messages: tuple[Message, ...]
    tokens: int
    left_out: int = 0


def estimate_text(text: str) -> int:
    """Return the estimated tokens of a text: two sevenths of its bytes, which suits prose, code and Chinese alike."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return (size * 2 + 6) // 7


def estimate_message(message: Message) -> int:
    """Return the estimated tokens of a message."""
    total = MESSAGE_OVERHEAD
    for block in message.content:
        match block:
            case TextBlock(text) | Thinking(text):
                total += estimate_text(text)
            case ToolCallBlock(name=name, arguments=arguments, malformed=malformed):
                written = malformed if malformed is not None else orjson.dumps(arguments, default=str).decode()
                total += estimate_text(name) + estimate_text(written) + MESSAGE_OVERHEAD
            case Image():
                total += IMAGE_TOKENS
    return total


def budget_for(info: ModelInfo, fixed_tokens: int) -> int:
    """Return the tokens left for messages in a model's window.

    Args:
        info: The model.
        fixed_tokens: Size of system prompt and tools.
    """
    reserve = min(info.max_output_tokens or RESERVE_MAX, RESERVE_MAX, info.context_window // 4)
    return max(info.context_window - reserve - fixed_tokens, info.context_window // 8)


def fit(items: Sequence[Item], budget: int, *, halvings: int = 0) -> Window:
    """Return the messages that fit into `budget` tokens: the newest turn always, whole older ones as far as they fit.

    When the newest turn alone is too large, its own oldest steps (an answer with its tool results) are left out too;
    its user message and its last step stay. A mark says how much is missing.

    Args:
        items: The conversation, oldest first; each tool call directly followed by its results.
        budget: Tokens.
        halvings: How many times the model said that the input was too long: it is halved each time, whatever
            its window is said to be.
    """
    total = sum(item.tokens for item in items)
    if halvings:
        budget = min(budget, total) >> halvings
    if total <= budget:
        return _window(items, ())
    turns = [at for at, item in enumerate(items) if item.message.role is Role.USER and at > 0]
    if not turns:
        return _within_turn(items, 0, budget)
    wanted = _stepped(total - budget, budget)
    gone = at = 0
    cut = turns[-1]
    for turn in turns:
        gone += sum(item.tokens for item in items[at:turn])
        at = turn
        if gone >= wanted:
            cut = turn
            break
    kept = items[cut:]
    if sum(item.tokens for item in kept) > budget:
        return _within_turn(kept, cut, budget)
    return _window(kept, (_earlier(cut),), cut)


def last_turns(items: Sequence[Item], turns: int) -> Sequence[Item]:
    """Return the last turns of a conversation, at most so many; the start moves in steps of a quarter of them."""
    starts = [at for at, item in enumerate(items) if item.message.role is Role.USER]
    excess, step = len(starts) - turns, max(1, turns // 4)
    return items if excess <= 0 else items[starts[min(-(-excess // step) * step, len(starts) - 1)] :]


def _within_turn(turn: Sequence[Item], before: int, budget: int) -> Window:
    """Drop the oldest steps of a turn that is too large by itself."""
    marks = (_earlier(before),) if before else ()
    steps = [at for at, item in enumerate(turn) if item.message.role is Role.ASSISTANT]
    if len(steps) < 2:
        return _window(turn, marks, before)
    first = steps[0]
    wanted = _stepped(sum(item.tokens for item in turn) - budget, budget)
    gone = 0
    cut = steps[-1]
    for step, following in pairwise(steps):
        gone += sum(item.tokens for item in turn[step:following])
        if gone >= wanted:
            cut = following
            break
    kept = [*turn[:first], *turn[cut:]]
    left_out = cut - first
    note = f"[{left_out} messages of this turn, calls of tools and their results, were left out here: no room]"
    return _window(kept, (*marks, note), before + left_out)


def _stepped(excess: int, budget: int) -> int:
    step = max(1, int(budget * STEP_SHARE))
    return -(-excess // step) * step


def _earlier(count: int) -> str:
    return f"[{count} earlier messages of this conversation were left out here: no room]"


def _window(items: Sequence[Item], marks: Sequence[str], left_out: int = 0) -> Window:
    messages = [item.message for item in items]
    if marks:
        blocks = tuple(TextBlock(mark) for mark in marks)
        if messages and messages[0].role is Role.USER:
            messages[0] = replace(messages[0], content=(*blocks, *messages[0].content))
        else:
            messages.insert(0, user_message("\n".join(marks)))
    return Window(
        tuple(messages),
        sum(item.tokens for item in items),
        left_out,
    )
