"""A reload of a hub that runs, one of 1 000 automations changed: how long it takes, how long others wait meanwhile."""

from __future__ import annotations

import http.client
import re
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.automations import LARGE, write_home
from tests.benchmarks.homes import BenchHub
from tests.benchmarks.table import Row, row

ITEMS = 1_000
RUNS = 20
ALL_RUNS = 3
HELD_RUNS = 5
PAUSE_S = 0.001


def measure() -> list[Row]:
    """Change one automation and call `automation.reload`; then change all; another client asks for health all along."""
    with TemporaryDirectory(prefix="homarus-bench-") as folder:
        home = Path(folder) / "home"
        file = write_home(home, LARGE, ITEMS)
        # The hub's own watch of its files would take the change before it is asked to.
        root = home / "configuration.yaml"
        root.write_text(root.read_text().replace("{name: Bench}", '{name: Bench, reload: "off"}'))
        text = file.read_text()
        with BenchHub(home) as hub:
            _reload(hub)
            idle = _Asking(hub)
            time.sleep(1)
            idle_ms = idle.stop()
            asking = _Asking(hub)
            one = [_changed(hub, file, _one(text, run)) for run in range(RUNS)]
            one_ms = asking.stop()
            asking = _Asking(hub)
            every = [_changed(hub, file, _every(text, run)) for run in range(ALL_RUNS)]
            every_ms = asking.stop()
    return [
        row("another request meanwhile: nothing is reloaded", "ms", idle_ms),
        row(f"reload, one of {ITEMS:,} automations changed", "ms", one, "< 50"),
        row("another request meanwhile, longest waits", "ms", sorted(one_ms)[-HELD_RUNS:], "< 50"),
        row(f"reload, all of {ITEMS:,} automations changed", "ms", every),
        row("another request meanwhile, longest waits", "ms", sorted(every_ms)[-HELD_RUNS:], "< 50"),
    ]


def _one(text: str, run: int) -> str:
    number = run * 37 % ITEMS
    return text.replace(f"message: Door {number} is open", f"message: Door {number} is open again ({run})")


def _every(text: str, run: int) -> str:
    return re.sub(r"is open$", f"stands open ({run})", text, flags=re.MULTILINE)


def _changed(hub: BenchHub, file: Path, text: str) -> float:
    file.write_text(text)
    return _reload(hub)


def _reload(hub: BenchHub) -> float:
    begun = time.perf_counter()
    hub.rpc("service.call", {"service": "automation.reload"})
    return (time.perf_counter() - begun) * 1000


class _Asking:
    """Another client, which asks for health without end and notes how long each answer takes, in milliseconds."""

    def __init__(self, hub: BenchHub) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=30)
        self._ending = threading.Event()
        self._taken: list[float] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> list[float]:
        """End it; return what each answer took."""
        self._ending.set()
        self._thread.join()
        self._connection.close()
        return self._taken

    def _run(self) -> None:
        while not self._ending.wait(PAUSE_S):
            begun = time.perf_counter()
            self._connection.request("GET", "/healthz")
            self._connection.getresponse().read()
            self._taken.append((time.perf_counter() - begun) * 1000)
