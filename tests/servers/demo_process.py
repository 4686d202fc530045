"""A hub with the demo home, in a process of its own: what `homarus demo` starts."""

from __future__ import annotations

import time
from pathlib import Path

from tests.servers.hub_process import HubProcess

LIVES_LIMIT_S = 240.0
"""How long its past may take on a slow machine."""


class DemoProcess(HubProcess):
    """Starts the demo, and is there when its past has been lived.

    Args:
        home: Where it is made; a folder that is not there yet.
        language: Of the home.
    """

    def __init__(self, home: Path, language: str = "en", environment: dict[str, str] | None = None) -> None:
        super().__init__(home, environment)
        self._language = language

    def start(self, *, wait: bool = True) -> float:
        begun = time.perf_counter()
        with self.log.open("wb") as log:
            self._process = self._run(
                "demo", "--json", "--keep", str(self.home), "--language", self._language, output=log
            )
        while wait and not self._has_told():
            assert self._process.poll() is None, self.log.read_text()[-4_000:]
            assert time.perf_counter() - begun < LIVES_LIMIT_S, self.log.read_text()[-4_000:]
            time.sleep(0.05)
        return time.perf_counter() - begun

    def _has_told(self) -> bool:
        """Whether it has said where it is, which it does when its past is over."""
        return '"code":' in self.log.read_text() and self._find_port()
