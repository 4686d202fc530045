"""What one integration has registered with the hub, and how each registration is undone."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from hub.core.errors import Unavailable

_log = logging.getLogger(__name__)

UNDO_LIMIT_S = 3.0
"""Seconds that undoing one registration may take."""


class Registrations:
    """The registrations of one integration, from the start of its set-up until it is unloaded.

    Args:
        domain: The integration, for the log.
    """

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self._undos: dict[object, Callable[[], Any]] = {}
        self._closed = False

    def require_open(self) -> None:
        """Check that the integration is still being set up or running.

        Raises:
            Unavailable: Its registrations have been undone.
        """
        if self._closed:
            raise Unavailable(f"{self._domain} was unloaded; it can register nothing more")

    @property
    def closed(self) -> bool:
        """Whether the registrations have been undone."""
        return self._closed

    def keep(self, undo: Callable[[], Any]) -> Callable[[], Any]:
        """Keep the function that undoes a registration.

        Args:
            undo: A function or coroutine function that undoes it.

        Returns:
            `undo` for use before the unload; the second call does nothing.

        Raises:
            Unavailable: The integration was unloaded meanwhile; the registration is undone at once.
        """
        if self._closed:
            undo()
            self.require_open()
        forget = self.forgettable(undo)
        return lambda: undo() if forget() else None

    def forgettable(self, undo: Callable[[], Any]) -> Callable[[], bool]:
        """Keep the function that undoes a registration which may also end by itself.

        Returns:
            A function that forgets it; it returns False when it was undone or forgotten before.
        """
        key = object()
        self._undos[key] = undo
        return lambda: self._undos.pop(key, None) is not None

    async def undo_all(self) -> None:
        """Undo everything, newest first; a failure is logged and does not stop the rest."""
        self._closed = True
        while self._undos:
            _, undo = self._undos.popitem()
            try:
                async with asyncio.timeout(UNDO_LIMIT_S):
                    result = undo()
                    if inspect.isawaitable(result):
                        await result
            except Exception:  # the rest must still be undone
                _log.exception("%s: a registration could not be undone", self._domain)
