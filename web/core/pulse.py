"""A counter of changes, sent to open pages, which then reload themselves with their viewer's rights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from web.core.live import Frame


class PagePulse:
    """Counts the changes of what some pages show; `pulse.js` and the attribute `data-revision` do the rest.

    Args:
        topic: The live topic.
        tell: Called with the topic after each change, to send its state.
    """

    def __init__(self, topic: str, tell: Callable[[str], None]) -> None:
        self.topic = topic
        self._tell = tell
        self.revision = 0

    def beat(self) -> None:
        """Count a change."""
        self.revision += 1
        self._tell(self.topic)

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame of the live topic; it holds nothing of the pages' content."""
        return ({"t": "pulse", "revision": self.revision},)
