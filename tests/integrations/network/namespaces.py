"""Two network namespaces with a cable between them; only root makes them."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed
from tests.e2e.talk import until

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


@contextmanager
def hub_in(namespace: str, home: Path, method: str = "health") -> Iterator[None]:
    """Run a hub in a namespace, from when it answers a method."""
    command = (*enter(namespace), sys.executable, "-m", "hub", "start", "--config", str(home))
    with (home.parent / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            until(lambda: _answers(home, method))
            yield
        finally:
            process.terminate()


def enter(namespace: str) -> tuple[str, ...]:
    """Return what stands before a command that is to run in a namespace."""
    return ("ip", "netns", "exec", namespace)


def _answers(home: Path, method: str) -> bool:
    try:
        HubClient(home).call(method)
    except CommandFailed:
        return False
    return True


def _ip(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=True, capture_output=True)
