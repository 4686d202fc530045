"""A terminal, and a home to use it on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.config.seed import seed
from hub.storage.homedir import Home
from tests.cli.terminal import Terminal
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with the starter configuration, and no hub."""
    path = tmp_path / "home"
    Home(path).create()
    path.chmod(0o700)
    seed(path, zone="Europe/Berlin")
    return path


@pytest.fixture
def type_(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal whose `HOMARUS_CONFIG` is the home."""
    monkeypatch.setenv("HOMARUS_CONFIG", str(home))
    return Terminal(capsys, home)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that runs, for all tests of a file."""
    with HubProcess(tmp_path_factory.mktemp("hub") / "home") as process:
        yield process


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServerProcess]:
    """A server of models, for the hub of a file."""
    with OpenAIServerProcess() as server:
        yield server


@pytest.fixture
def ask(hub: HubProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on the machine of the hub that runs."""
    monkeypatch.setenv("HOMARUS_CONFIG", str(hub.home))
    return Terminal(capsys, hub.home)
