"""What must be known later of what was sent: values of buttons that are too long, and polls."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address

DATA_LIMIT_BYTES = 64
"""What a button carries at most."""
BUTTONS_KEPT = 2_000
POLLS_KEPT = 500
_MARK = "~"


class SentPoll(Struct, frozen=True):
    """A poll that was sent."""

    id: str
    address: Address
    options: tuple[str, ...]


class _Kept(Struct):
    buttons: dict[str, str] = {}
    polls: dict[str, SentPoll] = {}


class Ledger:
    """Remembers it, the last so many of each, over restarts.

    Args:
        storage: Where it is kept.
    """

    def __init__(self, storage: JsonStorage) -> None:
        self._storage = storage
        self._kept = _Kept()

    async def load(self) -> None:
        """Read what earlier runs kept."""
        self._kept = msgspec.convert(await self._storage.load({}), _Kept)

    async def button_data(self, values: Sequence[str]) -> list[str]:
        """Return what buttons carry for their values: the value itself, or a short name of one that is too long."""
        data = [value if _fits(value) else _MARK + hashlib.sha256(value.encode()).hexdigest()[:32] for value in values]
        new = {key: value for key, value in zip(data, values, strict=True) if key != value}
        if new.keys() - self._kept.buttons.keys():
            self._kept.buttons = dict([*self._kept.buttons.items(), *new.items()][-BUTTONS_KEPT:])
            await self._save()
        return data

    def button_value(self, data: str) -> str:
        """Return the value of a button that was pressed."""
        return self._kept.buttons.get(data, data)

    async def keep_poll(self, poll: SentPoll) -> None:
        """Remember a poll: answers name it, not the chat it is in."""
        self._kept.polls = dict([*self._kept.polls.items(), (poll.id, poll)][-POLLS_KEPT:])
        await self._save()

    def poll(self, id: str) -> SentPoll | None:
        """Return a poll that was sent."""
        return self._kept.polls.get(id)

    async def _save(self) -> None:
        await self._storage.save(msgspec.to_builtins(self._kept))


def _fits(value: str) -> bool:
    return 0 < len(value.encode()) <= DATA_LIMIT_BYTES and not value.startswith(_MARK)
