"""The content of the outbox: messages and actions on messages, all through the same durable rows."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hub.messaging.capabilities import Capability
from hub.messaging.contract import Button, OutboundMedia


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
