"""Pages that are made with the first visit to one of them, and their modules read only then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from aiohttp import web

from hub.core.first_use import FirstUse
from hub.core.surfaces import HttpCall, HttpHandler
from web.core.live import Frame, State

T = TypeVar("T")


class LazyPages(FirstUse[T]):
    """Stands for pages until one of them is visited; see `FirstUse` for `load`."""

    def __init__(self, load: Callable[[], Callable[[], T]]) -> None:
        super().__init__("this page", load)

    def handler(self, pick: Callable[[T], HttpHandler]) -> HttpHandler:
        """Return a handler that hands on to one of the pages'."""

        async def handle(call: HttpCall) -> web.StreamResponse:
            return await pick(await self.get())(call)

        return handle

    def state(self, pick: Callable[[T], State]) -> State:
        """Return a live topic's state that is one of the pages'."""

        async def state(topic: str, language: str) -> Sequence[Frame]:
            return await pick(await self.get())(topic, language)

        return state
