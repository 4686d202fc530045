"""Choices below a message, which has no buttons in Matrix: numbered lines, and reactions with the numbers to press.

The account reacts with each number first, so that people only press what is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from hub.messaging.contract import Button, ButtonPressed, InboundEvent, OutboundMessage, ReactionChanged, Receiver
from integrations.channels.persistent_map import PersistentMap

KEYS = (*(f"{digit}\ufe0f\u20e3" for digit in range(1, 10)), "\U0001f51f")
"""1️⃣ to 9️⃣ and 🔟, as clients send them."""
KEPT = 200
_PRESENTATION = "\ufe0f"  # some clients leave it out
_NUMBERS = {key.replace(_PRESENTATION, ""): number for number, key in enumerate(KEYS)}


class SentChoices(Struct, frozen=True):
    """What the numbers below a message stand for, and the thread that it is in."""

    values: tuple[str, ...]
    thread: str | None = None


class Choices(PersistentMap[SentChoices]):
    """The choices of the latest messages that have some, by the event, over restarts."""

    def __init__(self, receive: Receiver) -> None:
        super().__init__(receive, "choices", KEPT, SentChoices)

    async def sent(self, event_id: str, message: OutboundMessage) -> None:
        """Remember a message's choices; it counts as sent only afterwards."""
        values = tuple(each.value for each in _flat(message.buttons))
        if self.get(event_id) is None:
            await self.put(event_id, SentChoices(values, message.address.thread))

    async def forget(self, event_id: str) -> bool:
        """Take the choices of a message away; return whether there were any."""
        known = self.get(event_id)
        if known is None or not known.values:
            return False
        await self.put(event_id, SentChoices(()))
        return True

    def offered(self, event_id: str) -> tuple[str, ...]:
        """Return the reactions that stand for the choices of a message."""
        known = self.get(event_id)
        return KEYS[: len(known.values)] if known is not None else ()

    def pressed(self, reaction: ReactionChanged) -> InboundEvent | None:
        """Return the press that a reaction is; None for one taken back, which undoes nothing; else the reaction."""
        number = _NUMBERS.get(reaction.emoji.replace(_PRESENTATION, ""))
        known = self.get(reaction.message_id)
        if known is None or number is None or number >= len(known.values):
            return reaction
        if not reaction.added:
            return None
        return ButtonPressed(
            replace(reaction.address, thread=known.thread),
            reaction.event_id,
            reaction.sender,
            reaction.sender_name,
            message_id=reaction.message_id,
            value=known.values[number],
        )


def with_choices(text: str, buttons: Sequence[Sequence[Button]]) -> str:
    """Return a text with a numbered line for each button."""
    lines = [f"{key} {button.label}" for key, button in zip(KEYS, _flat(buttons), strict=False)]
    return "\n\n".join(filter(None, (text, "\n".join(lines))))


def _flat(buttons: Sequence[Sequence[Button]]) -> list[Button]:
    return [button for row in buttons for button in row]
