"""Reads ntfy's messages as the hub's. Pure.

Source: https://docs.ntfy.sh/subscribe/api/#json-message-format
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct

from hub.messaging.contract import Address, ButtonPressed, Inbound, InboundMessage, Media
from integrations.channels.acknowledging import kind_of

OURS = "robot"
"""The tag of what the assistant writes, which apps show as 🤖; what carries it is not read."""
PRESS = "pressed"
"""The tag of what a button publishes; the name of the button is another one."""


class NtfyButton(Struct, frozen=True):
    """A button that was sent.

    Attributes:
        peer: Where.
        message: Id of the message below which it is; empty until the server told it.
    """

    peer: str
    value: str
    message: str = ""


def peer_of(topic: str) -> str:
    """Return what a topic is called here: its own name is what lets people in."""
    return sha256(topic.encode()).hexdigest()[:16]


def of_message(
    message: Mapping[str, Any], peers: Mapping[str, str], account: str, button: Callable[[str], NtfyButton | None]
) -> Inbound | None:
    """Return what a message says; None when it is the assistant's own, or of no topic of the account.

    Args:
        peers: What the topics are called here.
        button: Returns a button by its name.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as ntfy writes them.
    """
    tags, peer = message.get("tags") or [], peers.get(message["topic"])
    if OURS in tags or peer is None:
        return None
    address, sender, id = Address("ntfy", peer, account), f"ntfy:topic:{peer}", message["id"]
    if PRESS in tags:
        pressed = next((found for tag in tags if (found := button(tag)) is not None), None)
        if pressed is None or pressed.peer != peer:
            return None
        return ButtonPressed(address, id, sender, message_id=pressed.message, value=pressed.value)
    title, text, file = message.get("title"), message.get("message") or "", message.get("attachment")
    if file and text == f"You received a file: {file.get('name')}":  # ntfy's own words in place of none
        text = ""
    return InboundMessage(
        address,
        id,
        sender,
        "\n".join(filter(None, (title, text))),
        mentioned=True,
        sent_at=float(message["time"]),
        media=(_media(file),) if file else (),
    )


def _media(file: Mapping[str, Any]) -> Media:
    mime = file.get("type") or None
    return Media(kind_of(mime), file["url"], mime_type=mime, name=file.get("name"), size_bytes=file.get("size"))
