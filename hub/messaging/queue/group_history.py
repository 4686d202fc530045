"""Group messages since the agent last spoke, and votes and reactions: kept for the next turn.

Only words of groups that are answered get here, and at most as many messages of each as are configured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hub.agent.conversation.conversation import harmless_name
from hub.core.sql import SqlConnection
from hub.messaging.contract import Address, InboundEvent, InboundMessage, MessageDeleted, MessageEdited
from hub.tools.quoting import quote_untrusted

HISTORY_LIMIT = 50
LINE_CHARS = 1_000

CONTEXT_TITLE = "[Chat messages since your last reply - for context]"
CURRENT_TITLE = "[Current message - respond to this]"


class OverheardLine(Struct, frozen=True):
    """A message that was not addressed to the agent; `person` is of this home, when known."""

    name: str
    person: str | None
    text: str


def keep(
    connection: SqlConnection,
    session_key: str,
    message: InboundMessage,
    person: str | None,
    *,
    limit: int,
    received_ms: int,
) -> None:
    """Keep an overheard message, up to a limit; in the caller's transaction.

    Args:
        session_key: The key of the agent that overheard it.
        message: The message.
        person: The person of this home who said it.
        limit: How many are kept; 0 keeps none.
        received_ms: Milliseconds since the epoch.
    """
    if limit == 0:
        return
    address, text = message.address, _text_of(message)
    connection.execute(
        "INSERT INTO group_history(session_key, channel, account, peer, message_id, sender, name, person, text,"
        " received_ms) VALUES (?,?,?,?,?,?,?,?,?,?)",
        (
            *(session_key, address.channel, address.account, address.peer, message.message_id, message.sender),
            *(harmless_name(message.sender_name) or message.sender, person, text, received_ms),
        ),
    )
    connection.execute(
        "DELETE FROM group_history WHERE session_key = ? AND run_id IS NULL AND position <= coalesce((SELECT position"
        " FROM group_history WHERE session_key = ? AND run_id IS NULL ORDER BY position DESC LIMIT 1 OFFSET ?), 0)",
        (session_key, session_key, limit),
    )


def give(connection: SqlConnection, session_key: str, run_id: str) -> tuple[OverheardLine, ...]:
    """Give a run the overheard messages of its session, and return them, oldest first."""
    given = connection.execute(
        "UPDATE group_history SET run_id = ? WHERE session_key = ? AND run_id IS NULL", (run_id, session_key)
    )
    return overheard_by_run(connection, [run_id]).get(run_id, ()) if given.rowcount else ()


def overheard_by_run(connection: SqlConnection, run_ids: Iterable[str]) -> dict[str, tuple[OverheardLine, ...]]:
    """Return the overheard messages given to runs, by run."""
    found: dict[str, tuple[OverheardLine, ...]] = {}
    for run_id in run_ids:
        rows = connection.execute(
            "SELECT name, person, text FROM group_history WHERE run_id = ? ORDER BY position", (run_id,)
        ).fetchall()
        if rows:
            found[run_id] = tuple(OverheardLine(*row) for row in rows)
    return found


def pass_on(connection: SqlConnection, run_id: str, other: str | None) -> None:
    """Move a run's overheard messages to another run, or to the next one."""
    connection.execute("UPDATE group_history SET run_id = ? WHERE run_id = ?", (other, run_id))


def forget(connection: SqlConnection, run_id: str) -> None:
    """Delete the overheard messages of an ended run: its transcript has them."""
    connection.execute("DELETE FROM group_history WHERE run_id = ?", (run_id,))


def author_of(
    connection: SqlConnection, address: Address, message_id: str | None
) -> tuple[str, str, str | None] | None:
    """Return name, identity and person of whoever wrote an overheard message; None when it is not known."""
    found: tuple[str, str, str | None] | None = connection.execute(
        "SELECT name, sender, person FROM group_history"
        " WHERE channel = ? AND account = ? AND peer = ? AND message_id = ?",
        (address.channel, address.account, address.peer, message_id),
    ).fetchone()
    return found


def revise_overheard(connection: SqlConnection, event: InboundEvent) -> None:
    """Edit or delete an overheard message, because its sender did."""
    if not isinstance(event, (MessageEdited, MessageDeleted)):
        return
    text = event.text[:LINE_CHARS] if isinstance(event, MessageEdited) else ""
    which = (event.address.channel, event.address.account, event.address.peer, event.message_id, event.sender)
    where = "channel = ? AND account = ? AND peer = ? AND message_id = ? AND sender = ?"
    if text:
        connection.execute(f"UPDATE group_history SET text = ? WHERE {where}", (text, *which))  # noqa: S608  a constant
    else:
        connection.execute(f"DELETE FROM group_history WHERE {where}", which)  # noqa: S608


def is_outside(lines: Sequence[OverheardLine], person: str | None) -> bool:
    """Whether any of it was said by somebody other than the person who is answered."""
    return any(line.person is None or line.person != person for line in lines)


def overheard_text(lines: Sequence[OverheardLine], channel: str, *, outside: bool) -> list[str]:
    """Return the text that precedes the answered message.

    Args:
        lines: The overheard lines.
        channel: Its channel.
        outside: See `is_outside`.
    """
    text = "\n".join(f"{line.name}: {line.text}" for line in lines)
    return [CONTEXT_TITLE, quote_untrusted(text, source=channel) if outside else text, CURRENT_TITLE]


def _text_of(message: InboundMessage) -> str:
    text = " ".join(message.text.split())[:LINE_CHARS]
    return " ".join([*([text] if text else []), *(f"[{media.kind}]" for media in message.media)]) or "[no text]"
