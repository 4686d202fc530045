"""The rooms of a bot: channels, threads and direct messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.messaging.contract import Address, ChatType
from integrations.channels.followed_rooms import FollowedRoom

THREADS = frozenset({10, 11, 12})
FORUMS = frozenset({15, 16})
"""Rooms that hold nothing but threads, which are called posts; the second kind shows their media."""


class DiscordRoom(FollowedRoom, omit_defaults=True, kw_only=True):
    """A channel of Discord's.

    Attributes:
        guild: The server; None in direct messages.
        parent, owner: The channel that a thread belongs to, and who opened it.
        forum: Whether it holds posts, and no messages of its own.
    """

    guild: str | None = None
    parent: str | None = None
    owner: str | None = None
    name: str | None = None
    forum: bool = False

    def address(self, account: str) -> Address:
        """Return the address of the conversation; direct messages go by the person."""
        if self.person is not None:
            return Address("discord", self.person, account)
        return Address("discord", self.id, account, chat_type=ChatType.CHANNEL, space=self.guild, parent=self.parent)


def room_of(data: Mapping[str, Any], guild: str | None = None, me: str | None = None) -> DiscordRoom:
    """Return a channel from Discord's description."""
    others = [each["id"] for each in data.get("recipients") or () if each["id"] != me]
    return DiscordRoom(
        id=data["id"],
        guild=guild or data.get("guild_id"),
        parent=data.get("parent_id") if data.get("type") in THREADS else None,
        owner=data.get("owner_id") if data.get("type") in THREADS else None,
        person=others[0] if others and data.get("type") == 1 else None,
        name=data.get("name"),
        forum=data.get("type") in FORUMS,
    )
