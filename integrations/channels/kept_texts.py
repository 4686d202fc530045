"""A small table of texts that an account must still know after a restart."""

from __future__ import annotations

import json

from hub.messaging.contract import Receiver


class KeptTexts:
    """Texts by their keys; the oldest are forgotten first.

    Args:
        receive: Keeps them for the account.
        name: Of the table.
        limit: How many are kept.
    """

    def __init__(self, receive: Receiver, name: str, limit: int) -> None:
        self._receive = receive
        self._name = name
        self._limit = limit
        self._texts: dict[str, str] = {}

    async def load(self) -> None:
        """Read what earlier runs kept; call it once the account is known."""
        self._texts = json.loads(await self._receive.cursor(self._name) or "{}")

    def get(self, key: str) -> str | None:
        """Return a text that is kept."""
        return self._texts.get(key)

    async def put(self, key: str, text: str) -> None:
        """Keep a text."""
        self._texts = dict([*self._texts.items(), (key, text)][-self._limit :])
        await self._receive.keep_cursor(json.dumps(self._texts), self._name)
