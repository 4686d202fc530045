"""What somebody waits for goes before what can wait, and nothing runs beside it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from integrations.memory.notes.index.engine_thread import EngineThread, Urgency


@pytest.fixture
async def thread() -> AsyncIterator[EngineThread]:
    """One that is closed at the end."""
    made = EngineThread()
    yield made
    made.close(5.0)


async def test_a_search_goes_before_work_that_waits(thread: EngineThread) -> None:
    gate = threading.Event()
    order: list[str] = []
    first = asyncio.ensure_future(thread.run(gate.wait))
    work = [asyncio.ensure_future(thread.run(lambda n=n: order.append(f"work {n}"))) for n in range(3)]  # type: ignore[misc]
    await asyncio.sleep(0)
    search = asyncio.ensure_future(thread.run(lambda: order.append("search"), Urgency.SEARCH))
    await asyncio.sleep(0)

    gate.set()
    await asyncio.gather(first, search, *work)

    assert order == ["search", "work 0", "work 1", "work 2"]


async def test_what_a_call_raises_reaches_whoever_asked(thread: EngineThread) -> None:
    def fail() -> None:
        raise OSError(28, "full")

    with pytest.raises(OSError, match="full"):
        await thread.run(fail)
    assert await thread.run(lambda: 7) == 7


async def test_a_call_that_is_given_up_before_it_began_does_not_run(thread: EngineThread) -> None:
    gate = threading.Event()
    ran: list[str] = []
    first = asyncio.ensure_future(thread.run(gate.wait))
    second = asyncio.ensure_future(thread.run(lambda: ran.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])

    gate.set()
    await first
    await thread.run(lambda: None)

    assert ran == []


async def test_all_calls_run_in_one_thread(thread: EngineThread) -> None:
    names = await asyncio.gather(*(thread.run(threading.get_ident) for _ in range(10)))

    assert len(set(names)) == 1
    assert names[0] != threading.get_ident()


async def test_a_closed_thread_takes_nothing_more() -> None:
    thread = EngineThread()
    thread.close(5.0)

    with pytest.raises(RuntimeError, match="closed"):
        await thread.run(lambda: None)
