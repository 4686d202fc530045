"""Firings in order: a few are handled at once, the rest in slices, so that each run starts once it is decided."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any

_log = logging.getLogger(__name__)

SLICE = 2
"""So many firings are handled in one turn of the event loop: the runs of the first have begun when the rest is."""

Handle = Callable[[Any], object]


class FiringQueue:
    """Hands firings to their automations, and events to triggers that may fire.

    Args:
        slice: How many are handled in one turn of the event loop.
    """

    def __init__(self, slice: int = SLICE) -> None:
        self._slice = slice
        self._waiting: deque[Iterator[tuple[Handle, Any]]] = deque()
        self._handled = 0
        self._scheduled = False
        self._decides = False

    def add(self, handle: Handle, firing: Any) -> None:
        """Handle a firing: now, or in one of the next turns of the event loop when many fire in this one."""
        if self._decides:  # its event has waited for its turn already
            self._decides = False
            handle(firing)
        elif self._waiting or self._handled >= self._slice:
            self._waiting.append(iter(((handle, firing),)))
        else:
            self._begin(handle, firing)

    def decide(self, tell: Handle, listeners: Sequence[Any]) -> None:
        """Deliver an event to listeners in the order of firings; events that these fire do not wait again.

        One event that many triggers wait for costs each of them next to nothing until its turn has come.
        """

        def each(listener: Any) -> None:
            self._decides = True
            try:
                tell(listener)
            finally:
                self._decides = False

        at_once = 0 if self._waiting else max(0, min(self._slice - self._handled, len(listeners)))
        for listener in listeners[:at_once]:
            self._begin(each, listener)
        if at_once < len(listeners):
            self._waiting.append(zip(repeat(each), islice(listeners, at_once, None)))

    def _begin(self, handle: Handle, firing: Any) -> None:
        self._handled += 1
        try:
            handle(firing)
        finally:
            if not self._scheduled:  # only now: the next slice comes behind the run of this one
                self._scheduled = True
                asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._handled = 0
        while self._waiting and self._handled < self._slice:
            waiting = next(self._waiting[0], None)
            if waiting is None:
                self._waiting.popleft()
                continue
            self._handled += 1
            handle, firing = waiting
            try:
                handle(firing)
            except Exception:  # an error in one automation must not reach the others
                _log.exception("a trigger fired and was not handled: %.200r", firing)
        self._scheduled = self._handled > 0
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._turn)
