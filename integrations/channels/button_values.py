"""Values of buttons that are too long for the platform."""

from __future__ import annotations

import hashlib
import json

from hub.messaging.contract import Receiver

KEPT = 200
CURSOR = "button values"
_MARK = "~"


class ButtonValues:
    """Gives long values short names, and remembers the last of them over restarts.

    Args:
        receive: Keeps them for the account.
        longest: The longest value that the platform takes, in bytes.
    """

    def __init__(self, receive: Receiver, longest: int) -> None:
        self._receive = receive
        self._longest = longest
        self._values: dict[str, str] = {}

    async def load(self) -> None:
        """Read what earlier runs kept; call it once the account is known."""
        self._values = json.loads(await self._receive.cursor(CURSOR) or "{}")

    async def carried(self, value: str) -> str:
        """Return what a button carries for its value: the value itself, or a name that `value_of` knows."""
        if 0 < len(value.encode()) <= self._longest and not value.startswith(_MARK):
            return value
        name = _MARK + hashlib.sha256(value.encode()).hexdigest()[:32]
        if name not in self._values:
            self._values = dict([*self._values.items(), (name, value)][-KEPT:])
            await self._receive.keep_cursor(json.dumps(self._values), CURSOR)
        return name

    def value_of(self, carried: str) -> str:
        """Return the value of a button that was pressed."""
        return self._values.get(carried, carried)
