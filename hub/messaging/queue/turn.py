"""One turn over one or several messages: what the model is shown of them, and with whose rights. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from msgspec import Struct

from hub.agent.conversation.envelope import harmless_name
from hub.core.context import Authority, Context
from hub.messaging.contract import InboundMessage, Media
from hub.messaging.queue.group_history import is_outside, shown
from hub.messaging.queue.waiting import WaitingMessage, bursts, own_run
from hub.models.contract import Block, Message, Role, TextBlock

QUEUED_TITLE = "[Queued messages while agent was busy]"
DROPPED_TITLE = "[Dropped {count} earlier messages because too many were waiting]"
BULLET_CHARS = 160
_PART = re.compile(r"^---\nQueued #\d+ \((?:from .*, )?message_id: .*\)$\n?", re.MULTILINE)


class TurnContent(Struct, frozen=True):
    """The message of a turn, and the context with the least rights of its senders.

    Attributes:
        sender_name: Of its one sender.
        quoted: Whether words of others are quoted in it, so that the rest is its senders' own.
    """

    message: Message
    context: Context
    sender_name: str | None
    quoted: bool = False


def turn_content(messages: Sequence[WaitingMessage], gap_ms: int) -> TurnContent:
    """Return what a turn is about.

    Args:
        messages: At least one that was not dropped, all of one conversation.
        gap_ms: See `bursts`.
    """
    only = messages[0]
    if len(messages) == 1 and not only.overheard:
        return TurnContent(Message(Role.USER, content_of(only.message)), only.context, only.message.sender_name)
    dropped = [each for each in messages if each.dropped]
    kept = [each for each in messages if not each.dropped]
    least = reduce(Authority.meet, (each.context.authority for each in messages))
    overheard = [line for each in messages for line in each.overheard]
    outside = is_outside(overheard, least.person)
    newest = kept[-1]
    lines = shown(overheard, newest.message.address.channel, outside=outside) if overheard else []
    blocks: list[Block] = []
    if dropped:
        lines += [DROPPED_TITLE.format(count=len(dropped)), *(_bullet(each.message) for each in dropped), ""]
    parts = bursts(kept, gap_ms)
    if len(parts) > 1:
        lines.append(QUEUED_TITLE)
    for number, part in enumerate(parts, 1):
        if len(parts) > 1:
            lines += ["---", f"Queued #{number} ({_who(part[0].message)})"]
        for each in part:
            content = content_of(each.message)
            blocks += content[1:]
            lines += [block.text for block in content[:1] if isinstance(block, TextBlock)]
    one_sender = len({each.message.sender for each in kept}) == 1
    context = newest.context
    return TurnContent(
        Message(Role.USER, (TextBlock("\n".join(lines)), *blocks)),
        Context(least.narrow(tainted=outside), context.id, context.parent_id, context.chain),
        newest.message.sender_name if one_sender else None,
        quoted=outside and not least.tainted,
    )


def said_in(messages: Sequence[WaitingMessage], gap_ms: int) -> tuple[str, ...]:
    """Return the run of each of the parts that a turn's text consists of; empty when there is only one."""
    if len(messages) == 1:
        return ()
    parts = bursts([each for each in messages if not each.dropped], gap_ms)
    return tuple(own_run(part[0].message) or part[0].run_id for part in parts) if len(parts) > 1 else ()


def parts_of(text: str, count: int) -> list[str]:
    """Return the parts of a turn's text, without what stands between them; the whole when it has other parts."""
    head, *rest = _PART.split(text)
    return (
        [part.strip("\n") for part in rest] if len(rest) == count and head.rstrip().endswith(QUEUED_TITLE) else [text]
    )


def _who(message: InboundMessage) -> str:
    name = harmless_name(message.sender_name)
    return f"from {name}, message_id: {message.message_id}" if name else f"message_id: {message.message_id}"


def _bullet(message: InboundMessage) -> str:
    text = " ".join(message.text.split())
    shown = text if len(text) <= BULLET_CHARS else f"{text[: BULLET_CHARS - 1]}…"
    name = harmless_name(message.sender_name)
    return f"- {f'{name}: ' if name else ''}{shown or '[attachment]'}"


def content_of(message: InboundMessage) -> tuple[Block, ...]:
    """Return a message as the blocks of a user's turn; names that senders gave to files are not among them."""
    lines = [message.text] if message.text or message.images else []
    lines += [_attachment(media) for media in message.media]
    if message.location is not None:
        lines.append(f"[location: {message.location.latitude:.6f}, {message.location.longitude:.6f}]")
    lines += ["[attached: a contact card]" for _ in message.contacts]
    return (TextBlock("\n".join(lines)), *message.images)


def _attachment(media: Media) -> str:
    if media.path is None:
        return f"[attached, not readable here: {media.kind}{f' ({media.problem})' if media.problem else ''}]"
    return f"[attached {media.kind}: {media.path}, {media.size_bytes or 0} bytes]"
