"""The rooms of one bot: channels, threads and direct messages, and how far each was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from hub.messaging.contract import Address, ChatType

ROOMS_LIMIT = 5_000
FOLLOWED_LIMIT = 500
"""Conversations that are read again after a pause; those that said something last."""
THREADS = frozenset({10, 11, 12})


class DiscordRoom(msgspec.Struct, frozen=True, omit_defaults=True):
    """A channel of Discord's.

    Attributes:
        guild: The server; None in direct messages.
        parent: The channel that a thread belongs to.
        person: The other side of direct messages.
        after: The last message read, of a conversation that the hub takes part in.
    """

    id: str
    guild: str | None = None
    parent: str | None = None
    person: str | None = None
    name: str | None = None
    after: str | None = None

    def address(self, account: str) -> Address:
        """Return the address of the conversation; direct messages go by the person."""
        if self.person is not None:
            return Address("discord", self.person, account)
        return Address("discord", self.id, account, chat_type=ChatType.CHANNEL, space=self.guild, parent=self.parent)


class DiscordRooms:
    """Remembers rooms by their ids; the longest unused is forgotten first."""

    def __init__(self) -> None:
        self._rooms: dict[str, DiscordRoom] = {}
        self.changed = False
        """Whether what `stored` returns is new."""

    def get(self, id: str) -> DiscordRoom | None:
        """Return a room, when it is known."""
        return self._rooms.get(id)

    def dm_of(self, person: str) -> str | None:
        """Return the room of the direct messages with a person, when it is known."""
        return next((room.id for room in self._rooms.values() if room.person == person), None)

    def learn(self, data: Mapping[str, Any], guild: str | None = None, me: str | None = None) -> DiscordRoom:
        """Keep what Discord says about a channel."""
        known = self._rooms.get(data["id"])
        others = [each["id"] for each in data.get("recipients") or () if each["id"] != me]
        return self.keep(
            DiscordRoom(
                data["id"],
                guild=guild or data.get("guild_id"),
                parent=data.get("parent_id") if data.get("type") in THREADS else None,
                person=others[0] if others and data.get("type") == 1 else None,
                name=data.get("name"),
                after=known.after if known else None,
            )
        )

    def keep(self, room: DiscordRoom) -> DiscordRoom:
        """Keep a room."""
        self._rooms.pop(room.id, None)
        if len(self._rooms) >= ROOMS_LIMIT:
            del self._rooms[next(iter(self._rooms))]
        self._rooms[room.id] = room
        return room

    def read(self, id: str, message_id: str, *, follow: bool) -> bool:
        """Note that a message was received; return whether the conversation is followed only from now on."""
        room = self._rooms.get(id)
        if room is None or (room.after is None and not follow):
            return False
        if room.after is None or int(message_id) > int(room.after):
            self.keep(replace(room, after=message_id))
            self.changed = True
        return room.after is None

    def forget(self, id: str) -> None:
        """Forget a room that can no longer be read."""
        self.changed = self._rooms.pop(id, None) is not None or self.changed

    def followed(self) -> list[DiscordRoom]:
        """Return the conversations to read again after a pause."""
        return [room for room in self._rooms.values() if room.after is not None][-FOLLOWED_LIMIT:]

    def stored(self) -> str:
        """Return the followed conversations as text, to be kept."""
        self.changed = False
        return msgspec.json.encode(self.followed()).decode()

    def load(self, text: str) -> None:
        """Take over what `stored` returned, beside what is known already."""
        for room in msgspec.json.decode(text, type=list[DiscordRoom]):
            known = self._rooms.get(room.id)
            if known is None or known.after is None:
                self.keep(room)
