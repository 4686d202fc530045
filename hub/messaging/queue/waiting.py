"""Which waiting messages are answered next: rules over plain data, without a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import Context
from hub.core.errors import InvalidRequest
from hub.messaging.contract import Address, ClientMessage, InboundEvent, InboundMessage, MessageDeleted, MessageEdited
from hub.messaging.inbox.inbox_rows import InboxRow, MessageRow
from hub.messaging.queue.group_history import OverheardLine, is_outside
from hub.messaging.queue.queue_policy import QueueMode

PATIENCE = 5
"""A message waits at most so many times its own time for others to follow it."""
ALBUM_S = 0.8
"""How long the messages of one album wait for each other; some platforms wait for each to be confirmed."""

Conversation = tuple[str, str, str, str | None]


class WaitingMessage(Struct, eq=False):
    """A message that waits for its turn.

    Attributes:
        row_id: Its row of the inbox.
        run_id: The run that answers it unless it is answered together with others.
        message: The message.
        context: Carries its sender's authority.
        received_ms: Milliseconds since the epoch.
        due: When it may be answered, on the monotonic clock.
        latest: The latest time for it, whatever follows it.
        dropped: Whether it was dropped and is only mentioned.
        steered: Whether the running turn heard it already.
        overheard: The messages in its group before it.
        quote: What it quotes, in a group.
        conversation: The conversation that it is of.
    """

    row_id: str
    run_id: str
    message: InboundMessage
    context: Context
    received_ms: int
    due: float = 0.0
    latest: float = 0.0
    dropped: bool = False
    steered: bool = False
    overheard: tuple[OverheardLine, ...] = ()
    quote: OverheardLine | None = None
    conversation: Conversation = ("", "", "", None)

    def __post_init__(self) -> None:
        self.conversation = conversation_of(self.message.address)

    @property
    def others(self) -> tuple[OverheardLine, ...]:
        """The words that come with it, and may be somebody else's."""
        return self.overheard if self.quote is None else (*self.overheard, self.quote)


class Timing(NamedTuple):
    """How long a message waits for others: text for more of its sender, and any while the agent is busy."""

    inbound_ms: int
    busy_ms: int


class TurnRules(NamedTuple):
    """How messages of a conversation wait; one sender's within `gap_ms` belong together."""

    mode: QueueMode
    gap_ms: int


class NextTurn(Struct, frozen=True):
    """The next turn: at least one message; `superseded` ones are not answered."""

    messages: tuple[WaitingMessage, ...]
    superseded: tuple[WaitingMessage, ...] = ()


def conversation_of(address: Address) -> Conversation:
    """Return the key that messages share if one turn may answer them together."""
    return (address.channel, address.account, address.peer, address.thread)


def own_run(message: InboundMessage) -> str | None:
    """Return the run whose id a client chose for its message; it ends as the answering run does."""
    return message.run_id if isinstance(message, ClientMessage) else None


def client_named(messages: Iterable[WaitingMessage]) -> list[tuple[str, WaitingMessage]]:
    """Return the messages with client-named runs, with those runs."""
    return [(run_id, each) for each in messages if (run_id := own_run(each.message)) is not None]


def ids_of(waiting: Iterable[WaitingMessage]) -> list[MessageRow]:
    """Return the row and the run of each message."""
    return [MessageRow(each.row_id, each.run_id, own_run(each.message) is not None) for each in waiting]


def waiting_message(row: InboxRow) -> WaitingMessage:
    """Return a queued message as it waits.

    Raises:
        InvalidRequest: The row is of something else.
    """
    message = row.inbound
    if not isinstance(message, InboundMessage) or row.run_id is None:
        raise InvalidRequest(f"the inbox row {row.id} is queued and is not a message")
    return WaitingMessage(row.id, row.run_id, message, row.context, row.received_ms, dropped=row.reason == "dropped")


def is_text(message: InboundMessage) -> bool:
    """Whether a message is nothing but text."""
    return not (message.images or message.media or message.location or message.contacts)


def set_due(waiting: Iterable[WaitingMessage], fresh: WaitingMessage, timing: Timing, now: float) -> None:
    """Set the due time of a new message, and let earlier ones wait for it, or no longer.

    Args:
        waiting: The session's waiting messages.
        fresh: The new message.
        timing: How long messages wait.
        now: On the monotonic clock.
    """
    inbound_s = timing.inbound_ms / 1_000 if is_text(fresh.message) else ALBUM_S if fresh.message.album else 0.0
    wait_s = max(inbound_s, timing.busy_ms / 1_000)
    fresh.due, fresh.latest = now + wait_s, now + PATIENCE * wait_s
    conversation = fresh.conversation
    for each in waiting:
        if each.conversation != conversation:
            continue
        same = each.message.sender == fresh.message.sender
        if timing.busy_ms or (same and inbound_s):
            each.due = min(max(each.due, fresh.due), each.latest)
        elif same:
            each.due = min(each.due, now)


def flush(waiting: Iterable[WaitingMessage], conversation: Conversation, sender: str, now: float) -> None:
    """Let a sender's messages wait no longer."""
    for each in waiting:
        if each.message.sender == sender and each.conversation == conversation:
            each.due = min(each.due, now)


def revise(each: WaitingMessage, event: InboundEvent) -> InboundMessage | None:
    """Return an edited message, without text if it was deleted; None if nothing changed."""
    message, address = each.message, event.address
    if not isinstance(event, (MessageEdited, MessageDeleted)) or event.message_id != message.message_id:
        return None
    if event.sender != message.sender or conversation_of(address)[:3] != conversation_of(message.address)[:3]:
        return None
    return replace(message, text=event.text if isinstance(event, MessageEdited) else "")


def steerable(waiting: Iterable[WaitingMessage], heard: WaitingMessage) -> list[WaitingMessage]:
    """Return the messages that a turn over `heard` may hear while it runs: same conversation, equal rights."""
    conversation = heard.conversation
    return [
        each
        for each in waiting
        if each.conversation == conversation
        and each.context.authority == heard.context.authority
        and not (each.dropped or each.steered)
        and (each.context.authority.tainted or not is_outside(each.others, each.context.authority.person))
    ]


def next_turn(
    waiting: Sequence[WaitingMessage], rules: Callable[[InboundMessage], TurnRules], now: float
) -> NextTurn | None:
    """Return the next turn, of the conversation that has waited longest; None while everything must wait.

    Args:
        waiting: All messages of a session that wait, in the order in which they came.
        rules: Returns the rules of a message: those of its conversation, unless it brings its own.
        now: On the monotonic clock.
    """
    if len(waiting) == 1:
        only = waiting[0]
        return NextTurn((only,)) if not only.dropped and only.due <= now else None
    seen: set[Conversation] = set()
    for first in waiting:
        conversation = first.conversation
        if first.dropped or conversation in seen:
            continue
        seen.add(conversation)
        here = [each for each in waiting if each.conversation == conversation]
        due = [each for each in here if each.dropped or each.due <= now]
        begins = next((each for each in due if not each.dropped), None)
        if begins is None:
            continue
        if len(due) == 1:
            return NextTurn((begins,))
        mode, gap_ms = rules(begins.message)
        parts = bursts([each for each in due if not each.dropped], gap_ms)
        if mode is QueueMode.COLLECT:
            return NextTurn(
                tuple(takewhile(lambda each: each.dropped or rules(each.message).mode is QueueMode.COLLECT, due))
            )
        dropped = [each for each in due if each.dropped]
        if mode is QueueMode.INTERRUPT:
            newest = parts[-1]
            older = tuple(each for each in due if each not in newest)
            return NextTurn(tuple(newest), older)
        return NextTurn((*dropped, *parts[0]))
    return None


def bursts(waiting: Iterable[WaitingMessage], gap_ms: int) -> list[list[WaitingMessage]]:
    """Return messages in groups: bursts of one sender, and albums, belong together."""
    found: list[list[WaitingMessage]] = []
    for each in waiting:
        last = found[-1][-1] if found else None
        if last is not None and _belongs_with(each, last, gap_ms):
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _belongs_with(fresh: WaitingMessage, last: WaitingMessage, gap_ms: int) -> bool:
    if fresh.message.sender != last.message.sender:
        return False
    if fresh.message.album is not None and fresh.message.album == last.message.album:
        return True
    return 0 <= fresh.received_ms - last.received_ms < gap_ms
