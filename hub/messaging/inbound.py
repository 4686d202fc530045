"""The messages and events that arrive through channels, and the inbox's answers to them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.models.contract import Image


class ChatType(StrEnum):
    """What kind of conversation a message came from."""

    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"


class Address(Struct, frozen=True):
    """The destination of a message: a peer on one account of a channel, optionally a thread.

    Attributes:
        channel: Name of the channel.
        peer: The platform's id of the conversation: of a person, group or room.
        account: Name of the account in the configuration.
        chat_type: The kind of conversation.
        thread: The platform's id of the thread or topic inside it.
        space: The platform's id of the server, team or workspace that the room belongs to.
        parent: Peer of the room that a thread with a peer of its own belongs to.
        topic: Whether the thread is a topic: a lasting part of the room, with a name of its own.
        account_id: The platform's id of the account; set by the hub, from `Receiver.connected`.
    """

    channel: str
    peer: str
    account: str = "default"
    chat_type: ChatType = ChatType.DIRECT
    thread: str | None = None
    space: str | None = None
    parent: str | None = None
    account_id: str | None = None
    topic: bool = False


class MediaKind(StrEnum):
    """Kinds of attachments."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FILE = "file"
    STICKER = "sticker"


class Media(Struct, frozen=True):
    """An attachment as a platform announces it.

    Attributes:
        kind: Its kind.
        reference: The channel's reference to fetch it (`CanFetch`).
        mime_type, name, size_bytes, duration_s: As the platform or its sender says; not to be trusted.
        voice: Whether it was recorded as a voice message.
        path: The file, relative to the agent's workspace, once it was fetched.
        problem: Why it could not be fetched.
    """

    kind: MediaKind
    reference: str
    mime_type: str | None = None
    name: str | None = None
    size_bytes: int | None = None
    duration_s: float | None = None
    voice: bool = False
    path: str | None = None
    problem: str | None = None


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
        message_id: The platform's id; (channel, account id, peer, message id) is handled once, ever.
        sender: Typed stable identity, `telegram:user:123`; never a name.
        text: The text, or the caption of the media.
        images: Images that came with it.
        sender_name: The name shown to people; never authorises.
        mentioned: Whether the assistant was addressed, in a group.
        sent_at: Seconds since the epoch, as the platform reports.
        media: Attachments that were not fetched.
        location, contacts: The shared ones.
        reply_to: Id of the message it replies to.
        quoted: What it quotes; the words of its author.
        roles: The platform's ids of the sender's roles in the address's space.
        group_name: Name of the room, for people.
        topic_name, space_name: Names of the thread or topic, and of the server, team or workspace, for people.
        album: The common id of an album's messages.
        platform_id: The platform's id of the message, where `message_id` is the hub's own; empty for none.
        area: Name of the area of the home where it was said, for what is about that room; None where nobody knows.
        note: What the agent is told beside it, by the channel itself; empty for nothing.
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
    roles: tuple[str, ...] = ()
    group_name: str | None = None
    album: str | None = None
    platform_id: str | None = None
    topic_name: str | None = None
    space_name: str | None = None
    area: str | None = None
    note: str = ""

    @property
    def answerable_id(self) -> str | None:
        """The platform's id of the message, for replies and reactions to it."""
        return self.message_id if self.platform_id is None else self.platform_id or None


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
        event_id: The platform's id; (channel, account id, peer, event id) is handled once, ever.
        sender: Typed stable identity of who did it.
        sender_name: The name shown to people; never authorises.
    """

    address: Address
    event_id: str
    sender: str
    sender_name: str | None = None


class MessageEdited(InboundEvent, frozen=True, kw_only=True, tag="message_edited"):
    """A message was edited."""

    message_id: str
    text: str


class MessageDeleted(InboundEvent, frozen=True, kw_only=True, tag="message_deleted"):
    """A message was deleted."""

    message_id: str


class ReactionChanged(InboundEvent, frozen=True, kw_only=True, tag="message_reaction"):
    """A reaction to a message was added or removed."""

    message_id: str
    emoji: str
    added: bool = True


class ButtonPressed(InboundEvent, frozen=True, kw_only=True, tag="button_pressed"):
    """A button below a message was pressed."""

    message_id: str
    value: str


class PollAnswered(InboundEvent, frozen=True, kw_only=True, tag="poll_answered"):
    """Somebody voted in a poll; neither choices nor numbers mean that the vote was withdrawn.

    Attributes:
        poll_id: The platform's id of the poll's message.
        choices: The options; of a poll that was sent from here, the hub knows them by their numbers.
        numbers: The options, counted from 0, where the platform reports nothing else.
    """

    poll_id: str
    choices: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


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
        run_id: The run that answers it, unless it is answered together with others; None when a command answered it at
            once.
        reply: The answer of a command.
        notice: For the person who pressed a button without effect: why. The channel shows it as its platform does.
    """

    inbox_id: str
    accepted: bool
    duplicate: bool = False
    reason: str | None = None
    session_key: str | None = None
    run_id: str | None = None
    reply: str | None = None
    notice: str | None = None
