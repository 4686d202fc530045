"""The border to WhatsApp: what the channel asks of the client of a linked device, and what its failures mean.

People and groups are named by their JIDs as text (`4915112345678@s.whatsapp.net`, `123@lid`, `456@g.us`). Messages and
events are the protobuf messages of `neonize.proto`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from hub.messaging.contract import DeliveryState, MediaKind
from integrations.channels.http_api import PlatformError


class LinkCode(Struct, frozen=True):
    """The text of a QR code that a phone may scan now, said among the events."""

    text: str


class WebClient(Protocol):
    """A linked device, or one to be; each method raises `PlatformError` when it fails."""

    async def is_linked(self) -> bool:
        """Return whether the session belongs to a number."""
        ...

    async def run(self, hear: Callable[[Any], None]) -> None:
        """Connect, and stay connected until `close`.

        Args:
            hear: Called in order with each event, and with a `LinkCode` whenever there is another one.
        """
        ...

    async def close(self) -> None:
        """Disconnect; the session stays."""
        ...

    async def is_connected(self) -> bool:
        """Return whether the connection is up."""
        ...

    async def pairing_code(self, number: str) -> str:
        """Return a code that is typed on the phone of a number instead; only while there is a `LinkCode`."""
        ...

    async def me(self) -> Any:
        """Return the `Device`: JID, LID and name of the account."""
        ...

    async def phone_of(self, lid: str) -> str | None:
        """Return the JID with the phone number behind a LID, when the session knows it."""
        ...

    async def lid_of(self, phone: str) -> str | None:
        """Return the LID of a phone number's JID, when the session knows it."""
        ...

    async def send(self, chat: str, message: Any) -> str:
        """Send a `Message`; return its id."""
        ...

    async def upload(self, content: bytes, kind: MediaKind) -> Any:
        """Upload a file, encrypted; return the `UploadResponse`."""
        ...

    async def download(self, message: bytes) -> bytes:
        """Return the file of a serialised `Message`."""
        ...

    async def votes_of(self, event: Any) -> Sequence[bytes]:
        """Return the SHA-256 of the options that a vote is for."""
        ...

    async def mark_read(self, id: str, chat: str, sender: str) -> None:
        """Mark a message as read."""
        ...

    async def show_typing(self, chat: str) -> None:
        """Show that something is being written."""
        ...

    async def group(self, jid: str) -> Any:
        """Return the `GroupInfo` of a group."""
        ...

    async def groups(self) -> Sequence[Any]:
        """Return the `GroupInfo` of each group that the account is in."""
        ...

    async def contacts(self) -> Sequence[Any]:
        """Return each `Contact` of the account."""
        ...


RATE_LIMIT_S = 60.0
_RATE = ("rate-overlimit", "status 429", "error 429")
_NEVER = (
    "can't send message to unknown server",
    "recipient must be a user JID",
    "participating in that group",
    "status 401",
    "status 403",
    "status 404",
    "status 406",
    "server returned error",
    "phone number too short",
)
_NOT_SENT = (
    "websocket not connected",
    "doesn't contain a device JID",
    "failed to get device list",
    "failed to get group members",
    "no signal session established",
    "info query",
    "failed to dial",
)


def failure(text: str) -> PlatformError:
    """Return the error for a failure that the client tells as text; what it does not tell may have been sent."""
    state, wait = DeliveryState.UNKNOWN, None
    if any(each in text for each in _RATE):
        state, wait = DeliveryState.TRANSIENT, RATE_LIMIT_S
    elif any(each in text for each in _NEVER):
        state = DeliveryState.PERMANENT
    elif any(each in text for each in _NOT_SENT):
        state = DeliveryState.TRANSIENT
    return PlatformError(state, f"WhatsApp: {text}", retry_after_s=wait)
