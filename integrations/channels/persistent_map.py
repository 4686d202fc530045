"""A small table of values that an account must still know after a restart."""

from __future__ import annotations

import logging
from typing import Generic, TypeVar

import msgspec

from hub.messaging.contract import Receiver

T = TypeVar("T")
_log = logging.getLogger(__name__)


class PersistentMap(Generic[T]):
    """Values by their keys; the oldest are forgotten first.

    Args:
        receive: Keeps them for the account.
        name: The name of the table.
        limit: How many are kept.
        kind: The type of the values.
    """

    def __init__(self, receive: Receiver, name: str, limit: int, kind: type[T]) -> None:
        self._receive = receive
        self._name = name
        self._limit = limit
        self._kind = kind
        self._values: dict[str, T] = {}
        self._loaded = False

    async def load(self) -> None:
        """Read what earlier runs kept; call it once the account is known."""
        kept = await self._receive.cursor(self._name) or "{}"
        self._loaded = True
        try:
            found = msgspec.json.decode(kept, type=dict[str, self._kind])  # type: ignore[name-defined]
            self._values = found | self._values  # what was stored meanwhile is newer
        except msgspec.MsgspecError as error:
            _log.warning("the %s of an account are damaged and are forgotten: %s", self._name, error)

    def get(self, key: str) -> T | None:
        """Return a value that is kept."""
        return self._values.get(key)

    def items(self) -> list[tuple[str, T]]:
        """Return the keys and values, the oldest first."""
        return list(self._values.items())

    async def put(self, key: str, value: T) -> None:
        """Store a value; what earlier runs kept stays, also when it was not read yet."""
        if not self._loaded:
            await self.load()
        self._values = dict([*self._values.items(), (key, value)][-self._limit :])
        await self._receive.keep_cursor(msgspec.json.encode(self._values).decode(), self._name)
