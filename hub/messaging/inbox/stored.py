"""Inbound messages and events as JSON, for the row that outlives the process."""

from __future__ import annotations

from typing import Any

import msgspec

from hub.messaging.contract import (
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
)

_AnyEvent = MessageEdited | MessageDeleted | ReactionChanged | ButtonPressed | PollAnswered | MembershipChanged

_message = msgspec.json.Decoder(ClientMessage)
_event: msgspec.json.Decoder[InboundEvent] = msgspec.json.Decoder(_AnyEvent)


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


def load_event(stored: str) -> InboundEvent:
    """Read an event that `dump_inbound` wrote."""
    return _event.decode(stored)
