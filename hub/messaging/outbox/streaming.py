"""Shows answers in chats while they are written: finished blocks, or one message that grows."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.agent.parts import RunDependencies
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.sql import SqlConnection
from hub.hooks.contract import BeforeMessageWrite, MessageSending
from hub.messaging.capabilities import CanDraft, CanEdit
from hub.messaging.channels import Attached
from hub.messaging.contract import Address, ChatType, Delivery, DeliveryState
from hub.messaging.outbox.answer_extras import WATCHED_LIMIT
from hub.messaging.outbox.chunking import SMALLEST_LIMIT, BlockBreak, block_end, chunk, close_fence, sentence_end
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import ParsedReply, Replies, ReplyTarget, delivered_so_far
from hub.messaging.outbox.streaming_policy import BlockSending, BlockStreaming, DraftStreaming

_log = logging.getLogger(__name__)

SHOW_LIMIT_S = 10.0
"""The longest time for one look at an answer; so long it may hold up the answer itself."""
ROOM_FACTOR = 3.0
"""Edits in a group are so much rarer: platforms count them among its messages."""
BLOCK_CHECK_S = 0.25
"""How often it is looked whether a block is finished."""
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
    own: set[str] = field(default_factory=set)
    next_ms: int = 0
    shown: str = ""
    row_id: str | None = None
    edits: int = 0
    ended: bool = False
    task: asyncio.Task[None] | None = None


class AnswerStreams:
    """Shows answers while they are written, where the account of a channel asks for it; never in the home channel.

    A preview needs a channel with drafts or edits. Blocks are the alternative.

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
        self._streams: OrderedDict[str, _AnswerStream] = OrderedDict()
        parts.bus.listen("run_started", self._started)
        parts.bus.listen("run_delta", self._delta)
        parts.bus.listen("run_tool_started", self._tool_started)
        parts.bus.listen("run_finished", self._finished)

    def watch(self, run_id: str, target: ReplyTarget) -> None:
        """Show the answer of a run from now to its end, if configured."""
        if self._outbox.channels.is_home(target.address.channel):
            return
        self._streams[run_id] = _AnswerStream(run_id, target)
        while len(self._streams) > WATCHED_LIMIT:
            self._streams.popitem(last=False)

    def end(self, run_id: str) -> None:
        """Stop showing an answer; called before its rows are written, in the same transaction."""
        if (stream := self._streams.get(run_id)) is not None:
            stream.ended = True

    # -- what a run does -------------------------------------------------------------------------------------------

    def _started(self, event: Event) -> None:
        stream = self._streams.get(event.data["run_id"])
        if stream is not None and self._showing(stream) is None:
            del self._streams[stream.run_id]
        elif stream is not None:
            stream.model = event.data["model"]

    def _delta(self, event: Event) -> None:
        stream, text = self._streams.get(event.data["run_id"]), event.data["text"]
        if stream is None:
            return
        if stream.said[-1].whole:
            stream.said.append(_Said())
        elif event.data["so_far_chars"] == len(text):
            stream.said[-1] = _Said()
        stream.said[-1].text += text
        stream.said_at = self._parts.clock.monotonic()
        self._follow(stream)

    def _tool_started(self, event: Event) -> None:
        if (stream := self._streams.get(event.data["run_id"])) is not None:
            stream.said[-1].whole = True
            self._follow(stream)

    def _finished(self, event: Event) -> None:
        stream = self._streams.pop(event.data["run_id"], None)
        if stream is not None and stream.task is not None:
            stream.task.cancel()

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
            await self._parts.clock.sleep(min(BLOCK_CHECK_S, idle_s))
            idle = self._parts.clock.monotonic() - stream.said_at >= idle_s
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
        pause_s = interval_s = limits.draft_interval_s * (1.0 if often else ROOM_FACTOR)
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
                self._streams.pop(stream.run_id, None)
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
        return close_fence(chunk(text, limit, limits.unit, policy.chunk_mode)[0])

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
        task = self._parts.tasks.spawn(_shown(show), name="show an answer that is being written")
        self._outbox.hold(stream.run_id, task)
        return await asyncio.shield(task)


async def _shown(show: Callable[[], Awaitable[Delivery | None]]) -> Delivery:
    try:
        async with asyncio.timeout(SHOW_LIMIT_S):
            return await show() or Delivery(DeliveryState.DELIVERED)
    except Exception as error:  # nothing depends on it
        _log.warning("an answer cannot be shown while it is written: %r", error)
        return Delivery(DeliveryState.PERMANENT)


def _drafts(attached: Attached, address: Address) -> CanDraft | None:
    found: object = attached.channel
    return found if address.chat_type is ChatType.DIRECT and isinstance(found, CanDraft) else None
