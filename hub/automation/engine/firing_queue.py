"""Firings in order: a few are handled at once, the rest in slices, so that each run starts once it is decided."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from hub.automation.contract import Firing

_log = logging.getLogger(__name__)

SLICE = 8
"""So many firings are handled in one turn of the event loop: the runs of the first have begun when the rest is."""

Handle = Callable[[Firing], object]


class FiringQueue:
    """Hands firings to their automations."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Handle, Firing]] = deque()
        self._handled = 0
        self._scheduled = False

    def add(self, handle: Handle, firing: Firing) -> None:
        """Handle a firing: now, or in one of the next turns of the event loop when many fire in this one."""
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)
        if self._waiting or self._handled >= SLICE:
            self._waiting.append((handle, firing))
            return
        self._handled += 1
        handle(firing)

    def _turn(self) -> None:
        self._handled = min(SLICE, len(self._waiting))
        for _ in range(self._handled):
            handle, firing = self._waiting.popleft()
            try:
                handle(firing)
            except Exception:  # an error in one automation must not reach the others
                _log.exception("a trigger fired and was not handled: %s", firing.trigger.get("description"))
        self._scheduled = self._handled > 0
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._turn)
