"""A real hub in a process of its own, on a free port and a home directory of the test's."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.servers.forked import ForkedProcess, run
from tests.servers.ports import free_port

START_LIMIT_S = 60.0
STOP_LIMIT_S = 30.0
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "VOYAGE_API_KEY")


class HubProcess:
    """Starts, kills and restarts a hub, and speaks HTTP to it.

    Args:
        home: Its home directory; made when it is not there.
        environment: Over the process's own, from which model keys are taken out.
    """

    start_limit_s = START_LIMIT_S

    def __init__(self, home: Path, environment: dict[str, str] | None = None) -> None:
        self.home = home
        self.log = home.parent / f"{home.name}.log"
        self.port = free_port()  # of the test's own, so that it is still there for the next start
        kept = {name: value for name, value in os.environ.items() if name not in _KEYS}
        self._environment = kept | {"HOMARUS_CONFIG": str(home)} | (environment or {})
        self._process: ForkedProcess | subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def token(self) -> str:
        """The hub token."""
        return (self.home / ".storage" / "hub_token").read_text().strip()

    def start(self, *, wait: bool = True) -> float:
        """Start it; return the seconds until it was ready."""
        begun = time.perf_counter()
        with self.log.open("ab") as log:
            self._process = self._run("start", "--config", str(self.home), "--port", str(self.port), output=log)
        if wait:
            self.wait_ready()
        return time.perf_counter() - begun

    def wait_ready(self) -> None:
        """Wait until `/readyz` answers 200."""
        begun = time.perf_counter()
        while time.perf_counter() - begun < self.start_limit_s:
            assert self._process is not None
            if self._process.poll() is not None:
                raise AssertionError(f"the hub ended with {self._process.returncode}:\n{self.log.read_text()[-4000:]}")
            if self._find_port() and self._ready():
                return
            time.sleep(0.005)
        raise AssertionError(f"the hub was not ready within {self.start_limit_s} s:\n{self.log.read_text()[-4000:]}")

    def stop(self) -> int:
        """Ask it to stop and return its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """End it as a power cut would."""
        return self._end(signal.SIGKILL)

    def ended(self) -> int:
        """Wait until it ends by itself and return its exit code."""
        assert self._process is not None
        return self._process.wait(STOP_LIMIT_S)

    def rpc(self, method: str, params: dict[str, Any] | None = None, *, timeout_s: float = 60.0) -> Any:
        """Call a gateway method with the hub token and return its payload."""
        status, answer = self.post("/api/rpc", {"method": method, "params": params or {}}, timeout_s=timeout_s)
        assert status == 200, answer
        assert answer.get("ok"), answer
        return answer["payload"]

    def post(
        self, path: str, body: Any, *, headers: dict[str, str] | None = None, timeout_s: float = 60.0
    ) -> tuple[int, Any]:
        """Post JSON with the hub token and return status and JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(headers or {})}
        try:
            connection.request("POST", path, json.dumps(body).encode(), sent)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            connection.close()

    def cli(self, *arguments: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a `homarus` command against it."""
        return run("hub", *arguments, environment=self._environment, timeout_s=timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    def _run(self, *arguments: str, output: IO[bytes]) -> ForkedProcess | subprocess.Popen[bytes]:
        return ForkedProcess("hub", *arguments, environment=self._environment, stdout=output, stderr=output)

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(how)
        return self._process.wait(STOP_LIMIT_S)

    def _find_port(self) -> bool:
        try:
            record = json.loads((self.home / ".storage" / "hub.lock").read_text())
        except (OSError, ValueError):
            return False
        if record.get("pid") != self.pid or not record.get("port"):
            return False
        self.port = int(record["port"])
        return True

    def _ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
