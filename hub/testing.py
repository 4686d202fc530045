"""A real hub for the tests of an integration: in this process, on a temporary home.

    def test_it_works() -> None:
        with running_hub(Path(__file__).parents[1], {"kiosk": {}}) as hub:
            assert hub.call("integration.list")

It has the channels, models and sections that the test gives it, and answers with the offline model unless the test
names another.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import secrets
import socket
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from hub.bootstrap import StartOptions, run_one
from hub.cli.app import run
from hub.cli.client import HubClient
from hub.cli.run_hub import HOME_VARIABLE
from hub.hub import Hub
from hub.integration.catalog import find
from hub.integration.importing import forget
from hub.security.hub_token import hub_token
from hub.storage.homedir import Home
from hub.storage.instance_lock import InstanceLock

START_LIMIT_S = 30.0
WAIT_LIMIT_S = 20.0
LOOK_AGAIN_S = 0.02
OFFLINE = {"models": {"default": "offline/homarus"}}

Found = TypeVar("Found")
Stop = Callable[[], object]


class RunningHub:
    """The owner's view of a hub that runs.

    Args:
        home: Its home directory.
        url: The address of its web server.
    """

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.url = url

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Call a gateway method and return its payload.

        Raises:
            CallFailed: The hub answered with an error.
        """
        return HubClient(self.home).call(method, params)

    def service(self, name: str, data: Mapping[str, Any] | None = None) -> Any:
        """Call a service, such as `light.turn_on`, and return its response."""
        return self.call("service.call", {"service": name, "data": dict(data or {})})["response"]

    def homarus(self, *words: str) -> str:
        """Run a `homarus` command on its home, and return its output; errors too."""
        printed = io.StringIO()
        before = os.environ.get(HOME_VARIABLE)
        os.environ[HOME_VARIABLE] = str(self.home)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                run(list(words))
        finally:
            os.environ.pop(HOME_VARIABLE)
            if before is not None:
                os.environ[HOME_VARIABLE] = before
        return printed.getvalue()

    def get(self, path: str, language: str = "en") -> str:
        """Get a page or another route of its web server, and return the body."""
        headers = {"Authorization": f"Bearer {hub_token(self.home).reveal()}", "Accept-Language": language}
        request = urllib.request.Request(f"{self.url}{path}", headers={**headers, "Accept": "text/html"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=WAIT_LIMIT_S) as response:  # noqa: S310
            return str(response.read().decode())

    def runs(self, automation: str) -> list[dict[str, Any]]:
        """Return the ended runs of an automation, newest first, once there is one."""

        def ended() -> list[dict[str, Any]]:
            traces = self.call("automation.trace", {"id": automation})["traces"]
            return [each for each in traces if each["finished"]]

        return until(ended)


@contextlib.contextmanager
def running_hub(integration: Path, configuration: Mapping[str, Any]) -> Iterator[RunningHub]:
    """Run a hub that has an integration, until the block ends.

    Args:
        integration: Its folder.
        configuration: The sections of `configuration.yaml`.
    """
    with tempfile.TemporaryDirectory(prefix="homarus-", ignore_cleanup_errors=True) as folder:
        home = Home(folder)
        home.create()
        home.custom_integrations.mkdir()
        (home.custom_integrations / integration.name).symlink_to(integration.resolve(), target_is_directory=True)
        home.configuration.write_text(json.dumps({**OFFLINE, **configuration}), encoding="utf-8")  # JSON is YAML
        ready: Future[tuple[str, Stop]] = Future()
        thread = Thread(target=_live, args=(home, ready), name="hub", daemon=True)
        thread.start()
        url, stop = ready.result(START_LIMIT_S)
        try:
            yield RunningHub(home.path, url)
        finally:
            stop()
            thread.join()
            forget(find(home)[integration.name])


def until(look: Callable[[], Found]) -> Found:
    """Poll until a value is found, and return it.

    Raises:
        AssertionError: There is nothing for 20 seconds.
    """
    deadline = time.monotonic() + WAIT_LIMIT_S
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"still {found!r} after {WAIT_LIMIT_S:g} s")
        time.sleep(LOOK_AGAIN_S)
    return found


def free_port() -> int:
    """Return a free port, below the range that the system assigns."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _live(home: Home, ready: Future[tuple[str, Stop]]) -> None:
    """Run a hub; `ready` gets its address and what stops it, or why it cannot start."""

    async def live() -> None:
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()

        def is_ready(told: Mapping[str, Any]) -> None:
            ready.set_result((told["address"], lambda: loop.call_soon_threadsafe(stopping.set)))

        options = StartOptions(home.path, port=0, on_ready=is_ready)
        await run_one(Hub(home, port=0), lock, stopping, options, stopping.set, lambda _: stopping.set())

    lock = InstanceLock(home)
    try:
        lock.acquire()
        asyncio.run(live())
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)
    finally:
        lock.release()
