"""What a message in a group quotes, and whose words these are: the assistant's, its sender's, or somebody else's."""

from __future__ import annotations

from collections.abc import Iterable

from hub.agent.conversation.conversation import harmless_name
from hub.core.sql import SqlConnection
from hub.messaging.contract import ChatType, InboundMessage
from hub.messaging.inbox import inbox_rows
from hub.messaging.inbox.inbox_rows import InboxRow
from hub.messaging.outbox.outbox_rows import NewMessage, find_sent
from hub.messaging.queue import group_history
from hub.messaging.queue.group_history import OverheardLine, is_outside
from hub.tools.quoting import quote_untrusted

QUOTE_CHARS = 1_000
OWN = "you"
SOMEBODY = "somebody"


def quoted_line(connection: SqlConnection, message: InboundMessage, person: str | None) -> OverheardLine | None:
    """Return what a message in a group quotes; None for a message that quotes nothing, or in a direct chat.

    The assistant's own words are those in the outbox, by the platform's id: a client can make up what it says of them.
    They count as the asker's, unless they were derived from words from outside.

    Args:
        connection: Has what was sent and received.
        message: The message.
        person: Its sender, of this home.
    """
    quoted, address = message.quoted, message.address
    if quoted is None or address.chat_type is ChatType.DIRECT:
        return None
    text = _one_line(quoted.text)
    for row in find_sent(connection, address, message.reply_to) if message.reply_to else ():
        if isinstance(row.outgoing, NewMessage):
            sent = _one_line(row.outgoing.text)
            return OverheardLine(OWN, None if row.outgoing.derived else person, text if text in sent else sent)
    if quoted.sender is not None and quoted.sender == message.sender:
        return OverheardLine(harmless_name(message.sender_name) or message.sender, person, text)
    name, author = _author(connection, message)
    return OverheardLine(name or SOMEBODY, author, text)


def quoted_lines(connection: SqlConnection, rows: Iterable[InboxRow]) -> dict[str, OverheardLine]:
    """Return what waiting messages quote, by row; see `quoted_line`."""
    found = {
        row.id: quoted_line(connection, row.inbound, row.context.authority.person)
        for row in rows
        if isinstance(row.inbound, InboundMessage)
    }
    return {id: line for id, line in found.items() if line is not None}


def quote_text(line: OverheardLine, channel: str, person: str | None) -> str:
    """Return what stands before the words of a message that quotes something.

    Args:
        line: See `quoted_line`.
        channel: Its channel.
        person: Who is answered; what others said is quoted as words from outside.
    """
    if not is_outside([line], person):
        return f'[in reply to {line.name}: "{line.text}"]'
    return "[in reply to]\n" + quote_untrusted(f"{line.name}: {line.text}", source=channel)


def _author(connection: SqlConnection, message: InboundMessage) -> tuple[str, str | None]:
    """Return the name of a quoted message's author, and the person they are, from when it was received."""
    address, id = message.address, message.reply_to
    found = group_history.author_of(connection, address, id) or inbox_rows.author_of(connection, address, id)
    if found is None:
        return "", None
    name, sender, person = found
    known = harmless_name(name) or ""
    return known, person if message.quoted is not None and sender == message.quoted.sender else None


def _one_line(text: str) -> str:
    return " ".join(text.split())[:QUOTE_CHARS]
