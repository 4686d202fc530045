"""Values of buttons that are too long for the platform."""

from __future__ import annotations

import hashlib

from hub.messaging.contract import Receiver
from integrations.channels.persistent_map import PersistentMap

KEPT = 200
_MARK = "~"


class ButtonValues(PersistentMap[str]):
    """Maps long values to short names, and remembers the latest over restarts.

    Args:
        receive: Keeps them for the account.
        longest: The longest value that the platform takes, in bytes.
    """

    def __init__(self, receive: Receiver, longest: int) -> None:
        super().__init__(receive, "button values", KEPT, str)
        self._longest = longest

    async def payload_of(self, value: str) -> str:
        """Return a button's payload for its value: the value itself, or a name that `value_of` knows."""
        if 0 < len(value.encode()) <= self._longest and not value.startswith(_MARK):
            return value
        name = _MARK + hashlib.sha256(value.encode()).hexdigest()[:32]
        if self.get(name) is None:
            await self.put(name, value)
        return name

    def value_of(self, carried: str) -> str:
        """Return the value of a button that was pressed."""
        return self.get(carried) or carried
