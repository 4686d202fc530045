"""A counter of memory changes, sent to open pages, which then reload their content."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from web.core.live import Frame

TOPIC = "memory"


class MemoryPulse:
    """Counts the changes of what is remembered, and of its index.

    Args:
        tell: Told after each, to send the live topic's state.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.revision = 0

    def beat(self) -> None:
        """Something changed."""
        self.revision += 1
        self._tell(TOPIC)

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame of the live topic; it holds nothing of what is remembered."""
        return ({"t": "memory", "revision": self.revision},)
