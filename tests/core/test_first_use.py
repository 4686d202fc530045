"""What is made with its first use, such as a page with the first visit: when, how often, and by whom."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest

from hub.core.errors import HubError
from web.core.lazy_pages import LazyPages
from web.core.live import Frame


class Pages:
    """Pages with one live topic."""

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        return ({"t": topic, "language": language},)


class Loader:
    """Makes pages, and notes where it was asked to."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def __call__(self) -> Callable[[], Pages]:
        self.threads.append(threading.get_ident())
        return self.make

    def make(self) -> Pages:
        self.threads.append(threading.get_ident())
        return Pages()


async def test_pages_are_made_once_however_many_ask_at_a_time() -> None:
    loader = Loader()
    pages = LazyPages(loader)

    found = await asyncio.gather(pages.get(), pages.get(), pages.get())

    assert len({id(each) for each in found}) == 1
    assert len(loader.threads) == 2


async def test_modules_are_read_in_a_thread_and_pages_made_on_the_loop() -> None:
    loader = Loader()

    await LazyPages(loader).get()

    reading, making = loader.threads
    assert reading != threading.get_ident() == making


async def test_a_topic_makes_the_pages_when_somebody_watches_it() -> None:
    pages = LazyPages(Loader())
    state = pages.state(lambda each: each.state)
    before = pages.made

    frames = await state("scripts", "en")

    assert before is None
    assert frames == ({"t": "scripts", "language": "en"},)
    assert pages.made is not None


async def test_one_visitor_who_goes_away_spoils_nothing_for_the_next() -> None:
    pages = LazyPages(Loader())
    gone = asyncio.ensure_future(pages.get())
    await asyncio.sleep(0)
    gone.cancel()

    made = await pages.get()

    assert gone.cancelled()
    assert pages.made is made


async def test_pages_that_could_not_be_loaded_say_so_and_are_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    attempts = [OSError("the disk is away")]

    def load() -> Callable[[], Pages]:
        if attempts:
            raise attempts.pop()
        return Pages

    pages = LazyPages(load)
    with pytest.raises(HubError, match="this page cannot be loaded: OSError; the hub's log has more"):
        await pages.get()
    assert "the disk is away" in caplog.text

    assert isinstance(await pages.get(), Pages)
