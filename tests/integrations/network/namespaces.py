"""Two network namespaces with a cable between them; only root makes them."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

CLONE_NEWNET = 0x40000000
HUBS, OTHERS = "10.79.0.1", "10.79.0.2"


class Cable:
    """Two namespaces: `first` has the address `HUBS`, `second` has `OTHERS`."""

    def __init__(self) -> None:
        self.first, self.second = f"hm{os.getpid()}a", f"hm{os.getpid()}b"

    def lay(self) -> None:
        """Make them.

        Raises:
            OSError, subprocess.CalledProcessError: This machine does not allow it.
        """
        ends = (self.first, HUBS), (self.second, OTHERS)
        for name, _ in ends:
            _ip("netns", "add", name)
        _ip("link", "add", "cable", "netns", self.first, "type", "veth", "peer", "name", "cable", "netns", self.second)
        for name, address in ends:
            _ip("-n", name, "address", "add", f"{address}/24", "broadcast", "+", "dev", "cable")
            for link in ("lo", "cable"):
                _ip("-n", name, "link", "set", link, "up")

    def remove(self) -> None:
        """Remove what there is of them."""
        for name in (self.first, self.second):
            subprocess.run(("ip", "netns", "delete", name), capture_output=True, check=False)


@contextmanager
def running_in(namespace: str, work: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> Iterator[Future[T]]:
    """Run a coroutine on a loop of its own in a namespace; it is handed an event that says when to end."""
    done: Future[T] = Future()
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def main() -> T:
        end = asyncio.Event()
        ready.set_result((asyncio.get_running_loop(), end))
        return await work(end)

    def run() -> None:
        descriptor = os.open(Path("/run/netns") / namespace, os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            done.set_result(asyncio.run(main()))
        except BaseException as error:  # the test's thread raises it
            done.set_exception(error)
        finally:
            os.close(descriptor)

    thread = Thread(target=run)
    thread.start()
    loop, end = ready.result(30)
    try:
        yield done
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(30)
    done.result(0)


def _ip(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=True, capture_output=True)
