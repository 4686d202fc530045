"""The contract for channels, and the messages and events that pass through them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from hub.models.contract import Image


class ChatType(StrEnum):
    """What kind of conversation a message came from."""

    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"


class Address(Struct, frozen=True):
    """Where a message goes: a peer on one account of a channel, perhaps in a thread."""

    channel: str
    peer: str
    account: str = "default"
    chat_type: ChatType = ChatType.DIRECT
    thread: str | None = None


class MediaKind(StrEnum):
    """Kinds of attachments."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FILE = "file"
    STICKER = "sticker"


# --- inbound ---


class Media(Struct, frozen=True):
    """An attachment as a platform announces it; `reference` is what the channel fetches it by."""

    kind: MediaKind
    reference: str
    mime_type: str | None = None
    name: str | None = None
    size_bytes: int | None = None
    duration_s: float | None = None


class SharedLocation(Struct, frozen=True):
    """A shared location."""

    latitude: float
    longitude: float
    name: str | None = None


class Contact(Struct, frozen=True):
    """A shared contact card."""

    name: str
    phone: str | None = None


class Quote(Struct, frozen=True):
    """Text that a message quotes; `sender` is the typed identity of its author, when known."""

    text: str
    sender: str | None = None


class InboundMessage(Struct, frozen=True):
    """A message as a channel received it.

    Attributes:
        address: The conversation it came from; answers go there.
        message_id: The platform's id; (channel, account, peer, message id) is handled once, ever.
        sender: Typed stable identity, `telegram:user:123`; never a name.
        text: The text, or the caption of the media.
        images: Images that came with it.
        sender_name: For people; never authorises.
        mentioned: Whether the assistant was addressed, in a group.
        sent_at: Seconds since the epoch, as the platform says.
        media: Attachments that were not fetched.
        location, contacts: What was shared.
        reply_to: Id of the message it replies to.
        quoted: What it quotes; the words of whoever wrote that.
    """

    address: Address
    message_id: str
    sender: str
    text: str
    images: tuple[Image, ...] = ()
    sender_name: str | None = None
    mentioned: bool = False
    sent_at: float | None = None
    media: tuple[Media, ...] = ()
    location: SharedLocation | None = None
    contacts: tuple[Contact, ...] = ()
    reply_to: str | None = None
    quoted: Quote | None = None


class ClientMessage(InboundMessage, frozen=True):
    """A message of a caller whom the gateway authenticated, who may choose more than a channel can.

    Attributes:
        session_key: The session it belongs to.
        run_id: The id of the run that answers it (its idempotency key); else one is made.
        options: model, thinking, extra_system_prompt, timeout_s for this run.
    """

    session_key: str | None = None
    run_id: str | None = None
    options: Mapping[str, Any] = {}


class InboundEvent(Struct, frozen=True):
    """An event other than a message in a conversation; the tag is its event type on the bus.

    Attributes:
        address: The conversation.
        event_id: The platform's id; (channel, account, peer, event id) is handled once, ever.
        sender: Typed stable identity of who did it.
    """

    address: Address
    event_id: str
    sender: str


class MessageEdited(InboundEvent, frozen=True, kw_only=True, tag="message_edited"):
    """A message got another text."""

    message_id: str
    text: str


class MessageDeleted(InboundEvent, frozen=True, kw_only=True, tag="message_deleted"):
    """A message was taken back."""

    message_id: str


class ReactionChanged(InboundEvent, frozen=True, kw_only=True, tag="message_reaction"):
    """A reaction was added to a message, or removed."""

    message_id: str
    emoji: str
    added: bool = True


class ButtonPressed(InboundEvent, frozen=True, kw_only=True, tag="button_pressed"):
    """A button below a message was pressed."""

    message_id: str
    value: str


class PollAnswered(InboundEvent, frozen=True, kw_only=True, tag="poll_answered"):
    """Somebody voted in a poll; no choices mean that the vote was withdrawn."""

    poll_id: str
    choices: tuple[str, ...]


class MembershipChanged(InboundEvent, frozen=True, kw_only=True, tag="membership_changed"):
    """Somebody joined or left; `member` is their typed identity."""

    member: str
    joined: bool


class CommandUsed(InboundEvent, frozen=True, kw_only=True, tag="command_used"):
    """A native command of the platform; handled like a message that begins with a slash."""

    name: str
    arguments: str = ""


Inbound = InboundMessage | InboundEvent


class Receipt(Struct, frozen=True):
    """What the inbox decided; it is on disk when this is returned.

    Attributes:
        inbox_id: Row in the hub database.
        accepted: Whether it will be (or was) handled.
        duplicate: Whether it had been received before; the other fields are then those of the first.
        reason: Why it was not accepted.
        session_key: The session it was routed to.
        run_id: The run that answers it; None when a command answered it at once.
        reply: The answer of a command.
    """

    inbox_id: str
    accepted: bool
    duplicate: bool = False
    reason: str | None = None
    session_key: str | None = None
    run_id: str | None = None
    reply: str | None = None


Receive = Callable[[Inbound], Awaitable[Receipt]]
"""Takes a message or event from a channel. It carries no authority: who may talk is decided from the typed sender."""


# --- outbound ---


class OutboundMedia(Struct, frozen=True):
    """An attachment to send: a file of the hub's."""

    kind: MediaKind
    path: str
    mime_type: str
    name: str | None = None


class Button(Struct, frozen=True):
    """A button; `value` comes back in `ButtonPressed`."""

    label: str
    value: str


class OutboundMessage(Struct, frozen=True):
    """A message for a channel to send.

    Attributes:
        id: The outbox row's, and the idempotency key.
        reply_to: Platform's id of the message it answers; a channel without replies ignores it.
        media: Only kinds that the channel's limits name.
        buttons: Rows of buttons, within the channel's limits.
    """

    id: str
    address: Address
    text: str
    session_key: str | None = None
    run_id: str | None = None
    reply_to: str | None = None
    media: tuple[OutboundMedia, ...] = ()
    buttons: tuple[tuple[Button, ...], ...] = ()


class OutboundPoll(Struct, frozen=True):
    """A poll for a channel to open; `id` is the idempotency key."""

    id: str
    address: Address
    question: str
    options: tuple[str, ...]
    multiple: bool = False


class DeliveryState(StrEnum):
    """How an attempt to send ended."""

    DELIVERED = "delivered"
    TRANSIENT = "transient"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


class Delivery(Struct, frozen=True):
    """The result of one attempt to send."""

    state: DeliveryState
    platform_ids: tuple[str, ...] = ()
    error: str | None = None
    retry_after_s: float | None = None


# --- channels ---


class TextUnit(StrEnum):
    """The unit in which a platform counts the length of a text."""

    CHARACTERS = "characters"
    UTF16 = "utf16"
    BYTES = "bytes"


class ChannelLimits(Struct, frozen=True):
    """What one message of a channel can hold.

    Attributes:
        text: The longest text, in `unit`.
        media: The kinds it can carry.
        buttons: The most buttons below a message.
        markup: The flavour of its text, such as `markdown` or `html`; None for plain text.
        idempotent: Whether a message sent twice with one id is shown once; an unknown delivery is then sent again.
    """

    text: int = 4_000
    unit: TextUnit = TextUnit.CHARACTERS
    media: frozenset[MediaKind] = frozenset()
    buttons: int = 0
    markup: str | None = None
    idempotent: bool = False


class Channel(Protocol):
    """A chat platform, logged in as one account; `hub.messaging.capabilities` has the methods it may have beside."""

    name: str
    account: str
    limits: ChannelLimits

    async def start(self, receive: Receive) -> None:
        """Start listening; a message is acknowledged to the platform only after `receive` returned."""
        ...

    async def stop(self) -> None:
        """Stop listening and close connections."""
        ...

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send one message that fits `limits`; never raises for what a platform may answer."""
        ...

    async def probe(self) -> dict[str, Any]:
        """Return whether the platform can be reached, and as whom."""
        ...
