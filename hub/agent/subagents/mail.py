"""The mail of a running subagent: words of its requester, and results of its own subagents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hub.core.errors import LimitExceeded

MAIL_LIMIT = 100


class SubagentMail:
    """Waiting texts, each with whether it may hold words from outside."""

    def __init__(self) -> None:
        self._closed = False
        self._texts: list[tuple[str, bool]] = []
        self._changed = asyncio.Event()

    def put(self, text: str, *, tainted: bool) -> None:
        """Add a text.

        Raises:
            LimitExceeded: A hundred wait already.
        """
        if len(self._texts) >= MAIL_LIMIT:
            raise LimitExceeded(f"{MAIL_LIMIT} messages already wait for this subagent")
        self._texts.append((text, tainted))
        self.wake()

    def wake(self) -> None:
        """Wake the waiter to look again."""
        self._changed.set()

    def close(self) -> None:
        """Accept no more texts."""
        self._closed = True
        self.wake()

    def is_closed(self) -> bool:
        """Whether the subagent was stopped or has ended."""
        return self._closed

    async def wait(self, expects: Callable[[], bool]) -> None:
        """Wait for a text, or until none is expected any more."""
        while not self._texts and not self._closed and expects():
            self._changed.clear()
            await self._changed.wait()

    def any(self) -> bool:
        """Whether a text waits."""
        return bool(self._texts)

    def waits(self, *, tainted: bool) -> bool:
        """Whether a running turn may hear a text now: one with words from outside only in a tainted run."""
        return any(tainted or not outside for _, outside in self._texts)

    def take(self, *, tainted: bool) -> list[str]:
        """Return the texts that a running turn may hear now."""
        taken = [text for text, outside in self._texts if tainted or not outside]
        self._texts = [] if tainted else [each for each in self._texts if each[1]]
        return taken

    def take_all(self) -> tuple[list[str], bool]:
        """Return all texts, and whether one may hold words from outside."""
        texts, self._texts = self._texts, []
        return [text for text, _ in texts], any(outside for _, outside in texts)
