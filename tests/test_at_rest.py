"""What a hub with the starter configuration has loaded when it is ready: it stays in memory for as long as it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hub.cli.run_hub import plain_start

START = """
import contextlib, json, os, signal, sys, threading, time
from pathlib import Path
from hub.cli import main

sys.argv = ["homarus", "start", "--config", sys.argv[1], "--port", "0"]

def tell():
    port = None
    while not port:
        time.sleep(0.01)
        with contextlib.suppress(OSError, ValueError):
            port = json.loads(Path(sys.argv[3], ".storage", "hub.lock").read_text()).get("port")
    print(*sys.modules, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=tell, daemon=True).start()
main()
"""
OURS = {"hub", "integrations", "node", "web"}
OURS_LIMIT = 951
WAITING = {
    "aiohttp.client",
    "aiohttp.connector",
    "anyio._core",
    "click",
    "cryptography",
    "httpx",
    "jinja2",
    "multiprocessing",
    "pydantic",
    "ruamel.yaml.main",
    "telegram",
    "watchfiles.run",
    "zeroconf",
}


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    command = [sys.executable, "-c", START, str(tmp_path_factory.mktemp("rest") / "home")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    return set(ran.stdout.split())


def test_what_most_homes_never_use_is_not_loaded(at_rest: set[str]) -> None:
    assert "hub.hub" in at_rest
    assert at_rest & WAITING == set()


def test_there_are_no_more_modules_than_there_were(at_rest: set[str]) -> None:
    ours = [name for name in at_rest if name.partition(".")[0] in OURS]

    assert len(ours) <= OURS_LIMIT, "Import on first use what a home without it need not have."


@pytest.mark.parametrize(
    "arguments", [["--port", "x"], ["--port", "65536"], ["--config", ""], ["--config"], ["--json"], ["--host", "::"]]
)
def test_only_an_ordinary_start_goes_past_the_command_line(arguments: list[str]) -> None:
    assert plain_start(arguments) is None
    assert plain_start(["--config", "/srv/home", "--port", "8080"]) == (Path("/srv/home"), 8080)
