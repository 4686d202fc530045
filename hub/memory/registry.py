"""The registry of the memory provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from hub.core.errors import Conflict, Unavailable
from hub.memory.contract import Memory

Embed = Callable[[str, Sequence[str]], Awaitable[tuple[str, list[list[float]]]]]
"""Returns for an agent's id and texts the name of the model, and the vector that it makes of each."""


class MemoryRegistry:
    """Holds the hub's memory, which an integration provides."""

    def __init__(self) -> None:
        self.current: Memory | None = None
        """The memory, or None while no integration keeps one."""
        self.embed: Embed | None = None
        """Makes vectors as for the memory; None while nobody does."""

    def register(self, memory: Memory, embed: Embed | None = None) -> Callable[[], None]:
        """Set the hub's memory; `embed` makes its vectors.

        Returns:
            A function that removes it; calling it twice does no harm.

        Raises:
            Conflict: Another one is kept already.
        """
        if self.current is not None:
            raise Conflict("there is already a memory; only one integration can keep it")
        self.current, self.embed = memory, embed

        def remove() -> None:
            if self.current is memory:
                self.current = self.embed = None

        return remove

    def require(self) -> Memory:
        """Return the memory.

        Raises:
            Unavailable: No integration keeps one.
        """
        if self.current is None:
            raise Unavailable("no memory is set up; an integration brings one")
        return self.current
