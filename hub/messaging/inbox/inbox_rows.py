"""The rows of the inbox in the hub database: what was received, the decision, and the run that answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from hub.core.context import Authority, Context
from hub.core.sql import SqlConnection
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ClientMessage,
    Inbound,
    InboundEvent,
    InboundMessage,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    PollAnswered,
    ReactionChanged,
    Receipt,
)
from hub.messaging.queue import group_history

REJECTED_KEPT = 5_000
"""Refused messages that are remembered, so that each is refused once."""

_AnyEvent = MessageEdited | MessageDeleted | ReactionChanged | ButtonPressed | PollAnswered | MembershipChanged

_message = msgspec.json.Decoder(ClientMessage)
_author = msgspec.json.Decoder(dict[str, Any])
_event: msgspec.json.Decoder[InboundEvent] = msgspec.json.Decoder(_AnyEvent)


class InboxRow(Struct, frozen=True):
    """One row.

    Attributes:
        state: queued | done (answered by a run), received | command (answered at once), event | noted (told to the
            hub), rejected; of each pair the first is still open.
        reason: Why it was refused or not answered; of one that is queued, `dropped` when it is only mentioned, and
            `steered` when a running turn hears it.
        received_ms: Milliseconds since the epoch.
        part: Distinguishes the rows of one message that several agents answer.
    """

    id: str
    inbound: Inbound
    context: Context
    state: str
    reason: str | None = None
    session_key: str | None = None
    run_id: str | None = None
    received_ms: int = 0
    part: str = ""


class MessageRow(NamedTuple):
    """A waiting message: its row, its run, and whether a client chose the run's id."""

    id: str
    run_id: str
    is_named: bool


class InterruptedMessage(Struct, frozen=True):
    """A message that was being handled when the hub stopped."""

    id: str
    inbound: Inbound
    context_id: str
    session_key: str | None
    run_id: str | None

    @property
    def client_run_id(self) -> str | None:
        """The run whose id a client chose."""
        return self.inbound.run_id if isinstance(self.inbound, ClientMessage) else None


def insert(connection: SqlConnection, row: InboxRow) -> Receipt | None:
    """Insert a row, or return the receipt of the existing one."""
    inbound, context, address = row.inbound, row.context, row.inbound.address
    message_id = inbound.message_id if isinstance(inbound, InboundMessage) else inbound.event_id
    if row.part:
        message_id = f"{message_id} for {row.part}"
    account_id = address.account_id or address.account  # the same one, whatever the configuration calls it
    cursor = connection.execute(
        "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state, reason, session_key,"
        " run_id, principal, person, owner, context_id, parent_id, message) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT(channel, account_id, peer, message_id) DO NOTHING",
        (
            row.id,
            address.channel,
            address.account,
            account_id,
            address.peer,
            message_id,
            row.received_ms,
            row.state,
            row.reason,
            row.session_key,
            row.run_id,
            _stored_authority(context.authority),
            context.authority.person,
            int(context.authority.owner),
            context.id,
            context.parent_id,
            dump_inbound(inbound),
        ),
    )
    if cursor.rowcount:
        return None
    found = connection.execute(
        "SELECT id, state, reason, session_key, run_id FROM inbox"
        " WHERE channel = ? AND account_id = ? AND peer = ? AND message_id = ?",
        (address.channel, account_id, address.peer, message_id),
    ).fetchone()
    return Receipt(found[0], found[1] != "rejected", True, found[2], found[3], found[4])


def close(connection: SqlConnection, id: str, state: str, reason: str | None = None) -> None:
    """Set the final state of a row."""
    connection.execute("UPDATE inbox SET state = ?, reason = coalesce(?, reason) WHERE id = ?", (state, reason, id))


def close_run(connection: SqlConnection, run_id: str) -> None:
    """Set the state of all messages that a run answered."""
    connection.execute("UPDATE inbox SET state = 'done' WHERE run_id = ? AND state = 'queued'", (run_id,))


def join(connection: SqlConnection, run_id: str, rows: Iterable[MessageRow], reason: str | None = None) -> None:
    """Let a run answer messages that had their own; a run with a client's id ends with it (`end_joined`).

    Args:
        run_id: The run.
        rows: The messages.
        reason: Their new reason; None leaves it.
    """
    for id, own_run_id, is_named in rows:
        if own_run_id != run_id:
            if not is_named:
                connection.execute("DELETE FROM runs WHERE id = ? AND state = 'queued'", (own_run_id,))
            group_history.pass_on(connection, own_run_id, run_id)
        connection.execute(
            "UPDATE inbox SET run_id = ?, reason = coalesce(?, reason) WHERE id = ?", (run_id, reason, id)
        )


def end_joined(connection: SqlConnection, run_ids: Iterable[str], answered_in: str) -> None:
    """End runs whose messages another run answered, with its result; its usage is counted once."""
    for run_id in run_ids:
        connection.execute(
            "UPDATE runs SET (state, ended_ms, model, error, reply) ="
            " (SELECT state, ended_ms, model, error, reply FROM runs WHERE id = ?) WHERE id = ? AND state = 'queued'",
            (answered_in, run_id),
        )


def part(connection: SqlConnection, id: str, run_id: str) -> None:
    """Give a message back its own run."""
    connection.execute("UPDATE inbox SET run_id = ?, reason = NULL WHERE id = ?", (run_id, id))


def give_up(connection: SqlConnection, rows: Iterable[MessageRow], reason: str, now_ms: int) -> None:
    """Close unanswered messages and their runs.

    Args:
        rows: The messages.
        reason: Why: dropped, superseded, deleted or aborted.
        now_ms: Milliseconds since the epoch.
    """
    for id, run_id, _ in rows:
        close(connection, id, "done", reason)
        group_history.pass_on(connection, run_id, None)
        connection.execute(
            "UPDATE runs SET state = 'aborted', ended_ms = ? WHERE id = ? AND state = 'queued'", (now_ms, run_id)
        )


def rewrite(connection: SqlConnection, id: str, message: InboundMessage) -> None:
    """Replace the words of a message."""
    connection.execute("UPDATE inbox SET message = ? WHERE id = ?", (dump_inbound(message), id))


def queued_messages(connection: SqlConnection) -> list[InboxRow]:
    """Return the messages that wait for an answer, in order of arrival."""
    return [
        InboxRow(id, load_message(stored), context, "queued", reason, key, run, received_ms)
        for id, key, run, context, stored, reason, received_ms in _open(connection, "queued")
    ]


def unpublished_events(connection: SqlConnection) -> list[tuple[str, str, Context]]:
    """Return id, JSON and context of unpublished events."""
    return [(id, stored, context) for id, _, _, context, stored, *_ in _open(connection, "event")]


def interrupted_messages(connection: SqlConnection, *, run_id: str | None = None) -> list[InterruptedMessage]:
    """Return the messages of an interrupted run, or else those that were being answered at once."""
    where, values = ("state = 'received'", ()) if run_id is None else ("run_id = ? AND state = 'queued'", (run_id,))
    rows = connection.execute(
        f"SELECT id, message, context_id, session_key, run_id FROM inbox WHERE {where}",  # noqa: S608  constants, above
        values,
    ).fetchall()
    return [InterruptedMessage(id, load_message(stored), *rest) for id, stored, *rest in rows]


def delete_rejected(connection: SqlConnection) -> None:
    """Delete the oldest refused messages, which anyone can send in any number."""
    connection.execute(
        "DELETE FROM inbox WHERE state = 'rejected' AND position <="
        " (SELECT position FROM inbox WHERE state = 'rejected' ORDER BY position DESC LIMIT 1 OFFSET ?)",
        (REJECTED_KEPT,),
    )


def _open(connection: SqlConnection, state: str) -> list[tuple[str, str, str | None, Context, str, str | None, int]]:
    rows = connection.execute(
        "SELECT id, session_key, run_id, principal, context_id, parent_id, message, reason, received_ms FROM inbox"
        " WHERE state = ? ORDER BY position",
        (state,),
    ).fetchall()
    return [
        (id, key, run_id, Context(Authority.from_dict(json.loads(principal)), context_id, parent_id), stored, *rest)
        for id, key, run_id, principal, context_id, parent_id, stored, *rest in rows
    ]


@lru_cache(maxsize=256)
def _stored_authority(authority: Authority) -> str:
    return json.dumps(authority.as_dict())


def dump_inbound(inbound: Inbound) -> str:
    """Return a message or an event as one line of JSON."""
    return msgspec.json.encode(inbound, enc_hook=_text).decode()


def _text(value: Any) -> str:
    if isinstance(value, str):  # a subclass, such as a secret or a phrase
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def load_message(stored: str) -> InboundMessage:
    """Read a message that `dump_inbound` wrote."""
    return _message.decode(stored)


def author_of(
    connection: SqlConnection, address: Address, message_id: str | None
) -> tuple[str, str, str | None] | None:
    """Return name, identity and person of whoever wrote a received message; None when it is not known."""
    found = connection.execute(
        "SELECT message, person FROM inbox WHERE channel = ? AND account = ? AND peer = ? AND message_id = ?",
        (address.channel, address.account, address.peer, message_id),
    ).fetchone()
    if found is None or not found[0]:
        return None
    said = _author.decode(found[0])
    return said.get("sender_name") or "", said.get("sender") or "", found[1]


def load_event(stored: str) -> InboundEvent:
    """Read an event that `dump_inbound` wrote."""
    return _event.decode(stored)
