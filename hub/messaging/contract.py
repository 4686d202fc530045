"""The contract for channels and the messages that pass through them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct, field

from hub.core.context import Context
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


class InboundMessage(Struct, frozen=True):
    """A message as a channel received it.

    Attributes:
        address: The conversation it came from; answers go there.
        message_id: The platform's id; (channel, account, peer, message id) is handled once, ever.
        sender: Typed stable identity, `telegram:user:123`; never a name.
        text: What was said.
        images: What was shown.
        sender_name: For people; never authorises.
        mentioned: Whether the assistant was addressed, in a group.
        sent_at: Seconds since the epoch, as the platform says.
        session_key: A session the client chose; only from channels whose callers are authenticated by the gateway.
        run_id: A run id the client chose (its idempotency key); else one is made.
        options: model, thinking, extra_system_prompt, timeout_s for this run; only from authenticated callers.
    """

    address: Address
    message_id: str
    sender: str
    text: str
    images: tuple[Image, ...] = ()
    sender_name: str | None = None
    mentioned: bool = False
    sent_at: float | None = None
    session_key: str | None = None
    run_id: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class OutboundMessage(Struct, frozen=True):
    """A message for a channel to send; `id` is the outbox row's and the idempotency key."""

    id: str
    address: Address
    text: str
    session_key: str | None = None
    run_id: str | None = None
    reply_to: str | None = None


class DeliveryState(StrEnum):
    """What became of a message."""

    DELIVERED = "delivered"
    TRANSIENT = "transient"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


class Delivery(Struct, frozen=True):
    """What a channel says of one attempt to send."""

    state: DeliveryState
    platform_ids: tuple[str, ...] = ()
    error: str | None = None
    retry_after_s: float | None = None


class Capabilities(Struct, frozen=True):
    """What a channel can do; `text_limit` in characters, `markdown` its flavour or None for plain text."""

    text_limit: int = 4_000
    markdown: str | None = None
    edit: bool = False
    delete: bool = False
    react: bool = False
    thread: bool = False
    poll: bool = False
    buttons: bool = False
    media: bool = False
    typing: bool = False
    drafts: bool = False
    reconcile: bool = False
    """Whether sending the same outbox id twice shows it once, so that an unknown delivery may be sent again."""


class Receipt(Struct, frozen=True):
    """What the inbox did with a message; it is on disk when this is returned.

    Attributes:
        inbox_id: Row in the hub database.
        accepted: Whether it will be (or was) answered.
        duplicate: Whether it had been received before; the other fields are then those of the first.
        reason: Why it was not accepted.
        session_key: The session it was routed to.
        run_id: The run that answers it; None when a command answered it at once.
        reply: What a command answered, when one did.
    """

    inbox_id: str
    accepted: bool
    duplicate: bool = False
    reason: str | None = None
    session_key: str | None = None
    run_id: str | None = None
    reply: str | None = None


Receive = Callable[[InboundMessage, Context], Awaitable[Receipt]]


class Channel(Protocol):
    """A chat platform, logged in as one account."""

    name: str
    account: str
    capabilities: Capabilities

    async def start(self, receive: Receive) -> None:
        """Begin to listen; a message is acknowledged to the platform only after `receive` returned."""
        ...

    async def stop(self) -> None:
        """Stop listening and give up connections."""
        ...

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send one message that fits `capabilities`; never raises for what a platform may answer."""
        ...

    async def probe(self) -> dict[str, Any]:
        """Return whether the platform can be reached, and as whom."""
        ...
