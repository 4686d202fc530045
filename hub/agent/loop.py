"""The loop of an agent: call the model, execute its tool calls, return the results, until it answers in plain text.

Functions over plain data: what a model is and how a tool is called is handed in (`Ports`), what happens comes out as
events, and nothing is kept. Cancelling the generator ends the model call or the active tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.budgets.limits import LimitHit, RunLimits, RunSpent, limit_reached
from hub.agent.budgets.repetition import CALLS_KEPT, Repetition, ToolCallMade, digest_call, repetition
from hub.models.contract import (
    Block,
    ContextOverflow,
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
from hub.tools.contract import ToolResult

CALLS_LIMIT = 64
"""Tool calls done of one turn; what is beyond gets a result that says so."""
SKIPPED = "Skipped due to queued user message."
HALVINGS_LIMIT = 4
"""A window is often configured larger than it is: a sixteenth of the conversation is tried before it is given up."""


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


class Ports(Protocol):
    """The dependencies of the loop: models, tools and the conversation."""

    def stream(self, *, halvings: int) -> AsyncIterator[ModelEvent]:
        """Call the model; the conversation is halved once for each time it was too long.

        Raises:
            ModelError: It failed for good.
        """
        ...

    async def invoke(self, call: ToolCallBlock) -> ToolResult:
        """Make a tool call; errors are returned as results."""
        ...

    def parallel_safe(self, call: ToolCallBlock) -> bool:
        """Whether the call may run concurrently with others."""
        ...

    def read_only(self, call: ToolCallBlock) -> bool:
        """Whether the call changes nothing."""
        ...

    def of_client(self, call: ToolCallBlock) -> bool:
        """Whether the call is for the requester of the run to carry out."""
        ...

    def needs_retry(self) -> bool:
        """Whether the model must answer once more, because its answer does not count."""
        ...

    def steered(self) -> bool:
        """Whether messages wait that must be heard before anything else is done."""
        ...

    async def hear(self) -> None:
        """Add the waiting messages to the conversation."""
        ...

    async def make_room(self, *, overflow: bool = False) -> bool:
        """Shorten the conversation when it nears the model's window, or when the model said that it is too long.

        Returns:
            Whether it is shorter now.
        """
        ...

    async def allowed(self) -> LimitHit | None:
        """Return the limit beside those of the run that forbids another model call; may choose another model for it."""
        ...

    def estimated_tokens(self) -> int:
        """Return the estimated tokens of the last model call, for providers that report no usage."""
        ...


class TurnBegun(Struct, frozen=True):
    """A model call began; `draft` fills with its output."""

    draft: AnswerDraft


class TurnEnded(Struct, frozen=True):
    """A model call ended; without tool calls this is the answer. Tools are called when the consumer resumes."""

    turn: DraftTurn
    spent: RunSpent


class ToolEnded(Struct, frozen=True):
    """A tool call has its result; these come in the order of the calls."""

    call: ToolCallBlock
    result: ToolResult


class HandedOver(Struct, frozen=True):
    """Tool calls for the requester of the run; the last event."""

    calls: tuple[ToolCallBlock, ...]


class Limited(Struct, frozen=True):
    """A limit forbids another model call; the last event."""

    hit: LimitHit


LoopEvent = ModelEvent | TurnBegun | TurnEnded | ToolEnded | HandedOver | Limited


async def agent_loop(ports: Ports, limits: RunLimits) -> AsyncGenerator[LoopEvent, None]:
    """Run turns until the model answers in plain text, calls a tool of the requester, or reaches a limit.

    Raises:
        ModelError: The model failed for good; a conversation that is too long is compacted once and then halved up to
            four times before.
    """
    spent = RunSpent()
    made: list[ToolCallMade] = []
    halvings, too_large, made_room = 0, -1, False
    while True:
        await ports.hear()
        hit = limit_reached(limits, spent) or await ports.allowed()
        if hit is not None:
            yield Limited(hit)
            return
        await ports.make_room()
        draft = AnswerDraft()
        yield TurnBegun(draft)
        try:
            # Providers' streams are asynchronous generators, which must be closed for the call to end.
            stream = cast("AsyncGenerator[ModelEvent, None]", ports.stream(halvings=halvings))
            async with aclosing(stream) as events:
                async for event in events:
                    draft.add(event)
                    yield event
        except ContextOverflow:
            size = ports.estimated_tokens()
            if halvings == HALVINGS_LIMIT or draft.begun or size == too_large:
                raise
            if not made_room:
                made_room = True
                if await ports.make_room(overflow=True):
                    continue
            halvings, too_large = halvings + 1, size
            continue
        made_room = False
        turn = draft.turn()
        spent = spent.plus(turn.usage, ports.estimated_tokens())
        yield TurnEnded(turn, spent)
        if not turn.calls:
            if ports.needs_retry():
                continue
            return
        theirs = tuple(call for call in turn.calls if ports.of_client(call))
        ours = [call for call in turn.calls if call not in theirs] if theirs else turn.calls
        spent = spent.with_tool_calls(len(turn.calls))
        repeated: Repetition | None = None
        async with aclosing(_tools(ports, ours)) as ended:
            async for done in ended:
                made.append(digest_call(done.call, done.result, read_only=ports.read_only(done.call)))
                repeated = repetition(made, limits.repeats)
                yield done if repeated is None else _warned(done, repeated)
        if theirs:
            yield HandedOver(theirs)
            return
        del made[:-CALLS_KEPT]
        if repeated is not None and repeated.is_over:
            yield Limited(LimitHit("repeats", repeated.limit, repeated.times, repeated))
            return


def _warned(event: ToolEnded, repeated: Repetition) -> ToolEnded:
    result = event.result
    return ToolEnded(event.call, replace(result, output=f"{result.output}\n\n{repeated.warning}"))


async def _tools(ports: Ports, calls: Sequence[ToolCallBlock]) -> AsyncGenerator[ToolEnded, None]:
    """Make the calls of one turn: concurrently if all allow it, else one after the other.

    Those that have not begun when a message waits are skipped.
    """
    doing, beyond = calls[:CALLS_LIMIT], calls[CALLS_LIMIT:]
    if len(doing) > 1 and not ports.steered() and all(ports.parallel_safe(call) for call in doing):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ports.invoke(call)) for call in doing]
        for call, task in zip(doing, tasks, strict=True):
            yield ToolEnded(call, task.result())
    else:
        for call in doing:
            yield ToolEnded(call, ToolResult(SKIPPED, is_error=True) if ports.steered() else await ports.invoke(call))
    for call in beyond:
        text = (
            f"error: only {CALLS_LIMIT} calls are done at once; this one was not. Call it again if it is still needed."
        )
        yield ToolEnded(call, ToolResult(text, is_error=True))


def _whole(block: TextBlock | Thinking) -> bool:
    return isinstance(block, TextBlock) or block.signature is not None
