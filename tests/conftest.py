"""Fixtures that the whole suite shares."""

from __future__ import annotations

import gc
import gzip
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests import databases
from tests.lengths import EXAMPLES, LONG
from tests.servers import shared
from tests.servers.ngircd import Ngircd
from tests.servers.openai_server import OpenAIServer
from tests.servers.synapse import Synapse

HERE = Path(__file__).parent

# What collecting makes stays: looking through it again and again took a third of that time, and a tenth of the rest.
gc.disable()

# Nothing that tests reach is signed by an authority of the system: each process that speaks HTTP would read all of them
# first, which takes 50 ms.
os.environ["SSL_CERT_FILE"] = str(HERE / "servers" / "no_authority.pem")

# Programs that a shell runs in its background ignore Ctrl+C, and so would every command that a test presses it for.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more of the machine than of the program. CI judges a change, so it looks at the same
# examples each time; everybody else looks for new ones.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=EXAMPLES)
settings.register_profile("ci", settings.get_profile("untimed"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "untimed")

if not LONG:
    # In a new checkout each worker would parse every module of ours, five seconds long, for the few examples with one
    # of its numbers or words.
    providers._get_local_constants = lambda: providers._local_constants

STARTED_ONCE = re.compile(
    r"/(matrix|irc|email|litellm|engines|postgresql)/|[\[-](matrix|irc|email)[\]-]|^tests/test_(?:imports|project)\.py"
)
"""Tests of a server or a library that takes seconds to start, or of our whole tree, which takes seconds to read: one
worker runs all of a name, so that it starts once."""

LONG_FOLDERS = ("faults", "web", "e2e", "security_review")
"""Folders whose tests start whole hubs and browsers."""


class FilesAndServers(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """Gives a worker a whole file at a time, or all tests of a server; see `STARTED_ONCE`."""

    def _split_scope(self, nodeid: str) -> str:
        found = STARTED_ONCE.search(nodeid)
        return str(found[1] or found[2] or "project" if found else super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesAndServers | None:
    """Share out the tests as said above where whole files would be."""
    return FilesAndServers(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests run on either database."""
    told = "the database of the hubs that are tested"
    parser.addoption("--database", choices=("sqlite", "postgresql"), default="sqlite", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Start the other database, and let each worker begin to collect at another place.

    Who reads a file first compiles it for all of them.
    """
    if config.getvalue("database") == "postgresql":
        databases.start(config)
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != ["tests"]:
        return
    parts = sorted(path for path in HERE.iterdir() if path.is_dir() or path.match("test_*.py"))
    sizes = [sum(file.stat().st_size for file in (path, *path.rglob("test_*.py"))) for path in parts]
    begin = sum(sizes) * (int(worker["workerid"].removeprefix("gw")) % worker["workercount"]) / worker["workercount"]
    first = next(number for number in range(len(parts)) if sum(sizes[: number + 1]) > begin)
    config.args = [str(path) for path in (*parts[first:], *parts[:first])]


def _say_what_utf_8_encodes() -> None:
    """Write it where Hypothesis looks for it: in a new checkout each worker would try every character."""
    file = charmap.charmap_file("codec-v2-utf-8")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(json.dumps([[[0, 0xD7FF], [0xE000, 0x10FFFF]], []]).encode()))


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let a worker report only what is counted: of each test that passes one event is sent instead of five."""
    if not hasattr(session.config, "workerinput"):
        _say_what_utf_8_encodes()
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor" and not session.config.getvalue("durations"):
            plugin.sendevent = partial(_said, plugin.sendevent)


def _said(send: Callable[..., None], name: str, **event: Any) -> None:
    report = event.get("data") if name == "testreport" else None
    if name in ("logstart", "logfinish") or (report and report["outcome"] == "passed" and report["when"] != "call"):
        return
    if report:
        report["keywords"] = {}
    send(name, **event)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin with the usual umask: a command that a test ran in this process may have restricted it, as a hub does."""
    os.umask(0o022)
    if databases.ADDRESS in os.environ and item.get_closest_marker("sqlite_only"):
        pytest.skip("tries what is SQLite's alone")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take long first: at the end, no worker then waits for what another has just begun."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    long = tuple(f"{HERE}/{folder}/" for folder in LONG_FOLDERS)
    items.sort(key=lambda item: (item.path not in slow, not (path := str(item.path)).startswith(long), path))


def pytest_collection_finish() -> None:
    """Let the collector work again, without what has been collected."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(autouse=True, scope="module")
def _what_earlier_tests_left_is_not_searched() -> None:
    """Keep the collector off what libraries and earlier tests left: looked through again and again, it cost minutes."""
    gc.freeze()


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server of this test's own (see `tests/servers/openai_script.py`)."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def synapse() -> Synapse:
    """A Matrix homeserver for all tests of this process; it takes five seconds to start."""
    return shared.synapse()


@pytest.fixture
def ngircd() -> Ngircd:
    """An IRC server for all tests of this process."""
    return shared.ngircd()


def pytest_unconfigure() -> None:
    """Stop the servers that tests shared."""
    shared.stop()
