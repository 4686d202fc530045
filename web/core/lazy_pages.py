"""Pages that are made, and their modules imported, on the first visit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from aiohttp import web

from hub.core.first_use import FirstUse
from hub.core.surfaces import HttpCall, HttpHandler
from web.core.live import Frame, State

T = TypeVar("T")


class LazyPages(FirstUse[T]):
    """Stands in for pages until the first visit; see `FirstUse` for `load`."""

    def __init__(self, load: Callable[[], Callable[[], T]]) -> None:
        super().__init__("this page", load)

    def handler(self, pick: Callable[[T], HttpHandler]) -> HttpHandler:
        """Return a handler that delegates to a page's handler."""

        async def handle(call: HttpCall) -> web.StreamResponse:
            return await pick(await self.get())(call)

        return handle

    def state(self, pick: Callable[[T], State]) -> State:
        """Return a live topic's state that delegates to a page's."""

        async def state(topic: str, language: str) -> Sequence[Frame]:
            return await pick(await self.get())(topic, language)

        return state
