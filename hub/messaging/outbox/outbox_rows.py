"""What must be sent: messages and actions on messages, and the rows that keep them until it is done.

The functions run in the caller's transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import Conflict, NotFound
from hub.core.sql import SqlConnection
from hub.messaging.capabilities import Capability
from hub.messaging.contract import Address, Button, ChatType, Delivery, OutboundMedia, OutboundMessage, OutboundPoll

ChatKey = tuple[str, str, str]
"""Channel, account and peer: what is sent in order."""
Trouble = tuple[str, str, str, int, str | None, str | None]
"""State, channel, account, count, and the latest peer and error of what was not surely sent."""

OPEN_LIMIT = 100
SENT_LIMIT = 1_000
"""Messages of a chat, counted from the newest, that can be edited, deleted and answered with a button."""
OF_CHAT = "channel = ? AND account = ? AND peer = ?"
_OPEN = "state IN ('queued', 'sending')"
_TROUBLE = "state IN ('unknown', 'dead')"
_KEPT = "source NOT IN ('preview', 'notice') AND kind != 'react'"
"""What matters to people: a preview that was not shown is followed by its answer, a notice is about another one, and
a reaction says nothing once its message is gone."""
_LOST = "state = 'unknown' AND error IS NOT NULL"
"""Of which nobody knows whether it arrived; without an error it is being looked into."""
_UNSURE = f"{_TROUBLE} AND {_LOST} AND {_KEPT} AND run_id IS NOT NULL AND channel = ? AND account = ?"
"""Answers of an account that may not have arrived."""
_COLUMNS = (
    "position, id, channel, account, peer, chat_type, thread, session_key, run_id, reply_to, part, text, kind, payload,"
    " state, attempts, next_ms, created_ms, updated_ms, context_id, platform_ids, error, source"
)
_SELECT = f"SELECT {_COLUMNS} FROM outbox"  # noqa: S608  constants


class RowSource(StrEnum):
    """The origin of a message: the answer, the `message` tool, or the preview of an answer.

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
    """A new text for a sent message, named by the platform's id or its outbox row.

    When the row's message never reached the platform, the text is sent as a separate message.
    """

    text: str
    platform_id: str = ""
    row_id: str = ""
    derived: bool = False


class Withdrawal(Struct, frozen=True, tag="delete", omit_defaults=True):
    """The deletion of a sent message, named as in `NewText`; nothing happens if it never reached the platform."""

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

REPEATABLE = (NewText, Withdrawal, NewReaction)
"""What is the same done twice as once, on any platform."""

_DECODER = msgspec.json.Decoder(Outgoing)


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
    def chat(self) -> ChatKey:
        """Channel, account and peer."""
        return self.address.channel, self.address.account, self.address.peer

    def message(self) -> OutboundMessage:
        """Return its message as a channel sends it.

        Raises:
            TypeError: It is not one.
        """
        message = self.outgoing
        if not isinstance(message, NewMessage):
            raise TypeError(f"{self.id} is not a message")
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
            part=self.part,
        )

    def poll(self) -> OutboundPoll:
        """Return its poll as a channel opens it.

        Raises:
            TypeError: It is not one.
        """
        poll = self.outgoing
        if not isinstance(poll, NewPoll):
            raise TypeError(f"{self.id} is not a poll")
        return OutboundPoll(self.id, self.address, poll.question, poll.options, poll.multiple)


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


def store_content(connection: SqlConnection, row: OutboxRow) -> None:
    """Store the changed content of a row."""
    connection.execute(
        "UPDATE outbox SET kind = ?, text = ?, reply_to = ?, payload = ? WHERE id = ?",
        (*_columns_of(row.outgoing), row.id),
    )


def select_rows(
    connection: SqlConnection, condition: str, values: tuple[object, ...], limit: int, *, newest: bool = False
) -> list[OutboxRow]:
    """Return the oldest or newest rows that match a constant condition, in order of writing."""
    order = "ORDER BY position DESC" if newest else "ORDER BY position"
    rows = connection.execute(f"{_SELECT} WHERE {condition} {order} LIMIT ?", (*values, limit)).fetchall()
    return [_load_row(row) for row in (reversed(rows) if newest else rows)]


def open_rows(connection: SqlConnection, chat: ChatKey) -> list[OutboxRow]:
    """Return the first waiting rows of a chat."""
    return select_rows(connection, f"{OF_CHAT} AND {_OPEN}", chat, OPEN_LIMIT)


def is_waiting(connection: SqlConnection, chat: ChatKey) -> bool:
    """Whether a chat has waiting rows."""
    found = connection.execute(f"SELECT 1 FROM outbox WHERE {OF_CHAT} AND {_OPEN} LIMIT 1", chat)  # noqa: S608  constants
    return found.fetchone() is not None


def open_chats(connection: SqlConnection) -> list[ChatKey]:
    """Return the chats with waiting rows."""
    rows = connection.execute(f"SELECT DISTINCT channel, account, peer FROM outbox WHERE {_OPEN}")  # noqa: S608  a constant
    return [(channel, account, peer) for channel, account, peer in rows.fetchall()]


def last_states(connection: SqlConnection, session_keys: Sequence[str]) -> dict[str, str]:
    """Return the state of the last written message of each conversation that has one."""
    if not session_keys:
        return {}
    rows = connection.execute(
        f"WITH asked(session) AS (VALUES {', '.join('(?)' for _ in session_keys)}) SELECT session, state"  # noqa: S608  marks
        " FROM asked JOIN outbox ON position = (SELECT max(position) FROM outbox WHERE session_key = session)",
        tuple(session_keys),
    )
    return dict(rows.fetchall())


def newest_rows(connection: SqlConnection, states: tuple[str, ...], limit: int) -> list[OutboxRow]:
    """Return the newest rows in these states, newest first; in any state when none is named."""
    condition = f"state IN ({', '.join('?' for _ in states)})" if states else "true"
    return select_rows(connection, condition, states, limit, newest=True)[::-1]


def get(connection: SqlConnection, id: str) -> OutboxRow:
    """Return a row.

    Raises:
        NotFound: There is none with that id.
    """
    rows = select_rows(connection, "id = ?", (id,), 1)
    if not rows:
        raise NotFound(f"there is no message {id[:80]!r} in the outbox")
    return rows[0]


def find_sent(connection: SqlConnection, address: Address, platform_id: str) -> list[OutboxRow]:
    """Return the message or poll that a platform knows under an id, with its later texts.

    What was sent to a room may be in the thread that it began there.
    """
    sent = _lately_sent(connection, address)
    if address.parent is not None:
        sent += _lately_sent(connection, replace(address, peer=address.parent))
    found = [position for position, ids in sent if platform_id in ids]
    rows = [row for each in found for row in select_rows(connection, "position = ?", (each,), 1)]
    return [row for row in rows if isinstance(row.outgoing, NewMessage | NewPoll | NewText)]


def forget_sent(connection: SqlConnection, address: Address, platform_id: str) -> None:
    """Forget the id of a message that was deleted, so that another text of it is sent as a message."""
    for position, ids in _lately_sent(connection, address):
        if platform_id in ids:
            left = json.dumps([each for each in ids if each != platform_id])
            connection.execute("UPDATE outbox SET platform_ids = ? WHERE position = ?", (left, position))


def sent_ids(connection: SqlConnection, address: Address) -> set[str]:
    """Return the platform's ids of recently sent messages of a chat."""
    return {id for _, ids in _lately_sent(connection, address) for id in ids}


def unconfirmed_rows(connection: SqlConnection, address: Address) -> list[OutboxRow]:
    """Return messages that may be visible in a chat although their delivery is uncertain, newest first."""
    known = f"{OF_CHAT} AND platform_ids IS NULL"
    return select_rows(connection, known, _chat(address), SENT_LIMIT, newest=True)[::-1]


def _lately_sent(connection: SqlConnection, address: Address) -> list[tuple[int, list[str]]]:
    """Return position and ids of sent messages of a chat, newest first."""
    rows = connection.execute(
        f"SELECT position, platform_ids FROM outbox WHERE {OF_CHAT} AND platform_ids IS NOT NULL"  # noqa: S608  constants
        " ORDER BY position DESC LIMIT ?",
        (*_chat(address), SENT_LIMIT),
    ).fetchall()
    return [(position, json.loads(stored)) for position, stored in rows]


def _chat(address: Address) -> ChatKey:
    return address.channel, address.account, address.peer


def trouble(connection: SqlConnection) -> list[Trouble]:
    """Return failed and uncertain messages, by state and account."""
    grouped = connection.execute(
        "SELECT state, channel, account, count(*), max(position) FROM outbox"  # noqa: S608  a constant
        f" WHERE {_TROUBLE} AND {_KEPT} GROUP BY state, channel, account"
    ).fetchall()
    found = []
    for state, channel, account, count, latest in grouped:
        peer, error = connection.execute("SELECT peer, error FROM outbox WHERE position = ?", (latest,)).fetchone()
        found.append((state, channel, account, count, peer, error))
    return found


def unsure_chats(connection: SqlConnection, channel: str, account: str) -> list[ChatKey]:
    """Return the chats of an account with answers that may not have arrived."""
    rows = connection.execute(f"SELECT DISTINCT peer FROM outbox WHERE {_UNSURE}", (channel, account))  # noqa: S608  a constant
    return [(channel, account, peer) for (peer,) in rows.fetchall()]


def unsure(connection: SqlConnection, chat: ChatKey, since_ms: int) -> list[OutboxRow]:
    """Return a chat's recent answers that may not have arrived."""
    return select_rows(connection, f"{_UNSURE} AND peer = ? AND updated_ms >= ?", (*chat, since_ms), OPEN_LIMIT)


def unnotified_answer(connection: SqlConnection, chat: ChatKey, since_ms: int) -> OutboxRow | None:
    """Return a chat's last answer that may not have arrived, unless a notice about it exists."""
    (told_ms,) = connection.execute(
        f"SELECT max(created_ms) FROM outbox WHERE {OF_CHAT} AND source = 'notice' AND NOT ({_LOST})",  # noqa: S608  constants
        chat,
    ).fetchone()
    since_ms = max(since_ms, told_ms + 1) if told_ms is not None else since_ms
    found = unsure(connection, chat, since_ms)
    return found[-1] if found else None


def drop_lost_notices(connection: SqlConnection, chat: ChatKey) -> None:
    """Delete notices to a chat that may not have arrived, since another one replaces them."""
    connection.execute(f"DELETE FROM outbox WHERE {OF_CHAT} AND source = 'notice' AND {_LOST}", chat)  # noqa: S608  constants


def settle_interrupted(connection: SqlConnection) -> None:
    """Mark messages that were being sent when the hub stopped; without an error, they are looked up later."""
    connection.execute("UPDATE outbox SET state = 'unknown', error = NULL WHERE state = 'sending'")


def take_back(connection: SqlConnection, ids: Sequence[str]) -> None:
    """Queue rows again that were marked as sending and never sent."""
    sql = "UPDATE outbox SET state = 'queued' WHERE id = ? AND state = 'sending'"
    connection.executemany(sql, [(id,) for id in ids])


def interrupted_rows(connection: SqlConnection, channel: str, account: str) -> None:
    """Return the rows that were being sent through a channel when the hub stopped."""
    connection.execute(
        f"UPDATE outbox SET state = 'sending' WHERE {_TROUBLE} AND state = 'unknown' AND error IS NULL"  # noqa: S608  a constant
        " AND channel = ? AND account = ?",
        (channel, account),
    )


def expire(connection: SqlConnection, before_ms: int, now_ms: int, error: str) -> int:
    """Give up rows that have waited too long, and return their number."""
    return connection.execute(
        f"UPDATE outbox SET state = 'dead', error = ?, updated_ms = ? WHERE {_OPEN} AND state = 'queued'"  # noqa: S608  a constant
        " AND created_ms < ?",
        (error, now_ms, before_ms),
    ).rowcount


def set_state(connection: SqlConnection, row: OutboxRow, now_ms: int) -> None:
    """Write state, attempts, time of the next one, and error."""
    _store_changed(connection, row)
    connection.execute(
        "UPDATE outbox SET state = ?, attempts = ?, next_ms = ?, updated_ms = ?, error = ? WHERE id = ?",
        (row.state, row.attempts, row.next_ms, now_ms, row.error, row.id),
    )


def mark_sent(connection: SqlConnection, row: OutboxRow, delivery: Delivery, now_ms: int) -> None:
    """Write that a row was sent, and the platform's ids."""
    _store_changed(connection, row)
    connection.execute(
        "UPDATE outbox SET state = 'sent', attempts = ?, platform_ids = ?, updated_ms = ?, error = NULL WHERE id = ?",
        (row.attempts, json.dumps(delivery.platform_ids), now_ms, row.id),
    )


def _store_changed(connection: SqlConnection, row: OutboxRow) -> None:
    if row.changed:
        store_content(connection, row)
        row.changed = False


def retry(connection: SqlConnection, id: str, now_ms: int) -> OutboxRow:
    """Queue a failed or uncertain message again.

    Raises:
        NotFound: There is none with that id.
        Conflict: It was sent, or is waiting already.
    """
    row = get(connection, id)
    if row.state not in ("unknown", "dead", "stopped"):
        raise Conflict(f"only unknown, dead and stopped messages are tried again; {id} is {row.state}")
    connection.execute(
        "UPDATE outbox SET state = 'queued', attempts = 0, next_ms = ?, created_ms = ?, updated_ms = ?, error = NULL"
        " WHERE id = ?",
        (now_ms, now_ms, now_ms, id),
    )
    return row


def drop(connection: SqlConnection, id: str) -> OutboxRow:
    """Delete an unsent message.

    Raises:
        NotFound: There is none with that id.
        Conflict: It is sent, or is being sent now.
    """
    row = get(connection, id)
    if row.state in ("sending", "sent"):
        raise Conflict(f"a message that is sent, or is being sent, cannot be dropped; {id} is {row.state}")
    connection.execute("DELETE FROM outbox WHERE id = ?", (id,))
    return row


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


def _columns_of(outgoing: Outgoing) -> tuple[str, str | None, str | None, str | None]:
    """Return kind, text, reply_to and payload, which holds everything the other columns do not."""
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
