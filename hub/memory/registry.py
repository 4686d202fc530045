"""The registry of the memory provider."""

from __future__ import annotations

from collections.abc import Callable

from hub.core.errors import Conflict, Unavailable
from hub.memory.contract import Memory


class MemoryRegistry:
    """Holds the one memory of the hub; an integration brings it."""

    def __init__(self) -> None:
        self._current: Memory | None = None

    @property
    def current(self) -> Memory | None:
        """The memory, or None while no integration keeps one."""
        return self._current

    def register(self, memory: Memory) -> Callable[[], None]:
        """Make `memory` the hub's.

        Returns:
            A function that takes it away; calling it twice does no harm.

        Raises:
            Conflict: Another one is kept already.
        """
        if self._current is not None:
            raise Conflict("there is already a memory; only one integration can keep it")
        self._current = memory

        def remove() -> None:
            if self._current is memory:
                self._current = None

        return remove

    def require(self) -> Memory:
        """Return the memory.

        Raises:
            Unavailable: No integration keeps one.
        """
        if self._current is None:
            raise Unavailable("no memory is set up; an integration brings one")
        return self._current
