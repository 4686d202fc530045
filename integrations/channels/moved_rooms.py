"""Rooms that their platform gave another id.

The hub goes on calling each by its first id, so that its conversation, rules, bindings, schedules and what waits for it
follow: only between channel and platform the new one is said.
"""

from __future__ import annotations

from msgspec.structs import replace

from hub.messaging.contract import Address, Receiver
from integrations.channels.persistent_map import PersistentMap

MOVED_LIMIT = 1_000


class MovedRooms:
    """The rooms of an account that moved; call `load` once the account is known."""

    def __init__(self, receive: Receiver) -> None:
        self._kept = PersistentMap(receive, "moved rooms", MOVED_LIMIT, str)
        self._now: dict[str, str] = {}
        self._first: dict[str, str] = {}

    async def load(self) -> None:
        """Read what earlier runs kept."""
        await self._kept.load()
        self._now = dict(self._kept.items())
        self._first = {new: first for first, new in self._now.items()}

    async def move(self, old: str, new: str) -> None:
        """Note that a room has another id; it is on disk when this returns.

        Raises:
            HubError: It could not be stored.
        """
        first = self.first_id(old)
        if self._now.get(first) != new:
            await self._kept.put(first, new)
            self._now[first], self._first[new] = new, first

    def first_id(self, id: str) -> str:
        """Return what the hub calls a room."""
        return self._first.get(id, id)

    def id_now(self, peer: str) -> str:
        """Return what the platform calls a room."""
        return self._now.get(peer, peer)

    def as_platform(self, address: Address) -> Address:
        """Return an address of the hub's with the id that the platform knows."""
        return replace(address, peer=self.id_now(address.peer))
