"""The model's output so far in one call: folds stream events into messages. Pure."""

from __future__ import annotations

from msgspec import Struct

from hub.models.contract import (
    Block,
    Message,
    ModelEvent,
    Role,
    StopEvent,
    StopReason,
    TextBlock,
    TextDelta,
    TextWasThinking,
    Thinking,
    ThinkingDelta,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)


class DraftTurn(Struct, frozen=True):
    """A finished model call; `calls` are the tool calls that its message asks for, in order."""

    message: Message
    usage: Usage
    stop: StopReason
    calls: tuple[ToolCallBlock, ...]


class AnswerDraft:
    """Collects the events of one model call."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.begun = False
        self._blocks: list[Block] = []
        self._pieces: list[str] = []
        self._kind: type[TextBlock] | type[Thinking] | None = None
        self._stop = StopReason.END

    def add(self, event: ModelEvent) -> None:
        """Apply one event."""
        self.begun = True
        kind = type(event)
        if kind is TextDelta:
            self._piece(TextBlock, event.text)  # type: ignore[union-attr]
        elif isinstance(event, ThinkingDelta):
            self._piece(Thinking, event.text)
            if event.signature is not None:
                self._close(event.signature)
        elif isinstance(event, TextWasThinking):
            self._close()
            self._blocks = [Thinking(each.text) if isinstance(each, TextBlock) else each for each in self._blocks]
        elif isinstance(event, ToolCallEvent):
            self._close()
            self._blocks.append(event.call)
        elif isinstance(event, UsageEvent):
            self.usage = event.usage
        elif isinstance(event, StopEvent):
            self._stop = event.reason

    def turn(self) -> DraftTurn:
        """Return the finished call."""
        self._close()
        message = Message(Role.ASSISTANT, tuple(self._blocks))
        return DraftTurn(message, self.usage, self._stop, message.tool_calls)

    def partial(self) -> Message | None:
        """Return what was said before a call was broken off, or None if nothing was.

        Tool calls are left out, since none was executed; unsigned thinking too, since no provider accepts it back.
        """
        self._close()
        kept = tuple(
            block for block in self._blocks if isinstance(block, (TextBlock, Thinking)) and block.text and _whole(block)
        )
        if not any(isinstance(block, TextBlock) for block in kept):
            return None
        return Message(Role.ASSISTANT, kept)

    def _piece(self, kind: type[TextBlock] | type[Thinking], text: str) -> None:
        if self._kind is not kind:
            self._close()
            self._kind = kind
        self._pieces.append(text)

    def _close(self, signature: str | None = None) -> None:
        kind, self._kind = self._kind, None
        if kind is None:
            return
        text = "".join(self._pieces)
        self._pieces = []
        if kind is TextBlock:
            if text:
                self._blocks.append(TextBlock(text))
        elif text or signature:
            self._blocks.append(Thinking(text, signature))


def _whole(block: TextBlock | Thinking) -> bool:
    return isinstance(block, TextBlock) or block.signature is not None
