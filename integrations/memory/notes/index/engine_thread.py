"""The thread for engines and catalogs: searches go before background work."""

from __future__ import annotations

import asyncio
import heapq
import threading
from collections.abc import Callable
from enum import IntEnum
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class Urgency(IntEnum):
    """The priority of a task."""

    SEARCH = 0
    WORK = 1


class EngineThread:
    """Runs blocking calls one at a time, the urgent ones first; within an urgency in order.

    The thread does not keep the process alive.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Urgency, int, Callable[[], None]]] = []
        self._order = count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="engines", daemon=True)
        self._thread.start()

    async def run(self, call: Callable[[], T], urgency: Urgency = Urgency.WORK) -> T:
        """Return what `call` returns, or raise what it raises.

        Cancelling gives up the wait; a call that has begun runs to its end, one that has not is dropped.

        Raises:
            RuntimeError: The thread was closed.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def work() -> None:
            if future.cancelled():
                return
            result: T | None = None
            failure: BaseException | None = None
            try:
                result = call()
            except Exception as error:  # whatever it is, it belongs to whoever asked
                failure = error
            try:
                loop.call_soon_threadsafe(settle, result, failure)
            except RuntimeError:
                return  # the loop has ended, and nobody waits any longer

        with self._changed:
            if self._closed:
                raise RuntimeError("the thread of the engines was closed")
            heapq.heappush(self._waiting, (urgency, next(self._order), work))
            self._changed.notify()
        return await future

    def close(self, timeout_s: float) -> None:
        """Run what is waiting and end; blocks for at most `timeout_s` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self._closed:
                        return
                    self._changed.wait()
                _, _, work = heapq.heappop(self._waiting)
            work()
