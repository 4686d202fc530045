"""Where a conversation is cut, and how the part before the cut is divided for summarising. Pure.

A cut never separates a tool call from its result. The shares and the margin are those of OpenClaw: a chunk has 0.4 of
the window, less where messages are large, and a message of more than half the window is only counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from msgspec import Struct

from hub.agent.conversation.window import Item, estimate_text
from hub.models.contract import Image, Message, Role, TextBlock, ToolCallBlock

CHUNK_SHARE = 0.4
CHUNK_SHARE_MIN = 0.15
SAFETY_MARGIN = 1.2
"""Estimates may be too low by this factor."""
LARGE_MESSAGE_SHARE = 0.1
"""From this average share of the window on, chunks become smaller."""
HUGE_SHARE = 0.5
RESULT_CHARS = 2_000
"""Characters of a tool result, or of a call's arguments, that a summary is made from."""
TURN_SHARE = 4
"""A request is kept word for word when the cut falls behind it, if it has at most a fourth of what is kept."""


class Cut(Struct, frozen=True):
    """Where a conversation is cut.

    Attributes:
        at: Index of the first item that is kept.
        turn: Index of the request that began the turn, when the cut is inside one and the request is kept too.
    """

    at: int
    turn: int | None = None


class TalkPiece(Struct, frozen=True):
    """A part of a conversation as text, with its estimated tokens."""

    text: str
    tokens: int


def find_cut(items: Sequence[Item], keep_tokens: int) -> Cut:
    """Return the latest cut that keeps at least `keep_tokens`; at 0 everything is kept.

    Where that would separate a call from its results, the cut moves after them; when they are last, before the call.
    """
    kept, cut = 0, None
    without_call: set[str] = set()
    for at in range(len(items) - 1, -1, -1):
        message = items[at].message
        if message.role is Role.TOOL:
            without_call.add(message.tool_call_id or "")
        elif message.role is Role.USER:
            without_call.clear()  # a result that has no call is sent to nobody
        else:
            without_call.difference_update(call.id for call in message.tool_calls)
        kept += items[at].tokens
        if not without_call:
            cut = at
        if kept >= keep_tokens and cut is not None:
            break
    else:
        return Cut(0)
    if items[cut].message.role is Role.USER:
        return Cut(cut)
    turn = next((each for each in range(cut - 1, -1, -1) if items[each].message.role is Role.USER), None)
    if turn is None or items[turn].tokens * TURN_SHARE > keep_tokens:
        return Cut(cut)
    return Cut(cut, turn)


def chunks(messages: Sequence[Message], window: int) -> list[TalkPiece]:
    """Return messages as text, in pieces that each fit into one call of a model with this window."""
    pieces = [_bounded(serialise(message), window) for message in messages]
    pieces = [piece for piece in pieces if piece.text]
    if not pieces:
        return []
    limit = chunk_tokens(sum(piece.tokens for piece in pieces) // len(pieces), window)
    made: list[TalkPiece] = []
    waiting: list[TalkPiece] = []
    size = 0
    for piece in pieces:
        if waiting and size + piece.tokens > limit:
            made.append(_joined(waiting))
            waiting, size = [], 0
        waiting.append(piece)
        size += piece.tokens
    return [*made, _joined(waiting)]


def chunk_tokens(average: int, window: int) -> int:
    """Return the size of a chunk for messages of this average size."""
    share = average * SAFETY_MARGIN / window
    ratio = CHUNK_SHARE if share <= LARGE_MESSAGE_SHARE else max(CHUNK_SHARE_MIN, CHUNK_SHARE - 2 * share)
    return max(1, int(window * ratio / SAFETY_MARGIN))


def serialise(message: Message) -> str:
    """Return a message as text to be summarised, in a form that a model does not continue; thinking is left out."""
    if message.role is Role.TOOL:
        failed = ", failed" if message.is_error else ""
        return f"[Result of {message.tool_name}{failed}] {_cut(_text(message))}"
    lines = []
    if text := _text(message).strip():
        lines.append(f"[{'User' if message.role is Role.USER else 'Assistant'}] {text}")
    for call in message.tool_calls:
        lines.append(f"[Call of {call.name}] {_cut(_arguments(call))}")
    return "\n".join(lines)


def _text(message: Message) -> str:
    shown = [
        block.text if isinstance(block, TextBlock) else "(an image)"
        for block in message.content
        if isinstance(block, TextBlock | Image)
    ]
    return "\n".join(shown)


def _arguments(call: ToolCallBlock) -> str:
    if call.malformed is not None:
        return call.malformed
    return orjson.dumps(call.arguments, default=str).decode()


def _cut(text: str) -> str:
    beyond = len(text) - RESULT_CHARS
    return text if beyond <= 0 else f"{text[:RESULT_CHARS]}\n[... {beyond} more characters]"


def _bounded(text: str, window: int) -> TalkPiece:
    tokens = estimate_text(text)
    if tokens * SAFETY_MARGIN > window * HUGE_SHARE:
        text = f"{text[: text.find(']') + 1]} (a message of about {tokens} tokens, too long to be summarised)"
        tokens = estimate_text(text)
    return TalkPiece(text, tokens)


def _joined(pieces: Sequence[TalkPiece]) -> TalkPiece:
    return TalkPiece("\n\n".join(piece.text for piece in pieces), sum(piece.tokens for piece in pieces))
