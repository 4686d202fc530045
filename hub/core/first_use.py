"""Values imported and made on first use: most homes never use most methods, commands and pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from hub.core.errors import HubError

T = TypeVar("T")

_log = logging.getLogger(__name__)


class FirstUse(Generic[T]):
    """A value that is imported and made on first use.

    Args:
        what: Names the value in errors.
        load: Imports modules, in a thread, and returns what makes it, on the loop.
    """

    def __init__(self, what: str, load: Callable[[], Callable[[], T]]) -> None:
        self._what = what
        self._load = load
        self._loading = asyncio.Lock()
        self.made: T | None = None

    async def get(self) -> T:
        """Return the value; it is made once for all callers, and cancelling one of them does no harm.

        Raises:
            HubError: It cannot be imported or made; the next use tries again.
        """
        if self.made is not None:
            return self.made
        async with self._loading:
            if self.made is None:
                try:
                    make = await asyncio.to_thread(self._load)
                    self.made = make()
                except HubError:
                    raise
                except Exception as error:  # whatever a module does when it is imported
                    _log.exception("%s cannot be loaded", self._what)
                    told = f"{self._what} cannot be loaded: {type(error).__name__}; the hub's log has more"
                    raise HubError(told) from error
            return self.made
