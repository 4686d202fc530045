"""The number in the navigation: pending approvals and pairing requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hub.core.surfaces import ADMIN, HttpCall
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import Renderer


class WaitingCount:
    """Counts approvals and pairing requests, for administrators.

    Args:
        client: Calls the methods for pairing requests.
        approvals: Returns how many approvals wait.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, approvals: Callable[[], int]) -> None:
        self._renderer = renderer
        self._client = client
        self._approvals = approvals

    async def of(self, call: HttpCall) -> int | None:
        """Return the count; None for those who may not answer."""
        if call.caller is None or not call.caller.authority.has(ADMIN):
            return None
        return await self._count()

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frames that show the number in the side bar and in the bar of a phone."""
        waiting = await self._count()
        return [
            {"t": "html", "id": id, "html": self._renderer.fragment("waiting", language, waiting=waiting, id=id)}
            for id in ("waiting-count", "waiting-count-phone")
        ]

    async def _count(self) -> int:
        return self._approvals() + len((await self._client.read("pairing.list"))["requests"])
