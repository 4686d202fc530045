"""Separate thread pools for work that could fill the shared pool."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")


class Executor:
    """A few threads for one kind of work; started by the first call.

    Args:
        name: The name of the kind of work.
        threads: How many there are at most; further calls wait their turn.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work in one of the threads and return its result; like `asyncio.to_thread`."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=self.name)
        call = partial(contextvars.copy_context().run, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)


DOCUMENTS = Executor("documents", 4)
"""Writing the small files of a home: where they are rows, each waits for a server that is away."""
EGRESS = Executor("egress", 4)
"""Looking up names and reading pages: strangers decide how long that takes."""
FILES = Executor("files", 4)
"""Reading, writing and searching the files of a workspace, for tools."""
PASSWORDS = Executor("passwords", 2)
"""Checking passwords, each of which takes tens of milliseconds by design."""
