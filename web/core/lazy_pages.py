"""Pages that are made with the first visit to one of them, and their modules read only then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from aiohttp import web

from hub.core.surfaces import HttpCall, HttpHandler
from web.core.live import Frame, State

T = TypeVar("T")


class LazyPages(Generic[T]):
    """Stands for pages until they are wanted: most homes run for weeks without a visit to most pages.

    Args:
        load: Reads the modules, in a thread, and returns what makes the pages, on the loop.
    """

    def __init__(self, load: Callable[[], Callable[[], T]]) -> None:
        self._load = load
        self._loading = asyncio.Lock()
        self.made: T | None = None

    async def get(self) -> T:
        """Return the pages; they are made once, however many ask, and cancelling one of them spoils nothing."""
        async with self._loading:
            if self.made is None:
                make = await asyncio.to_thread(self._load)
                self.made = make()
            return self.made

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
