"""A real Chroma server, and engines in fresh directories."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.memory.engine_contract import KeywordIndex, VectorIndex
from tests.integrations.memory.engines.kinds import KEYWORDS, VECTORS, open_keywords, vectors_in
from tests.servers.ports import free_port

START_LIMIT_S = 60.0


class ChromaServer:
    """A `chroma run` of our own."""

    def __init__(self, path: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._path = path
        self.start()

    def start(self) -> None:
        program = Path(sys.executable).with_name("chroma")
        self._process = subprocess.Popen(
            [program, "run", "--path", self._path, "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + START_LIMIT_S
        while not self._answers():
            assert self._process.poll() is None, "chroma run ended"
            assert time.monotonic() < until, "chroma run does not answer"
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def freeze(self) -> None:
        """Let it take connections and answer nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    yield server
    server.stop()


@pytest.fixture(params=KEYWORDS)
def keywords(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeywordIndex]:
    index = open_keywords(request.param, tmp_path)
    yield index
    index.close()


@pytest.fixture(params=VECTORS)
def vector_kind(request: pytest.FixtureRequest) -> tuple[str, str | None]:
    kind = str(request.param)
    return kind, request.getfixturevalue("chroma_server").url if kind == "server" else None


@pytest.fixture
def vectors(vector_kind: tuple[str, str | None], tmp_path: Path) -> Iterator[VectorIndex]:
    index = vectors_in(vector_kind[0], tmp_path, vector_kind[1])
    yield index
    index.close()
