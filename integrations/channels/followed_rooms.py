"""The rooms of an account, and how far those that the hub takes part in were read."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from hub.messaging.contract import Receiver

ROOMS_LIMIT = 5_000
FOLLOWED_LIMIT = 500
"""Those that said something last."""
CURSOR = "followed"


class FollowedRoom(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A conversation.

    Attributes:
        id: The platform's.
        person: The other side of direct messages.
        after: Id of the last message read; empty when the hub does not take part in it.
    """

    id: str
    person: str | None = None
    after: str = ""


R = TypeVar("R", bound=FollowedRoom)


class FollowedRooms(Generic[R]):
    """Remembers rooms by their ids; the longest unused is forgotten first.

    Args:
        receive: Keeps the followed ones over restarts.
        kind: The struct of a room.
    """

    def __init__(self, receive: Receiver, kind: type[R]) -> None:
        self._receive = receive
        self._kind = kind
        self._rooms: dict[str, R] = {}
        self._changed = False

    def get(self, id: str) -> R | None:
        """Return a room, when it is known."""
        return self._rooms.get(id)

    def dm_of(self, person: str) -> R | None:
        """Return the direct messages with a person, when they are known."""
        return next((room for room in self._rooms.values() if room.person == person), None)

    def keep(self, room: R) -> R:
        """Keep a room; how far it was read is not forgotten."""
        known = self._rooms.pop(room.id, None)
        if known is not None:
            room.after = room.after or known.after
        while len(self._rooms) >= ROOMS_LIMIT:
            del self._rooms[next(iter(self._rooms))]
        self._rooms[room.id] = room
        return room

    def read(self, room: R, message_id: str, *, follow: bool) -> bool:
        """Note that a message was received; return whether the room is followed only from now on.

        Args:
            message_id: Later ones are longer, or greater as text.
            follow: Whether to follow the room from here, if it is not followed yet.
        """
        is_new = not room.after
        if is_new and not follow:
            return False
        if (len(message_id), message_id) > (len(room.after), room.after):
            room.after = message_id
            self._changed = True
            self.keep(room)
        return is_new

    def forget(self, id: str) -> None:
        """Forget a room that can no longer be read."""
        self._changed = self._rooms.pop(id, None) is not None or self._changed

    def followed(self) -> list[R]:
        """Return the rooms to read again after a pause."""
        return [room for room in self._rooms.values() if room.after][-FOLLOWED_LIMIT:]

    async def save(self) -> None:
        """Keep on disk how far the rooms were read, when that has changed."""
        if not self._changed:
            return
        self._changed = False
        try:
            await self._receive.keep_cursor(msgspec.json.encode(self.followed()).decode(), CURSOR)
        except BaseException:
            self._changed = True
            raise

    async def load(self) -> None:
        """Add the stored state to what is known already."""
        kept = await self._receive.cursor(CURSOR) or "[]"
        for room in msgspec.json.decode(kept, type=list[self._kind]):  # type: ignore[name-defined]
            if not (known := self._rooms.get(room.id)) or not known.after:
                self.keep(room)
