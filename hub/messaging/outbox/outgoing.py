"""What the outbox sends: messages, and what is done to messages; each kind goes through the same durable rows."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.core.sql import SqlConnection
from hub.messaging.capabilities import Capability
from hub.messaging.contract import Address, Button, ChatType, OutboundMedia, OutboundMessage, OutboundPoll


class RowSource(StrEnum):
    """What a message is: the hub's or an agent's answer, of its `message` tool, of an answer that is being written.

    Or the notice that an answer may not have arrived.
    """

    REPLY = "reply"
    TOOL = "tool"
    BLOCK = "block"
    PREVIEW = "preview"
    NOTICE = "notice"


class NewMessage(Struct, frozen=True, tag="message", omit_defaults=True):
    """A message, see `OutboundMessage`.

    Attributes:
        covers: Of a streamed block: how many characters of the answer end with it.
        digest: Of those characters.
        settled: Whether a hook chose this text, so that none is asked about it again.
        derived: Whether words from outside were before the model that wrote it.
    """

    text: str = ""
    media: tuple[OutboundMedia, ...] = ()
    buttons: tuple[tuple[Button, ...], ...] = ()
    silent: bool = False
    reply_to: str | None = None
    covers: int = 0
    digest: str = ""
    settled: bool = False
    derived: bool = False


class NewText(Struct, frozen=True, tag="edit", omit_defaults=True):
    """Another text for a sent message, named by the platform's id or by its row in the outbox.

    When the row's message never reached the platform, the text is sent as a message of its own.
    """

    text: str
    platform_id: str = ""
    row_id: str = ""
    derived: bool = False


class Withdrawal(Struct, frozen=True, tag="delete", omit_defaults=True):
    """A sent message is taken back, named as in `NewText`; nothing happens when it never reached the platform."""

    platform_id: str = ""
    row_id: str = ""


class NewReaction(Struct, frozen=True, tag="react", omit_defaults=True):
    """A reaction to a message; None removes it."""

    platform_id: str
    emoji: str | None = None


class NewPoll(Struct, frozen=True, tag="poll", omit_defaults=True):
    """A poll, see `OutboundPoll`."""

    question: str
    options: tuple[str, ...]
    multiple: bool = False
    derived: bool = False


Outgoing = NewMessage | NewText | Withdrawal | NewReaction | NewPoll

NEEDS = {
    NewText: Capability.EDIT,
    Withdrawal: Capability.DELETE,
    NewReaction: Capability.REACT,
    NewPoll: Capability.POLL,
}
"""The capability that a channel needs for each kind; every channel sends messages."""

_REPEATABLE = (NewText, Withdrawal, NewReaction)
_DECODER = msgspec.json.Decoder(Outgoing)


def is_repeatable(outgoing: Outgoing) -> bool:
    """Whether doing it twice is the same as once, on any platform."""
    return isinstance(outgoing, _REPEATABLE)


class OutboxRow(Struct):
    """A row of the outbox; times are milliseconds since the epoch.

    Attributes:
        state: queued | sending | sent | unknown | dead | stopped.
        part: Which piece of a longer text it is, from 0.
        attempts: How many were made.
        changed: Whether `outgoing` is another than on the disk; it is written with the next state.
    """

    position: int
    id: str
    address: Address
    outgoing: Outgoing
    source: RowSource
    state: str
    attempts: int
    next_ms: int
    created_ms: int
    updated_ms: int
    session_key: str | None = None
    run_id: str | None = None
    part: int = 0
    context_id: str | None = None
    platform_ids: tuple[str, ...] = ()
    error: str | None = None
    changed: bool = False

    @property
    def kind(self) -> str:
        """message, edit, delete, react or poll."""
        return str(type(self.outgoing).__struct_config__.tag)

    @property
    def chat(self) -> tuple[str, str, str]:
        """Channel, account and peer."""
        return self.address.channel, self.address.account, self.address.peer

    def message(self) -> OutboundMessage:
        """Return its message as a channel sends it.

        Raises:
            TypeError: It is none.
        """
        message = self.outgoing
        if not isinstance(message, NewMessage):
            raise TypeError(f"{self.id} is no message")
        return OutboundMessage(
            id=self.id,
            address=self.address,
            text=message.text,
            session_key=self.session_key,
            run_id=self.run_id,
            reply_to=message.reply_to,
            media=message.media,
            buttons=message.buttons,
            silent=message.silent,
        )

    def poll(self) -> OutboundPoll:
        """Return its poll as a channel opens it.

        Raises:
            TypeError: It is none.
        """
        poll = self.outgoing
        if not isinstance(poll, NewPoll):
            raise TypeError(f"{self.id} is no poll")
        return OutboundPoll(self.id, self.address, poll.question, poll.options, poll.multiple)


_COLUMNS = (
    "position, id, channel, account, peer, chat_type, thread, session_key, run_id, reply_to, part, text, kind, payload,"
    " state, attempts, next_ms, created_ms, updated_ms, context_id, platform_ids, error, source"
)
_SELECT = f"SELECT {_COLUMNS} FROM outbox"  # noqa: S608  constants


def insert_row(connection: SqlConnection, row: OutboxRow) -> None:
    """Write a new row; its position is given by the database."""
    kind, text, reply_to, payload = _columns_of(row.outgoing)
    connection.execute(
        "INSERT INTO outbox(id, channel, account, peer, chat_type, thread, session_key, run_id, reply_to, part, text,"
        " kind, payload, source, state, attempts, next_ms, created_ms, updated_ms, context_id)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            row.id,
            row.address.channel,
            row.address.account,
            row.address.peer,
            row.address.chat_type.value,
            row.address.thread,
            row.session_key,
            row.run_id,
            reply_to,
            row.part,
            text,
            kind,
            payload,
            row.source.value,
            row.state,
            row.attempts,
            row.next_ms,
            row.created_ms,
            row.updated_ms,
            row.context_id,
        ),
    )


def keep_outgoing(connection: SqlConnection, row: OutboxRow) -> None:
    """Write what a row sends, when that is something else now."""
    connection.execute(
        "UPDATE outbox SET kind = ?, text = ?, reply_to = ?, payload = ? WHERE id = ?",
        (*_columns_of(row.outgoing), row.id),
    )


def _load_row(values: tuple[Any, ...]) -> OutboxRow:
    position, id, channel, account, peer, chat_type, thread, session_key, run_id, reply_to, part, text, *rest = values
    _, payload, state, attempts, next_ms, created_ms, updated_ms, context_id, platform_ids, error, source = rest
    return OutboxRow(
        position=position,
        id=id,
        address=Address(channel, peer, account, ChatType(chat_type), thread),
        outgoing=_outgoing(text or "", reply_to, payload),
        source=RowSource(source),
        state=state,
        attempts=attempts,
        next_ms=next_ms or 0,
        created_ms=created_ms,
        updated_ms=updated_ms or created_ms,
        session_key=session_key,
        run_id=run_id,
        part=part,
        context_id=context_id,
        platform_ids=tuple(msgspec.json.decode(platform_ids)) if platform_ids else (),
        error=error,
    )


def select_rows(
    connection: SqlConnection, condition: str, values: tuple[object, ...], limit: int, *, newest: bool = False
) -> list[OutboxRow]:
    """Return the oldest or newest rows that a constant condition holds for, in the order in which they were written."""
    order = "ORDER BY position DESC" if newest else "ORDER BY position"
    rows = connection.execute(f"{_SELECT} WHERE {condition} {order} LIMIT ?", (*values, limit)).fetchall()
    return [_load_row(row) for row in (reversed(rows) if newest else rows)]


def _columns_of(outgoing: Outgoing) -> tuple[str, str | None, str | None, str | None]:
    """Return kind, text, reply_to and payload, where the payload holds what the other columns do not."""
    match outgoing:
        case NewMessage(text=text, reply_to=reply_to):
            rest = replace(outgoing, text="", reply_to=None)
            return "message", text, reply_to, None if rest == NewMessage() else _encoded(rest)
        case NewText(text=text):
            return "edit", text, None, _encoded(replace(outgoing, text=""))
    return str(type(outgoing).__struct_config__.tag), None, None, _encoded(outgoing)


def _encoded(outgoing: Outgoing) -> str:
    return msgspec.json.encode(outgoing).decode()


def _outgoing(text: str, reply_to: str | None, payload: str | None) -> Outgoing:
    if payload is None:
        return NewMessage(text=text, reply_to=reply_to)
    outgoing: Outgoing = _DECODER.decode(payload)
    match outgoing:
        case NewMessage():
            return replace(outgoing, text=text, reply_to=reply_to)
        case NewText():
            return replace(outgoing, text=text)
    return outgoing
