"""`homarus doctor --security` as people type it, with a hub and without one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.servers.forked import run
from tests.servers.hub_process import HubProcess

LIMIT_S = 120.0
LOOSE = """\
hub: {update: {advisories: null}}
http: {host: 0.0.0.0}
exec: {mode: full, trust_output: true}   # quicker
memory: {embeddings: {provider: none}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "configuration.yaml").write_text(LOOSE, encoding="utf-8")
    (folder / "configuration.yaml").chmod(0o600)
    return folder


def doctor(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run("hub", "doctor", *arguments, "--config", str(home), timeout_s=LIMIT_S)


def found(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return {each["check"]: each for each in json.loads(done.stdout)["findings"]}


def test_without_a_hub_the_files_are_looked_at(home: Path) -> None:
    done = doctor(home, "--security")

    assert done.returncode == 1
    assert "critical: The agent main runs every command without asking, and believes what commands print" in done.stdout
    assert "at    configuration.yaml:3  exec.mode" in done.stdout
    assert "open  Dashboard and API (0.0.0.0:18789): everybody on the network, with a token" in done.stdout
    assert "No hub runs here" in done.stdout


def test_it_mends_what_is_named_and_tells_the_way_back(home: Path) -> None:
    done = doctor(home, "--security", "--fix", "--only", "commands.full")

    assert "mended: The agent main runs every command without asking" in done.stdout
    assert done.returncode == 0
    text = (home / "configuration.yaml").read_text(encoding="utf-8")
    assert text == LOOSE.replace("mode: full", "mode: ask")
    (line,) = [line for line in done.stdout.splitlines() if "as it was before" in line]
    version = line.partition("--restore ")[2].split()[0]
    back = run("hub", "config", "history", "--restore", version, "--config", str(home), timeout_s=LIMIT_S)
    assert back.returncode == 0, back.stderr
    assert (home / "configuration.yaml").read_text(encoding="utf-8") == LOOSE


def test_notes_alone_are_no_reason_to_fail(home: Path) -> None:
    (home / "configuration.yaml").write_text("discovery: {mdns: full}\n", encoding="utf-8")

    done = doctor(home, "--security", "--json")

    assert found(done)["discovery.full"]["severity"] == "note"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (("--deep",), "--deep and --only belong to --security", 2),
        (("--only", "commands.full"), "--deep and --only belong to --security", 2),
        (("--security", "--deep"), "none runs here", 2),
        (("--security", "--only", "commands.ful"), "There is no check commands.ful", 2),
    ],
)
def test_what_cannot_be_meant_is_refused(home: Path, arguments: tuple[str, ...], told: str, code: int) -> None:
    done = doctor(home, *arguments)

    assert told in done.stderr
    assert done.returncode == code


def test_a_configuration_that_cannot_be_read_is_said(home: Path) -> None:
    (home / "configuration.yaml").write_text("http: {port: x}\n", encoding="utf-8")

    done = doctor(home, "--security")

    assert "The configuration is not valid" in done.stderr
    assert done.returncode == 3


def test_a_running_hub_says_where_it_listens_and_its_ports_are_tried(home: Path) -> None:
    with HubProcess(home) as hub:
        report = json.loads(doctor(home, "--security", "--deep", "--json").stdout)
        mended = doctor(home, "--security", "--fix", "--json")
        mode = hub.rpc("config.get")["parsed"]["exec"]["mode"]

    assert report["live"] is True
    assert f"Dashboard and API (0.0.0.0:{hub.port})" in {each["what"] for each in report["reach"]}
    tried = {each["check"]: each["what"] for each in report["findings"] if each["check"].startswith("tried.")}
    assert tried.keys() == {"tried.plain"}
    assert f":{hub.port} unencrypted" in tried["tried.plain"]
    assert mode == "ask"
    assert "commands.full" not in found(mended)
    assert json.loads(mended.stdout)["mended"]["fixed"]
