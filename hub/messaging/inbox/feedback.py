"""Reactions to sent messages: a pressed button, a vote, an emoji, in words for the model.

The words name what the hub itself wrote into the outbox, never what a platform says was pressed.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import Context
from hub.core.sql import SqlConnection
from hub.messaging.contract import ButtonPressed, InboundEvent, InboundMessage, PollAnswered, ReactionChanged
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.outbox_rows import NewMessage, NewPoll, NewText, OutboxRow, RowSource

FEEDBACK = (ButtonPressed, PollAnswered, ReactionChanged)
SHOWN_CHARS = 200
"""Of a message that somebody reacted to."""
EMOJI_CHARS = 32
_PLAIN = str.maketrans({"[": "(", "]": ")", '"': "'"})


class Feedback(Struct, frozen=True):
    """The words of an event about a sent message.

    Attributes:
        event: The event, with the names of the options that were voted for.
        words: The words for the model; None when no offered button was pressed.
        session_key: The conversation that sent the message; None for one from elsewhere.
        derived: Whether words from outside may be in the message, so that they are in `words` too.
    """

    event: InboundEvent
    words: str | None
    session_key: str | None
    derived: bool

    def message(self, context: Context) -> tuple[InboundMessage, Context]:
        """Return the words as a message of the person who did it, and its context.

        A button counts once for each person, however often it is pressed: the message is known by its id.
        """
        event = self.event
        did, about = event.event_id, ""
        if isinstance(event, ButtonPressed):
            did, about = f"{event.message_id} pressed {event.value} {event.sender}+", event.message_id
        message = InboundMessage(
            event.address,
            did,
            event.sender,
            self.words or "",
            sender_name=event.sender_name,
            mentioned=True,
            reply_to=about or None,
            platform_id=about,
        )
        return message, context.tainted() if self.derived else context


def feedback(connection: SqlConnection, event: InboundEvent) -> Feedback | None:
    """Return the words of an event about a sent message; None for other events and unknown messages."""
    match event:
        case ButtonPressed() | ReactionChanged():
            rows = outbox_rows.find_sent(connection, event.address, event.message_id)
        case PollAnswered():
            rows = outbox_rows.find_sent(connection, event.address, event.poll_id)
        case _:
            return None
    if not rows and isinstance(event, ButtonPressed):  # pressed before the platform confirmed the message
        rows = [row for row in outbox_rows.unconfirmed_rows(connection, event.address) if _label(row, event)]
    if not rows:
        return None
    first = rows[-1]  # what was sent; the others are its later texts
    event, words = _in_words(event, first, _text_of(rows))
    unknown = rows[0].source in (RowSource.BLOCK, RowSource.PREVIEW)  # it was shown before its run had ended
    written = [row.outgoing for row in rows if isinstance(row.outgoing, NewMessage | NewText | NewPoll)]
    return Feedback(event, words, first.session_key, unknown or any(each.derived for each in written))


def _in_words(event: InboundEvent, sent: OutboxRow, text: str) -> tuple[InboundEvent, str | None]:
    shown = _plain(text, SHOWN_CHARS)
    match event:
        case ButtonPressed():
            label = _label(sent, event)
            return event, None if label is None else f'[pressed: "{_plain(label)}" on "{shown}"]'
        case PollAnswered():
            if isinstance(sent.outgoing, NewPoll) and event.numbers:
                options = sent.outgoing.options
                event = replace(event, choices=tuple(options[each] for each in event.numbers if each < len(options)))
            voted = ", ".join(f'"{_plain(each)}"' for each in event.choices)
            return event, f'[voted: {voted} in "{shown}"]' if voted else f'[took back a vote in "{shown}"]'
        case ReactionChanged(emoji=emoji, added=added):
            given = _plain(emoji, EMOJI_CHARS)
            return event, f'[reacted: {given} to "{shown}"]' if added else f'[took back: {given} to "{shown}"]'
    return event, None


def _label(sent: OutboxRow, event: ButtonPressed) -> str | None:
    """Return the label of an agent's button; the hub's own are signed commands."""
    if sent.source is not RowSource.TOOL or not isinstance(sent.outgoing, NewMessage):
        return None
    buttons = (button for row in sent.outgoing.buttons for button in row)
    return next((button.label for button in buttons if button.value == event.value), None)


def _text_of(rows: list[OutboxRow]) -> str:
    for row in rows:
        match row.outgoing:
            case NewMessage(text=text) | NewText(text=text) if text:
                return text
            case NewPoll(question=question):
                return question
    return "…"


def _plain(text: str, limit: int = SHOWN_CHARS) -> str:
    """Return text on one line, without characters that could end the brackets or quotation marks around it."""
    line = " ".join(text.split()).translate(_PLAIN)
    return line if len(line) <= limit else f"{line[:limit]}…"
