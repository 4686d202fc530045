"""Shows runs in chats while they work: the answer that is being written, and on request what leads to it.

An answer is shown in finished blocks, or as one message that grows. `/verbose`, `/reasoning` and `/usage` ask for
the rest.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from hub.agent.compaction.compact import EVENT_FINISHED
from hub.agent.parts import RunDependencies
from hub.agent.run_request import RunResult
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.sql import SqlConnection
from hub.hooks.contract import BeforeMessageWrite, MessageSending
from hub.messaging.capabilities import CanDraft, CanEdit
from hub.messaging.channels import Attached
from hub.messaging.contract import Address, ChatType, Delivery, DeliveryState
from hub.messaging.outbox.chunking import (
    SMALLEST_LIMIT,
    BlockBreak,
    block_end,
    chunk,
    close_fence,
    may_end_block,
    sentence_end,
)
from hub.messaging.outbox.outbound_policy import BlockSending, BlockStreaming, DraftStreaming
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import ParsedReply, Replies, ReplyTarget, delivered_so_far
from hub.messaging.texts import say
from hub.models.contract import Thinking

_log = logging.getLogger(__name__)

WATCHED_LIMIT = 1_000
"""Runs that are watched at once; of the oldest beyond that nothing is sent but the answer."""
QUEUED_FROM_MS = 2_000
"""A message that waited so long for its turn is said to have."""
ARGUMENT_CHARS = 160
RESULT_CHARS = 1_500
THINKING_CHARS = 3_000
_TICKS = re.compile("`+")

SHOW_LIMIT_S = 10.0
"""The longest time for one look at an answer; so long it may hold up the answer itself."""
FIRST_LOOK_S = 0.2
"""After the first words: they are to be seen at once, and an answer of a moment needs no preview."""
ROOM_FACTOR = 3.0
"""Edits in a group are so much rarer: platforms count them among its messages."""
FENCE_ROOM = 16
"""Room in a preview for the end of a code fence."""
DRAFT_BLOCKS = BlockStreaming(min_chars=200, max_chars=800, break_at=BlockBreak.SENTENCE)
"""The blocks in which a draft grows with `streaming: block`."""


class _Said(Struct, eq=False):
    """One message of a model: its text so far, the start of the next block, and whether it is complete."""

    text: str = ""
    cut: int = 0
    whole: bool = False


class _AnswerStream(Struct, eq=False):
    """An answer that is being written.

    Attributes:
        said: The model's texts that were not handled yet; the last is the current one.
        said_at: When it said something last.
        grown: Set when a block may have been finished.
        own: Rows of blocks that were written.
        next_ms: When the next block is sent at the earliest.
        shown: What a preview shows.
        row_id: The row of the message that is a preview.
        edits: How often it was edited.
        ended: Whether its end is written: nothing may be shown any more.
    """

    run_id: str
    target: ReplyTarget
    model: str | None = None
    said: list[_Said] = field(default_factory=lambda: [_Said()])
    said_at: float = 0.0
    grown: asyncio.Event = field(default_factory=asyncio.Event)
    own: set[str] = field(default_factory=set)
    next_ms: int = 0
    shown: str = ""
    row_id: str | None = None
    edits: int = 0
    ended: bool = False
    task: asyncio.Task[None] | None = None


class _LiveRun(Struct, eq=False):
    """A run that is shown in the chat that it answers.

    Attributes:
        options: Those of the message that it answers.
        due_ms: When it could have begun, in milliseconds since the epoch; 0 when it does not matter.
        stream: Its answer; None when that is not shown before it is complete.
        thought: The end of what its model thinks.
        draft_next_at: When that is shown at the earliest.
    """

    target: ReplyTarget
    options: Mapping[str, Any]
    due_ms: int
    stream: _AnswerStream | None
    thought: str = ""
    draft_next_at: float = 0.0


class LiveAnswers:
    """Shows runs while they work; never in the home channel, where the conversation itself shows all of that.

    The answer is shown where the account of a channel asks for it: a preview needs a channel with drafts or edits,
    blocks are the alternative. Tool calls, thinking and usage are shown where the message or its session asks for it.

    Args:
        parts: The dependencies of runs.
        outbox: Sends the messages.
        replies: Writes what is sent.
        may_send: Whether anything of a session is sent to a chat.
    """

    def __init__(
        self,
        parts: RunDependencies,
        outbox: Outbox,
        replies: Replies,
        may_send: Callable[[Address, str], bool],
    ) -> None:
        self._parts = parts
        self._outbox = outbox
        self._replies = replies
        self._may_send = may_send
        self._runs: OrderedDict[str, _LiveRun] = OrderedDict()
        parts.bus.listen("run_started", self._started)
        parts.bus.listen("run_delta", self._delta)
        parts.bus.listen("run_thinking", self._thinking)
        parts.bus.listen("run_tool_started", self._tool_started)
        parts.bus.listen("run_tool_finished", self._tool_finished)
        parts.bus.listen(EVENT_FINISHED, self._compacted)
        parts.bus.listen("run_finished", self._finished)

    def watch(self, run_id: str, target: ReplyTarget, options: Mapping[str, Any], due_ms: int = 0) -> None:
        """Show a run from now to its end.

        Args:
            target: The chat, and the message that the run answers.
            options: The options of that message.
            due_ms: When the run could have begun, in milliseconds since the epoch; 0 when it does not matter.
        """
        if self._outbox.channels.is_home(target.address.channel):
            return
        self._runs[run_id] = _LiveRun(target, options, due_ms, _AnswerStream(run_id, target))
        while len(self._runs) > WATCHED_LIMIT:
            self._runs.popitem(last=False)

    def end(self, connection: SqlConnection, result: RunResult, *, may_send: bool) -> str:
        """Stop showing an answer and write the extras before it; return the line below it, if any.

        In the transaction that writes the answer, before its rows.

        Args:
            may_send: Whether anything of its session is sent to its chat.
        """
        run = self._runs.get(result.run_id)
        if run is None:
            return ""
        if run.stream is not None:
            run.stream.ended = True
        return self._beside(connection, result, run) if may_send and result.status == "ok" else ""

    # -- what a run does -------------------------------------------------------------------------------------------

    def _started(self, event: Event) -> None:
        run = self._runs.get(event.data["run_id"])
        if run is None:
            return
        if run.stream is not None:
            if self._showing(run.stream) is None:
                run.stream = None
            else:
                run.stream.model = event.data["model"]
        waited_ms = self._parts.now_ms() - run.due_ms if run.due_ms else 0
        if waited_ms >= QUEUED_FROM_MS and self._is_verbose(run, "on"):
            self._tell(run, event, "verbose.queued", ms=waited_ms)

    def _delta(self, event: Event) -> None:
        run, text = self._runs.get(event.data["run_id"]), event.data["text"]
        if run is None or (stream := run.stream) is None:
            return
        if stream.said[-1].whole:
            stream.said.append(_Said())
        elif event.data["so_far_chars"] == len(text):
            stream.said[-1] = _Said()
        stream.said[-1].text += text
        if may_end_block(stream.said[-1].text, len(text)):
            stream.grown.set()
        stream.said_at = self._parts.clock.monotonic()
        self._follow(stream)

    def _tool_started(self, event: Event) -> None:
        run = self._runs.get(event.data["run_id"])
        if run is None:
            return
        if run.stream is not None:
            run.stream.said[-1].whole = True
            run.stream.grown.set()
            self._follow(run.stream)
        if self._is_verbose(run, "on"):
            shown = self._parts.redactor.redact(_written(event.data.get("arguments")))
            self._tell(run, event, "verbose.tool", name=event.data["name"], arguments=_cut(shown))

    def _finished(self, event: Event) -> None:
        run = self._runs.pop(event.data["run_id"], None)
        if run is not None and run.stream is not None and run.stream.task is not None:
            run.stream.task.cancel()

    # -- the answer ------------------------------------------------------------------------------------------------

    def _follow(self, stream: _AnswerStream) -> None:
        """Make sure that a task is showing the text."""
        if (stream.task is None or stream.task.done()) and (show := self._showing(stream)) is not None:
            stream.task = self._parts.tasks.spawn(show(), name=f"stream to {stream.target.address.channel}")

    def _showing(self, stream: _AnswerStream) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Return the display of an answer, or None if there is none: no preview where hooks may change it."""
        address = stream.target.address
        attached = self._outbox.channels.get(address.channel, address.account)
        if attached is None or self._parts.tasks.closed:
            return None
        hooks = self._parts.hooks
        if hooks is not None and BeforeMessageWrite.hook in hooks.wanted:
            return None
        as_it_grows = hooks is None or MessageSending.hook not in hooks.wanted
        if (
            as_it_grows
            and attached.outbound.streaming is not DraftStreaming.OFF
            and (_drafts(attached, address) is not None or isinstance(attached.channel, CanEdit))
        ):
            return partial(self._preview, stream, attached)
        blocks = attached.outbound.blocks or self._outbox.settings.blocks
        return partial(self._blocks, stream, attached, blocks) if blocks.enabled else None

    # -- blocks ----------------------------------------------------------------------------------------------------

    async def _blocks(self, stream: _AnswerStream, attached: Attached, blocks: BlockStreaming) -> None:
        """Send the finished blocks of an answer."""
        limits, idle_s = attached.channel.limits, blocks.idle_ms / 1000
        least = blocks.min_chars if attached.outbound.blocks else max(blocks.min_chars, limits.block_chars)
        most = min(max(blocks.max_chars, least), attached.outbound.text_limit or limits.text)
        least = min(least, most)
        while True:
            idle = await self._grown_or_idle(stream, idle_s)
            for said in list(stream.said):
                if blocks.send_at is BlockSending.MESSAGE_END and not said.whole:
                    continue
                so_far = delivered_so_far(said.text)
                text = so_far.text or ""
                end = block_end(text, said.cut, least, most, blocks.break_at)
                while end is not None and await self._block(stream, said, replace(so_far, text=text[:end])):
                    end = block_end(text, said.cut, least, most, blocks.break_at)
                if idle and (end := sentence_end(text, said.cut, most)) is not None:
                    await self._block(stream, said, replace(so_far, text=text[:end]))
                if said.whole and said.cut < len(text):
                    await self._block(stream, said, so_far)
                if said.whole and said is not stream.said[-1]:
                    stream.said.remove(said)
            if idle:
                return

    async def _grown_or_idle(self, stream: _AnswerStream, idle_s: float) -> bool:
        """Wait until a block may be finished; return whether nothing was said for so long."""
        clock = self._parts.clock
        while (left_s := stream.said_at + idle_s - clock.monotonic()) > 0 and not stream.grown.is_set():
            waiting = [asyncio.ensure_future(each) for each in (stream.grown.wait(), clock.sleep(left_s))]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waiting:
                    each.cancel()
        stream.grown.clear()
        return left_s <= 0

    async def _block(self, stream: _AnswerStream, said: _Said, so_far: ParsedReply) -> bool:
        """Send the text up to here; return whether it was written."""
        target = stream.target
        if not self._may_send(target.address, target.session_key):
            return False

        def insert(connection: SqlConnection) -> list[str]:
            if stream.ended:
                return []
            return self._replies.insert_block(
                connection,
                so_far,
                target,
                run_id=stream.run_id,
                model=stream.model,
                own=stream.own,
                not_before_ms=stream.next_ms,
            )

        try:
            ids = await self._outbox.write(target.address, insert)
        except HubError as error:  # the next block has it too, or the answer
            _log.warning("a block of run %s is not sent yet: %s", stream.run_id, error.message)
            return False
        said.cut = len(so_far.text or "")
        if ids:
            stream.own.update(ids)
            own = (each.human_delay for each in self._parts.agents.all() if each.id == target.agent_id)
            pause = next(own, None) or self._outbox.settings.human_delay
            delay_ms = pause.delay_ms(random.random())  # noqa: S311  it guards nothing
            stream.next_ms = max(stream.next_ms, self._parts.now_ms()) + delay_ms
        return True

    # -- one message that grows ------------------------------------------------------------------------------------

    async def _preview(self, stream: _AnswerStream, attached: Attached) -> None:
        """Show an answer as it grows, until the preview is current."""
        limits, address = attached.channel.limits, stream.target.address
        often = address.chat_type is ChatType.DIRECT
        interval_s = limits.draft_interval_s * (1.0 if often else ROOM_FACTOR)
        pause_s = interval_s if stream.shown else min(FIRST_LOOK_S, interval_s)
        while True:
            await self._parts.clock.sleep(pause_s)
            stream.said = stream.said[-1:]
            so_far = delivered_so_far(stream.said[0].text)
            text = self._grown(so_far.text or "", attached, stream)
            if not text or text == stream.shown or stream.ended or stream.edits >= limits.edits - 1:
                return
            if not self._may_send(address, stream.target.session_key):
                return
            try:
                delivery = await self._show(stream, attached, replace(so_far, text=text))
            except HubError as error:
                _log.warning("run %s is not shown while it goes on: %s", stream.run_id, error.message)
                return
            if delivery.state is DeliveryState.PERMANENT:
                if (run := self._runs.get(stream.run_id)) is not None:
                    run.stream = None
                return
            if delivery.state is DeliveryState.DELIVERED:
                stream.shown = text
            pause_s = max(interval_s, delivery.retry_after_s or 0.0)

    def _grown(self, text: str, attached: Attached, stream: _AnswerStream) -> str:
        """Return the part of a text for a preview: as much as fits into a message, with its prefix."""
        if attached.outbound.streaming is DraftStreaming.BLOCK:
            end, found = 0, block_end(text, 0, DRAFT_BLOCKS.min_chars, DRAFT_BLOCKS.max_chars, DRAFT_BLOCKS.break_at)
            while found is not None:
                end = found
                found = block_end(text, end, DRAFT_BLOCKS.min_chars, DRAFT_BLOCKS.max_chars, DRAFT_BLOCKS.break_at)
            text = text[:end].strip()
        if not text:
            return ""
        limits, policy = attached.channel.limits, attached.outbound
        limit = max(SMALLEST_LIMIT, min(limits.text, policy.text_limit or limits.text) - FENCE_ROOM)
        text = self._replies.with_prefix(text, stream.model, stream.target)
        return close_fence(chunk(text, limit, limits.unit, policy.chunk_mode, limits.lines)[0])

    async def _show(self, stream: _AnswerStream, attached: Attached, so_far: ParsedReply) -> Delivery:
        """Show the text so far: as a draft, a new message, or an edit of that."""
        channel, address, text = attached.channel, stream.target.address, so_far.text or ""
        if (drafting := _drafts(attached, address)) is not None:
            return await self._held(stream, partial(drafting.draft, address, stream.run_id, text))
        if stream.row_id is None:

            def insert(connection: SqlConnection) -> list[str]:
                if stream.ended:
                    return []
                return self._replies.insert_preview(connection, so_far, stream.target, stream.run_id)

            stream.row_id = next(iter(await self._outbox.write(address, insert)), None)
            if stream.row_id is None:
                return Delivery(DeliveryState.TRANSIENT)
        row = await self._outbox.get(stream.row_id)
        if row.message().text == text:
            return Delivery(DeliveryState.DELIVERED)
        if not row.platform_ids or not isinstance(channel, CanEdit):
            return Delivery(DeliveryState.TRANSIENT)
        stream.edits += 1
        return await self._held(stream, partial(channel.edit, address, row.platform_ids[0], text))

    async def _held(self, stream: _AnswerStream, show: Callable[[], Awaitable[Delivery | None]]) -> Delivery:
        """Show something, with the answer itself held back until it has ended."""
        if stream.ended:
            return Delivery(DeliveryState.TRANSIENT)
        task = self._parts.tasks.spawn(self._shown(show), name="show an answer that is being written")
        self._outbox.hold(stream.run_id, task)
        return await asyncio.shield(task)

    async def _shown(self, show: Callable[[], Awaitable[Delivery | None]]) -> Delivery:
        try:
            async with asyncio.timeout(SHOW_LIMIT_S):
                await self._outbox.channels.lease.held()
                return await show() or Delivery(DeliveryState.DELIVERED)
        except Exception as error:  # nothing depends on it
            _log.warning("an answer cannot be shown while it is written: %r", error)
            return Delivery(DeliveryState.PERMANENT)

    # -- what leads to it ------------------------------------------------------------------------------------------

    def _beside(self, connection: SqlConnection, result: RunResult, run: _LiveRun) -> str:
        wanted = self._chosen(run, "reasoning")
        thoughts = _thoughts(result) if wanted == "on" or (wanted == "stream" and self._draws(run) is None) else ""
        if thoughts:
            text, target = f"{say('reasoning.title', self._outbox.settings.language)}\n{thoughts}", run.target
            self._outbox.insert(
                connection, target.address, text, caused_by=target.context.id, session_key=target.session_key
            )
        level = self._chosen(run, "footer")
        return self._footer(result, level) if level in ("tokens", "full") else ""

    def _footer(self, result: RunResult, level: str) -> str:
        usage = result.usage
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        cost = "-" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        key = f"footer.{level}"
        return say(
            key,
            self._outbox.settings.language,
            input=read,
            output=usage.output_tokens,
            cost=cost,
            model=result.model or "-",
        )

    def _tool_finished(self, event: Event) -> None:
        run = self._runs.get(event.data["run_id"])
        if run is not None and self._is_verbose(run, "full"):
            key = "verbose.failed" if event.data["is_error"] else "verbose.result"
            self._tell(run, event, key, name=event.data["name"], output=_fenced(event.data["output"]))

    def _compacted(self, event: Event) -> None:
        run, told = self._runs.get(event.data["run_id"]), event.data
        if run is not None and "error" not in told and self._is_verbose(run, "on"):
            sizes = {"before": told["tokens_before"], "after": told["tokens_after"]}
            self._tell(run, event, "verbose.compacted", count=told["messages"], **sizes)

    def _is_verbose(self, run: _LiveRun, level: str) -> bool:
        return self._chosen(run, "verbose") in (level, "full") and self._sends(run)

    def _tell(self, run: _LiveRun, event: Event, key: str, **facts: Any) -> None:
        text = say(key, self._outbox.settings.language, **facts).rstrip()
        sending = self._outbox.send(run.target.address, text, event.context, session_key=run.target.session_key)
        self._parts.tasks.spawn(sending, name="send what /verbose asks for")

    def _thinking(self, event: Event) -> None:
        run = self._runs.get(event.data["run_id"])
        if run is None or self._chosen(run, "reasoning") != "stream":
            return
        run.thought = (run.thought + event.data["text"])[-THINKING_CHARS:]
        channel, now = self._draws(run), self._parts.clock.monotonic()
        if channel is None or now < run.draft_next_at or not self._sends(run):
            return
        run.draft_next_at = now + channel.limits.draft_interval_s
        thinking = partial(channel.draft, run.target.address, event.data["run_id"], run.thought)
        self._parts.tasks.spawn(self._shown(thinking), name="show what a model thinks")

    def _sends(self, run: _LiveRun) -> bool:
        return self._may_send(run.target.address, run.target.session_key)

    def _draws(self, run: _LiveRun) -> CanDraft | None:
        attached = self._outbox.channels.get(run.target.address.channel, run.target.address.account)
        found: object = attached and attached.channel
        return found if isinstance(found, CanDraft) else None

    def _chosen(self, run: _LiveRun, field: str) -> str | None:
        session = self._parts.sessions.get(run.target.session_key)
        chosen: str | None = run.options.get(field) or getattr(session, field, None)
        return chosen


def _drafts(attached: Attached, address: Address) -> CanDraft | None:
    found: object = attached.channel
    return found if address.chat_type is ChatType.DIRECT and isinstance(found, CanDraft) else None


def _thoughts(result: RunResult) -> str:
    """Return the thinking as a quotation."""
    found = [block.text for message in result.messages for block in message.content if isinstance(block, Thinking)]
    lines = "\n\n".join(found).strip()[:THINKING_CHARS].splitlines()
    return "\n".join(f"> {line}" for line in lines)


def _written(arguments: Any) -> str:
    if not arguments:
        return ""
    if isinstance(arguments, str):
        return arguments
    return ", ".join(f"{name}={orjson.dumps(value, default=str).decode()}" for name, value in arguments.items())


def _fenced(output: str) -> str:
    """Return the beginning of a tool's output as code, whatever is in it."""
    text = output.strip()
    shown = text if len(text) <= RESULT_CHARS else f"{text[:RESULT_CHARS]}…"
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(shown))])
    return f"{fence}\n{shown}\n{fence}" if shown else ""


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= ARGUMENT_CHARS else f"{line[: ARGUMENT_CHARS - 1]}…"
