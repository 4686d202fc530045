"""Capabilities of channels beyond sending text, derived from their methods and limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    Channel,
    ChannelLimits,
    ChatType,
    Delivery,
    Media,
    OutboundMessage,
    OutboundPoll,
)


@runtime_checkable
class CanEdit(Protocol):
    """A channel that can change a message it sent."""

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a sent message another text."""
        ...


@runtime_checkable
class CanDelete(Protocol):
    """A channel that can take a message back."""

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a sent message."""
        ...


@runtime_checkable
class CanReact(Protocol):
    """A channel with reactions."""

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None removes the reaction."""
        ...


@runtime_checkable
class CanPoll(Protocol):
    """A channel with polls."""

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll."""
        ...


@runtime_checkable
class CanType(Protocol):
    """A channel that shows a typing indicator."""

    async def typing(self, address: Address) -> None:
        """Show it for as long as the platform does."""
        ...


@runtime_checkable
class CanDraft(Protocol):
    """A channel that shows an answer while it is being written, in direct conversations."""

    limits: ChannelLimits

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show the text so far; the message itself follows through `send`."""
        ...


@runtime_checkable
class CanFetch(Protocol):
    """A channel that gets the bytes of attachments."""

    def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment in pieces; the caller stops at its limit, and nothing is asked of a stranger's.

        Raises:
            HubError: It is not available.
        """
        ...


@runtime_checkable
class CanFind(Protocol):
    """A channel that can look up whether a message arrived, where the platform has no key for it."""

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Return the delivery of a message whose sending was cut off, or None when the platform does not have it.

        Args:
            message: The message as it was sent.
            since: When, in seconds since the epoch.

        Raises:
            HubError: It could not be looked up.
        """
        ...


class ListedCommand(Struct, frozen=True):
    """A command as a platform lists it.

    Attributes:
        name: Without the slash.
        about: Its one-line description.
        choices: The choices for its first argument.
        free: Whether it takes an argument that is none of them.
    """

    name: str
    about: str
    choices: tuple[str, ...] = ()
    free: bool = True


@runtime_checkable
class CanPublishCommands(Protocol):
    """A channel whose platform lists the commands to people."""

    async def publish_commands(self, commands: Sequence[ListedCommand]) -> None:
        """Publish commands, in order; a list as published already costs no request."""
        ...


@runtime_checkable
class CanOpenThread(Protocol):
    """A channel whose rooms have threads that can be opened empty."""

    async def open_thread(self, address: Address, title: str) -> Address:
        """Open a thread in a room; return where it is written to, which is the same in a thread.

        Raises:
            HubError: The room has no threads, or the account may not open one.
        """
        ...


class DirectoryEntry(Struct, frozen=True):
    """A person or a room in the directory of a platform.

    Attributes:
        peer: The id that messages are addressed to.
        name: As the platform shows it; anybody can take any name.
        space: Name of the server, team or workspace that a room belongs to.
    """

    peer: str
    name: str
    chat_type: ChatType = ChatType.DIRECT
    space: str | None = None


class SomeEntries(list[DirectoryEntry]):
    """Some of what a directory has: it did not tell all names, so that others may be called the same."""


@runtime_checkable
class CanLookUp(Protocol):
    """A channel whose platform has a directory of people and rooms."""

    async def look_up(self, query: str, limit: int) -> Sequence[DirectoryEntry]:
        """Return people and rooms whose name holds a text, in any case, that the account may write to.

        Returns:
            `SomeEntries` if there may be more, also when it is fewer than `limit`.

        Raises:
            HubError: It could not be asked, or the account may not.
        """
        ...


@runtime_checkable
class HasPage(Protocol):
    """A channel that people open in a browser."""

    @property
    def page_url(self) -> str:
        """The address of its page, for a browser in the home's network."""
        ...


class LinkStep(Struct, frozen=True):
    """Where the linking of an account to a phone, or the sign-in of its owner, stands.

    Attributes:
        linked: Whether it is done, and the account is logged in.
        qr: The text of the QR code to scan now.
        code: The code to type on the phone instead, or at `url`.
        url: The page on which the account's owner signs in.
        error: Why it ended without success.
    """

    linked: bool = False
    qr: str | None = None
    code: str | None = None
    url: str | None = None
    error: str | None = None


@runtime_checkable
class CanLink(Protocol):
    """A channel whose account is a device linked to somebody's phone."""

    async def link(self, number: str | None = None) -> LinkStep:
        """Begin to link the account, unless it is linked or this goes on already; return where it stands.

        Args:
            number: The phone's, for a code that is typed there instead of scanning one.
        """
        ...

    def link_step(self) -> LinkStep:
        """Return where it stands."""
        ...


@runtime_checkable
class CanSignIn(Protocol):
    """A `CanLink` to which the account's owner signs in on a page of the platform, in place of a phone."""

    async def complete_link(self, pasted: str) -> LinkStep:
        """Complete it with the address at which the browser ended; return where it stands.

        Raises:
            HubError: It is no such address, or the platform refuses it.
        """
        ...


class Capability(StrEnum):
    """The capabilities of a channel beyond sending text."""

    EDIT = "edit"
    DELETE = "delete"
    REACT = "react"
    POLL = "poll"
    TYPING = "typing"
    DRAFT = "draft"
    MEDIA = "media"
    BUTTONS = "buttons"


_METHODS: Mapping[Capability, type] = {
    Capability.EDIT: CanEdit,
    Capability.DELETE: CanDelete,
    Capability.REACT: CanReact,
    Capability.POLL: CanPoll,
    Capability.TYPING: CanType,
    Capability.DRAFT: CanDraft,
}


def capabilities_of(channel: Channel) -> frozenset[Capability]:
    """Return the capabilities of a channel, from its methods and limits."""
    found = {capability for capability, protocol in _METHODS.items() if isinstance(channel, protocol)}
    if channel.limits.media:
        found.add(Capability.MEDIA)
    if channel.limits.buttons:
        found.add(Capability.BUTTONS)
    return frozenset(found)
