"""The number in the navigation: what needs a person on Home."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hub.core.surfaces import ADMIN, HttpCall
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import Renderer


class WaitingCount:
    """Counts approvals, pairing requests and repairs, for administrators.

    Args:
        client: Calls the methods for pairing requests.
        others: Returns how many approvals and repairs wait.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, others: Callable[[], int]) -> None:
        self._renderer = renderer
        self._client = client
        self._others = others

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
        return self._others() + len((await self._client.read("pairing.list"))["requests"])
