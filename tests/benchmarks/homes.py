"""Home directories for benchmarks: the starter configuration with a scripted model server as the only model."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.servers.forked import REPOSITORY
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

ANSWER = "All is well at home."


class BenchHub(HubProcess):
    """A hub that is started as people start it: one forked by the tests has imported everything before it begins."""

    def _run(self, *arguments: str, output: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "hub", *arguments]
        return subprocess.Popen(command, cwd=REPOSITORY, env=self._environment, stdout=output, stderr=output)


@contextmanager
def empty_home() -> Iterator[Path]:
    """A directory in which a hub may make its home."""
    with tempfile.TemporaryDirectory(prefix="homarus-bench-") as folder:
        yield Path(folder) / "home"


def write_configuration(home: Path, base_url: str, more: str = "") -> None:
    """Make a home that talks to the scripted server and to nobody else; `more` is added to its configuration."""
    home.mkdir(mode=0o700, parents=True)
    (home / "configuration.yaml").write_text(
        "hub:\n  name: Bench\n"
        "models:\n  default: bench/instant\n  providers:\n    bench:\n      api: openai\n"
        f"      base_url: {base_url}\n      api_key: bench-key-0123456789\n"
        "      models: [{id: instant, context_window: 200000}]\n"
        f"agents:\n  - {{id: main, default: true}}\n{more}"
    )


@contextmanager
def bench_hub(more: str = "") -> Iterator[tuple[HubProcess, OpenAIServerProcess]]:
    """A hub that runs, with a scripted server that answers at once."""
    with empty_home() as home, OpenAIServerProcess() as server:
        server.set_default({"text": ANSWER})
        write_configuration(home, server.base_url, more)
        with BenchHub(home) as hub:
            yield hub, server
