"""One turn over one or several messages: its input, its rights, and what its end writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.conversation.conversation import NAME_LIMIT, harmless_name
from hub.agent.parts import RunDependencies
from hub.agent.run_request import RunRequest, RunResult, SteeredMessage, Steering
from hub.core.context import Authority, Context
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.messaging.access.router import Router
from hub.messaging.contract import Address, ChatType, ClientMessage, InboundMessage, Media
from hub.messaging.inbox import inbox_rows
from hub.messaging.inbox.media_store import MediaStore
from hub.messaging.outbox.live_answers import LiveAnswers
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import Replies, ReplyTarget
from hub.messaging.queue import group_history
from hub.messaging.queue.group_history import is_outside, overheard_text
from hub.messaging.queue.quotes import QUOTE_CHARS, quote_text
from hub.messaging.queue.waiting import (
    Conversation,
    WaitingMessage,
    bursts,
    conversation_of,
    own_run,
    waiting_message,
)
from hub.messaging.texts import say
from hub.models.contract import Block, Message, Role, TextBlock
from hub.sessions.keys import SessionKey
from hub.sessions.session import SessionOrigin

BY_HUB = "by_hub"
"""The option of a message whose words are the hub's own, such as one that asks for a greeting."""
PLACE = "place"
"""The option of a message that says for the prompt where it was said; set by the hub alone."""
QUEUED_TITLE = "[Queued messages while agent was busy]"
DROPPED_TITLE = "[Dropped {count} earlier messages because too many were waiting]"
BULLET_CHARS = 160
NOTHING = Message(Role.USER, ())
_MEDIA = attrgetter("message.media")
_PART = re.compile(r"^---\nQueued #\d+ \((?:from .*, )?message_id: .*\)$\n?", re.MULTILINE)


class Turn:
    """A turn that is about to run, or runs.

    Attributes:
        session_key: The session.
        agent_id: The agent that answers.
        messages: Its messages; at least one that was not dropped.
        first: The first of them that was not, whose run it is.
        run_id: The run.
        address: The destination of the answer.
        superseded: Messages that are closed without an answer when it begins.
        heard: Messages that an earlier attempt had read, to be read again.
        steered: Messages that it answers because it read them while it ran.
        stopped: Whether it was stopped before it was a run.
        begun: Whether the database has its messages.
        written: The rows of its answer, once its end is on disk.
    """

    def __init__(
        self,
        session_key: str,
        messages: tuple[WaitingMessage, ...],
        superseded: tuple[WaitingMessage, ...] = (),
        *,
        heard: tuple[WaitingMessage, ...] = (),
        begun: bool = False,
    ) -> None:
        self.session_key = session_key
        self.agent_id = SessionKey.parse(session_key).agent
        self.messages = messages
        self.first = messages[0] if not messages[0].dropped else next(each for each in messages if not each.dropped)
        self.run_id = self.first.run_id
        self.address = messages[-1].message.address
        self.superseded = superseded
        self.heard = self.steered = heard
        self.stopped = False
        self.begun = begun
        self.written: Sequence[str] = ()

    @property
    def joined_messages(self) -> list[tuple[str, WaitingMessage]]:
        """The client-named runs whose messages this turn answers too, with those messages."""
        if len(self.messages) == 1 and not self.steered:
            return []
        answered = (*self.messages, *self.steered)
        return [(run_id, each) for each in answered if (run_id := own_run(each.message)) not in (None, self.run_id)]


class TurnRequests:
    """Makes the run requests of turns.

    Args:
        router: The router with the current settings.
        outbox: Has the replies.
        media: Fetches attachments.
        parts: The dependencies of runs.
    """

    def __init__(self, router: Router, outbox: Outbox, media: MediaStore, parts: RunDependencies) -> None:
        self._router = router
        self._outbox = outbox
        self._media = media
        self._replies = Replies(outbox, media.workspaces)
        self._live = LiveAnswers(parts, outbox, self._replies, router.may_reply)

    def of(self, turn: Turn, steering: Steering | None = None) -> RunRequest:
        """Return the run request of a turn.

        Args:
            turn: The turn.
            steering: Messages it takes while it runs.
        """
        newest = turn.messages[-1].message
        gap_ms = self.gap_ms(newest.address.channel)
        content = turn_content(turn.messages, gap_ms)
        group = self._router.group_settings(newest.address)
        options = newest.options if isinstance(newest, ClientMessage) else {}
        due_ms = turn.first.received_ms + gap_ms
        target = ReplyTarget(turn.address, turn.agent_id, turn.session_key, content.context, newest.answerable_id)
        self._live.watch(turn.run_id, target, options, due_ms)

        async def load() -> Message:
            return turn_content([await self._fetched(each, turn) for each in turn.messages], gap_ms).message

        return RunRequest(
            run_id=turn.run_id,
            agent_id=turn.agent_id,
            session_key=turn.session_key,
            message=content.message,
            context=self._router.with_present_rights(content.context, newest.address, turn.session_key),
            model=options.get("model"),
            thinking=options.get("thinking"),
            configured_prompt=group.system_prompt if group is not None else options.get(PLACE) or newest.note or None,
            extra_system_prompt=options.get("extra_system_prompt"),
            timeout_s=options.get("timeout_s"),
            inbox_id=turn.first.row_id,
            kind="message",
            sender_name=content.sender_name,
            channel=newest.address.channel,
            area=newest.area,
            origin=_origin(newest, content.sender_name),
            by_hub=bool(options.get(BY_HUB)),
            on_final=self._end_of(turn, target),
            load=load if any(map(_MEDIA, turn.messages)) else None,
            quoted=content.quoted,
            steering=steering,
            skills=group.skills if group is not None else None,
            parts=part_runs(turn.messages, gap_ms),
        )

    def gap_ms(self, channel: str) -> int:
        """Return how long text waits for more from its sender, in ms; not at all where each message is whole."""
        if self._outbox.channels.takes_whole_messages(channel):
            return 0
        return self._router.settings.queue.debounce_ms(channel)

    def close_interrupted(
        self,
        connection: SqlConnection,
        run_id: str | None,
        heard: frozenset[str] | None,
        insert: Callable[[SqlConnection, RunRequest], None],
    ) -> list[Address]:
        """Close interrupted messages and tell each sender that it was not done again; return the chats.

        Args:
            connection: In a transaction.
            run_id: The run that was to answer them; None for messages without one.
            heard: The messages whose words the run had; None when that is not known. What was to steer it and did not
                come to that waits for a run of its own.
            insert: Writes the row of such a run.
        """
        for row in inbox_rows.queued_messages(connection):
            if heard is not None and row.run_id == run_id and row.reason == "steered" and row.id not in heard:
                own = waiting_message(row)
                own.run_id = own_run(own.message) or new_id()
                inbox_rows.part(connection, own.row_id, own.run_id)
                insert(connection, queued_request(row.session_key or "", own))
        text = say("run.interrupted", self._router.settings.language)
        told: dict[tuple[str, Conversation], Address] = {}
        for each in inbox_rows.interrupted_messages(connection, run_id=run_id):
            inbox_rows.close(connection, each.id, "done", "interrupted")
            if each.client_run_id is not None and each.run_id is not None:
                inbox_rows.end_joined(connection, [each.client_run_id], each.run_id)
            address = each.inbound.address
            place = (each.run_id or each.id, conversation_of(address))
            if place in told:  # it was answered together with others
                continue
            told[place] = address
            self._outbox.insert(
                connection,
                address,
                text,
                caused_by=each.context_id,
                session_key=each.session_key,
                run_id=each.run_id,
            )
        return list(told.values())

    async def steered_message(self, each: WaitingMessage, turn: Turn) -> SteeredMessage:
        """Return a message in the form for a running turn."""
        fetched = await self._fetched(each, turn)
        said = turn_content([fetched], 0).message
        return SteeredMessage(each.row_id, said, each.message.sender_name, own_run(each.message) or each.run_id)

    async def _fetched(self, each: WaitingMessage, turn: Turn) -> WaitingMessage:
        if each.dropped or not each.message.media:
            return each
        return replace(each, message=await self._media.fetch_attachments(each.message, turn.agent_id, turn.session_key))

    def _end_of(self, turn: Turn, target: ReplyTarget) -> Callable[[SqlConnection, RunResult], None]:
        def end(connection: SqlConnection, result: RunResult) -> None:
            may_send = self._router.may_reply(turn.address, turn.session_key)
            footer = self._live.end(connection, result, may_send=may_send)
            turn.written = ()
            inbox_rows.close_run(connection, turn.run_id)
            group_history.forget(connection, turn.run_id)
            if joined := turn.joined_messages:
                inbox_rows.end_joined(connection, [run_id for run_id, _ in joined], turn.run_id)
            if may_send:
                turn.written = self._replies.insert(connection, result, replace(target, footer=footer))

        return end


def queued_request(session_key: str, first: WaitingMessage) -> RunRequest:
    """Return the run of a message as far as its row tells."""
    return RunRequest(
        run_id=first.run_id,
        agent_id=SessionKey.parse(session_key).agent,
        session_key=session_key,
        message=NOTHING,
        context=first.context,
        inbox_id=first.row_id,
        kind="message",
    )


def _origin(message: InboundMessage, sender_name: str | None) -> SessionOrigin:
    address = message.address
    place = (address.channel, address.account, address.peer, address.thread, address.space)
    who, group = (sender_name or "")[:NAME_LIMIT] or None, (message.group_name or "")[:NAME_LIMIT] or None
    topic, space = (message.topic_name or "")[:NAME_LIMIT] or None, (message.space_name or "")[:NAME_LIMIT] or None
    return SessionOrigin(*place, message.sender, who, group, topic, space)


class TurnContent(Struct, frozen=True):
    """The message of a turn, and the context with the fewest rights of its senders.

    Attributes:
        sender_name: Of its one sender.
        quoted: Whether words of others are quoted in it, so that the rest is its senders' own.
    """

    message: Message
    context: Context
    sender_name: str | None
    quoted: bool = False


def turn_content(messages: Sequence[WaitingMessage], gap_ms: int) -> TurnContent:
    """Return the content of a turn.

    Args:
        messages: At least one that was not dropped, all of one conversation.
        gap_ms: See `bursts`.
    """
    only = messages[0]
    if len(messages) == 1 and not only.others:
        return TurnContent(Message(Role.USER, content_of(only.message)), only.context, only.message.sender_name)
    dropped = [each for each in messages if each.dropped]
    kept = [each for each in messages if not each.dropped]
    least = reduce(Authority.meet, (each.context.authority for each in messages))
    overheard = [line for each in messages for line in each.overheard]
    outside = is_outside(overheard, least.person)
    channel = kept[-1].message.address.channel
    newest = kept[-1]
    lines = overheard_text(overheard, channel, outside=outside) if overheard else []
    outside = outside or is_outside([each.quote for each in kept if each.quote is not None], least.person)
    blocks: list[Block] = []
    if dropped:
        lines += [DROPPED_TITLE.format(count=len(dropped)), *(_bullet(each.message) for each in dropped), ""]
    parts = bursts(kept, gap_ms)
    if len(parts) > 1:
        lines.append(QUEUED_TITLE)
    for number, part in enumerate(parts, 1):
        if len(parts) > 1:
            lines += ["---", f"Queued #{number}{_who(part[0].message)}"]
        for each in part:
            content = content_of(each.message)
            blocks += content[1:]
            lines += [quote_text(each.quote, channel, least.person)] if each.quote is not None else []
            lines += [block.text for block in content[:1] if isinstance(block, TextBlock)]
    one_sender = len({each.message.sender for each in kept}) == 1
    context = newest.context
    return TurnContent(
        Message(Role.USER, (TextBlock("\n".join(lines)), *blocks)),
        Context(least.narrow(tainted=outside), context.id, context.parent_id, context.chain),
        newest.message.sender_name if one_sender else None,
        quoted=outside and not least.tainted,
    )


def part_runs(messages: Sequence[WaitingMessage], gap_ms: int) -> tuple[str, ...]:
    """Return the run of each part of a turn's text; empty if there is only one."""
    if len(messages) == 1:
        return ()
    parts = bursts([each for each in messages if not each.dropped], gap_ms)
    return tuple(own_run(part[0].message) or part[0].run_id for part in parts) if len(parts) > 1 else ()


def parts_of(text: str, count: int) -> list[str]:
    """Return the parts of a turn's text, without separators; the whole text if the number does not match."""
    head, *rest = _PART.split(text)
    return (
        [part.strip("\n") for part in rest] if len(rest) == count and head.rstrip().endswith(QUEUED_TITLE) else [text]
    )


def _who(message: InboundMessage) -> str:
    name, id = harmless_name(message.sender_name), message.answerable_id
    known = [f"from {name}"] if name else []
    known += [f"message_id: {id}"] if id else []
    return f" ({', '.join(known)})" if known else ""


def _bullet(message: InboundMessage) -> str:
    text = " ".join(message.text.split())
    shown = text if len(text) <= BULLET_CHARS else f"{text[: BULLET_CHARS - 1]}…"
    name = harmless_name(message.sender_name)
    return f"- {f'{name}: ' if name else ''}{shown or '[attachment]'}"


def content_of(message: InboundMessage) -> tuple[Block, ...]:
    """Return a message as the blocks of a user's turn; senders' file names are left out."""
    lines = [message.text] if message.text or message.images else []
    if message.quoted is not None and message.address.chat_type is ChatType.DIRECT:
        # Only its sender and the assistant write there; in a group see `quoted_line`.
        lines.insert(0, f'[in reply to: "{" ".join(message.quoted.text.split())[:QUOTE_CHARS]}"]')
    lines += map(_attachment, message.media)
    if message.location is not None:
        lines.append(f"[location: {message.location.latitude:.6f}, {message.location.longitude:.6f}]")
    lines += ["[attached: a contact card]"] * len(message.contacts)
    return (TextBlock("\n".join(lines)), *message.images)


def _attachment(media: Media) -> str:
    if media.path is None:
        return f"[attached, not readable here: {media.kind}{f' ({media.problem})' if media.problem else ''}]"
    return f"[attached {media.kind}: {media.path}, {media.size_bytes or 0} bytes]"
