"""Buttons for commands; signed, so that nothing else can make one."""

from __future__ import annotations

import base64
import hmac

from hub.core.secret import Secret
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import CommandReply
from hub.messaging.contract import Address, Button
from hub.messaging.outbox.outbox_rows import NewMessage

MARK = "!"
SIGNATURE_CHARS = 12
VALUE_BYTES = 64
"""The longest value that every platform takes."""
ROW_BUTTONS = 3


class CommandButtons:
    """Makes command buttons and recognises its own; one is valid in its own chat.

    An agent may offer buttons too. What those carry has no signature, so that no agent can have an owner's finger give
    a command.

    Args:
        key: Signs; with another one, the buttons that there are do nothing any more.
        channels: Know whether a chat has buttons.
    """

    def __init__(self, key: Secret, channels: ChannelRegistry) -> None:
        self._key = key
        self._channels = channels

    def message(self, address: Address, reply: CommandReply, *, plain: str | None = None) -> NewMessage:
        """Return a reply as a message, with its menu as buttons.

        Args:
            plain: The text where there are no buttons; the menu is then a list without it.
        """
        rows = self._rows(address, reply.menu)
        return NewMessage(reply.text, buttons=rows) if rows else NewMessage(plain or reply.as_text())

    def command(self, address: Address, value: str) -> str | None:
        """Return the command of a pressed button; None if it is not a command button."""
        signature, text = value[1 : 1 + SIGNATURE_CHARS], value[1 + SIGNATURE_CHARS :]
        if not value.startswith(MARK) or not hmac.compare_digest(
            signature.encode(), self._sign(address, text).encode()
        ):
            return None
        return text

    def _rows(self, address: Address, menu: tuple[tuple[str, str], ...]) -> tuple[tuple[Button, ...], ...]:
        attached = self._channels.get(address.channel, address.account)
        buttons = [Button(label, f"{MARK}{self._sign(address, text)}{text}") for label, text in menu]
        fits = attached is not None and len(buttons) <= attached.channel.limits.buttons
        if not fits or any(len(button.value.encode()) > VALUE_BYTES for button in buttons):
            return ()
        return tuple(tuple(buttons[at : at + ROW_BUTTONS]) for at in range(0, len(buttons), ROW_BUTTONS))

    def _sign(self, address: Address, text: str) -> str:
        place = "\0".join(("button", address.channel, address.account, address.peer, text))
        digest = hmac.digest(self._key.reveal().encode(), place.encode(), "sha256")
        return base64.urlsafe_b64encode(digest)[:SIGNATURE_CHARS].decode()
