"""The contract for channels: their dependencies, what they send, and their optional capabilities.

The messages and events that it receives are in `hub.messaging.inbound`, and are also exported here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from hub.messaging.inbound import (
    Address,
    ButtonPressed,
    ChatType,
    ClientMessage,
    CommandUsed,
    Contact,
    Inbound,
    InboundEvent,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    PollAnswered,
    Quote,
    ReactionChanged,
    Receipt,
    SharedLocation,
)

__all__ = [
    "Address",
    "Button",
    "ButtonPressed",
    "Channel",
    "ChannelLimits",
    "ChannelState",
    "ChannelStatus",
    "ChatType",
    "ClientMessage",
    "CommandUsed",
    "Contact",
    "Delivery",
    "DeliveryState",
    "Inbound",
    "InboundEvent",
    "InboundMessage",
    "Media",
    "MediaKind",
    "MembershipChanged",
    "MessageDeleted",
    "MessageEdited",
    "OutboundMedia",
    "OutboundMessage",
    "OutboundPoll",
    "PollAnswered",
    "Quote",
    "ReactionChanged",
    "Receipt",
    "Receiver",
    "SharedLocation",
    "TextUnit",
]


class Receiver(Protocol):
    """The entrance for one channel.

    It carries no authority: who may talk is decided from the typed sender.
    """

    async def __call__(self, inbound: Inbound) -> Receipt:
        """Take a message or event; it is on disk when this returns, and may be acknowledged to the platform.

        Raises:
            HubError: It could not be stored. Do not acknowledge it; offer it again.
        """
        ...

    def admits(self, inbound: Inbound) -> bool:
        """Whether the sender may talk here; only then is the content worth reading."""
        ...

    def identified(self, account_id: str | None, name: str | None = None) -> None:
        """Report as whom the platform was reached, before what was kept for the account is read.

        Args:
            account_id: The platform's own id of the account: what was received and cursors belong to it, whatever the
                configuration calls the account.
            name: For people, such as the bot's user name.
        """
        ...

    def connected(self) -> None:
        """Report that messages are taken and sent from now on."""
        ...

    def progress(self) -> None:
        """Report activity of the platform: a poll returned, a heartbeat was answered, an event came."""
        ...

    def disconnected(self, error: str, *, permanent: bool = False) -> None:
        """Report that the platform cannot be reached.

        Args:
            error: The reason, for people.
            permanent: Whether only a person can change that, such as a revoked token: a repair is raised.
        """
        ...

    async def cursor(self, name: str = "position") -> str | None:
        """Return the position kept by `keep_cursor`; call `identified` or `connected` before."""
        ...

    async def keep_cursor(self, value: str, name: str = "position") -> None:
        """Keep how far the account was read, on disk; only after everything up to there was received."""
        ...


# --- outbound ---


class OutboundMedia(Struct, frozen=True):
    """An attachment to send: a file of the hub's; `voice` asks for a voice message where the platform has them."""

    kind: MediaKind
    path: str
    mime_type: str
    name: str | None = None
    voice: bool = False


class Button(Struct, frozen=True):
    """A button; `value` is returned in `ButtonPressed`."""

    label: str
    value: str


class OutboundMessage(Struct, frozen=True):
    """A message for a channel to send.

    Attributes:
        id: The outbox row's, and the idempotency key.
        reply_to: Platform's id of the message it answers; a channel without replies ignores it.
        media: At most one, of a kind that the channel's limits name: the outbox sends each attachment separately.
        buttons: Rows of buttons, within the channel's limits.
        silent: Whether it should arrive without a sound, where the platform can do that.
        part: Which piece of a longer message it is, from 0; the pieces are sent one after another.
    """

    id: str
    address: Address
    text: str
    session_key: str | None = None
    run_id: str | None = None
    reply_to: str | None = None
    media: tuple[OutboundMedia, ...] = ()
    buttons: tuple[tuple[Button, ...], ...] = ()
    silent: bool = False
    part: int = 0


class OutboundPoll(Struct, frozen=True):
    """A poll for a channel to open; `id` is the idempotency key."""

    id: str
    address: Address
    question: str
    options: tuple[str, ...]
    multiple: bool = False


class DeliveryState(StrEnum):
    """The outcome of an attempt to send."""

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
        text: The longest text, in `unit`, without its markup.
        caption: The longest text of a message with media, in `unit`; 0 when they are sent separately.
        media: The kinds it can carry.
        media_bytes: The largest file it can carry.
        buttons: The most buttons below a message.
        markup: The flavour of its text, such as `markdown` or `html`; None for plain text.
        idempotent: Whether a message sent twice with one id is shown once; an unknown delivery is then sent again.
        draft_interval_s: The shortest time between two looks at an answer that is being written.
        edits: How often a message may be edited.
        lines: The most lines of a message before it becomes unwieldy there; 0 for any number.
        block_chars: The fewest characters of a streamed block where many short messages disturb, unless the account
            says otherwise.
        threads: Whether any message can begin a thread, which is then named by its id.
        people_begin: Whether people have to write first: a bot cannot begin a direct chat there.
        weak_identity: Whether the platform proves senders too weakly for an owner's rights: they are the person they
            say, and what takes an owner asks one elsewhere.
        is_speech: Whether messages are spoken: each is whole, and does not wait for more of its sender.
    """

    text: int = 4_000
    unit: TextUnit = TextUnit.CHARACTERS
    caption: int = 0
    media: frozenset[MediaKind] = frozenset()
    media_bytes: int = 10_000_000
    buttons: int = 0
    markup: str | None = None
    idempotent: bool = False
    draft_interval_s: float = 1.0
    edits: int = 1_000
    lines: int = 0
    block_chars: int = 0
    threads: bool = False
    people_begin: bool = False
    weak_identity: bool = False
    is_speech: bool = False


class ChannelState(StrEnum):
    """Whether a channel receives from its platform."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    FAILED = "failed"


class ChannelStatus(Struct, frozen=True):
    """The status of a channel.

    Attributes:
        state: `disconnected` is tried again by the channel; `failed` takes a person.
        account_id, account_name: The account as the platform knows it.
        connected_at, last_progress_at, last_received_at: Seconds since the epoch.
        error: The last error, for people.
    """

    state: ChannelState = ChannelState.CONNECTING
    account_id: str | None = None
    account_name: str | None = None
    connected_at: float | None = None
    last_progress_at: float | None = None
    last_received_at: float | None = None
    error: str | None = None


class Channel(Protocol):
    """A chat platform, logged in as one account; optional methods are in `hub.messaging.capabilities`."""

    name: str
    account: str
    limits: ChannelLimits

    async def start(self, receive: Receiver) -> None:
        """Start listening, without waiting for the platform.

        A message is acknowledged to the platform only after `receive` returned.
        """
        ...

    async def stop(self) -> None:
        """Stop listening and close connections."""
        ...

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send one message that fits `limits`; never raises for an answer of the platform."""
        ...

    async def probe(self) -> dict[str, Any]:
        """Return whether the platform is reached (`ok`), as whom, and its `rights` and those `missing`, as texts."""
        ...
