"""A thread for calls into a library that may never return."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_Work = tuple[Callable[[], Any], "Future[Any]"]


class BoundedThread:
    """Runs calls one at a time, each for a limited time; after one that did not return it is unusable.

    The thread keeps no process alive. A call that holds the interpreter's lock while it waits stops this whole process,
    limit or not: that is for whoever watches the process, as the hub does.

    Args:
        name: The name of the thread, by which one that is stuck is known again.
    """

    @staticmethod
    def is_left(name: str) -> bool:
        """Whether a thread of that name was left in this process, because it is stuck."""
        return any(thread.name == name for thread in threading.enumerate())

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self.is_stuck = False
        self._thread = threading.Thread(target=_run, args=(self._work,), name=name, daemon=True)
        self._thread.start()

    def call(self, work: Callable[[], T], limit_s: float) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises:
            TimeoutError: It does not return, or one before it did not.
        """
        if self.is_stuck:
            raise TimeoutError("an earlier call did not return")
        future: Future[T] = Future()
        self._work.put((work, future))
        try:
            error = future.exception(limit_s)
        except TimeoutError:
            self.is_stuck = True
            raise
        if error is not None:
            raise error
        return future.result()

    def close(self) -> None:
        """End the thread, unless it is stuck."""
        self._work.put(None)
        if not self.is_stuck:
            self._thread.join()


def _run(waiting: queue.SimpleQueue[_Work | None]) -> None:
    while (each := waiting.get()) is not None:
        work, future = each
        try:
            future.set_result(work())
        except BaseException as error:  # whatever it is, it belongs to whoever asked: a panic in Rust is no Exception
            future.set_exception(error)
        del each, work, future
