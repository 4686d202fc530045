"""The node's own command line, and that it is the same without the hub."""

from __future__ import annotations

import json
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from node.backends.macos import MacBackend
from node.cli import RunOptions, main, run_node, settled
from node.doctor import examine
from node.home import NodeHome, NodeProblem, NodeSettings
from node.service import ServiceProblem, control_service, node_service
from tests.node_program.test_connection import setup_code

CHECKOUT = Path(__file__).parents[2]
WITHOUT_THE_HUB = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"hub", "web", "integrations", "node", "click", "msgspec", "orjson", "voluptuous"}:
            raise ImportError(f"{name} is not there")
sys.meta_path.insert(0, Nothing())
from homarus_node.cli import main
main(["status", "--json"])
"""


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as done:
        main(arguments)
    return done.value.code, *capsys.readouterr()


def test_it_runs_without_the_packages_of_the_hub(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "node", tmp_path / "homarus_node", ignore=shutil.ignore_patterns("__pycache__"))

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_HUB],
        env={"PYTHONPATH": str(tmp_path), "HOMARUS_NODE_CONFIG": str(tmp_path / "home"), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["paired"] is False
    assert "system.run" in json.loads(done.stdout)["commands"]


def test_without_a_hub_it_asks_which(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = ran(capsys, "run", "--config", str(tmp_path))

    assert code == 3
    assert "--pair CODE" in err


def test_a_token_is_never_shown_to_another_hub(tmp_path: Path) -> None:
    home = NodeHome(tmp_path)
    home.keep(NodeSettings(url="wss://mine:1", device_token="secret"))

    # The certificate cannot be read, so that nothing is connected to.
    with pytest.raises(NodeProblem, match="--ca"):
        run_node(home, RunOptions(pair=setup_code(url="wss://127.0.0.1:1", bootstrapToken="t"), ca="/nowhere"), print)

    assert home.settings().url == "wss://127.0.0.1:1"
    assert home.settings().device_token == ""


def test_a_pin_is_kept_for_its_hub_and_for_no_other(tmp_path: Path) -> None:
    home = NodeHome(tmp_path)
    home.keep(NodeSettings(url="wss://mine:1", fingerprint="ab" * 32))

    same, _ = settled(home, RunOptions())
    other, _ = settled(home, RunOptions(url="wss://other:1"))
    given, _ = settled(home, RunOptions(url="wss://other:1", fingerprint=":".join(["CD"] * 32)))

    assert (same.fingerprint, other.fingerprint, given.fingerprint) == ("ab" * 32, "", "cd" * 32)
    for url, pin in (("ws://127.0.0.1:1", "ab" * 32), ("wss://mine:1", "ab")):
        with pytest.raises(NodeProblem, match="--fingerprint"):
            settled(home, RunOptions(url=url, fingerprint=pin))


def test_systemd_starts_it_again_unless_a_person_must_act(tmp_path: Path) -> None:
    service = node_service("linux", tmp_path / 'a "b" $c 100%' / "node")

    assert 'a \\"b\\" $$c 100%%"' in service.text
    assert "RestartPreventExitStatus=3" in service.text
    assert service.file.name == "homarus-node.service"
    assert service.install[0] == ("systemctl", "--user", "daemon-reload")


def test_launchd_and_termux_start_it_with_the_machine(tmp_path: Path) -> None:
    agent = node_service("macos", tmp_path / "node")
    boot = node_service("android", tmp_path / "node")

    assert plistlib.loads(agent.text.encode())["ProgramArguments"][-3:] == ["run", "--config", str(tmp_path)]
    assert "termux-wake-lock" in boot.text
    assert (boot.mode, boot.file.parent.name) == (0o700, "boot")


def test_install_needs_a_paired_node_and_can_be_looked_at_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shown = ran(capsys, "service", "install", "--print", "--json", "--config", str(tmp_path))
    refused = ran(capsys, "service", "install", "--config", str(tmp_path))

    assert json.loads(shown[1])["installed"] is False
    assert (refused[0], "pair this node first" in refused[2]) == (3, True)


SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$0.calls"
[ "$2" != show ] || printf 'ActiveState=active\nSubState=running\nMainPID=42\nNRestarts=1\n'
[ "$2" != restart ]
"""


def test_the_installed_service_is_controlled_through_its_manager(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = tmp_path / "systemctl"
    manager.write_text(SYSTEMCTL)
    manager.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    here = ("--config", str(tmp_path / "node"))
    missing = ran(capsys, "service", "start", *here)
    unit = tmp_path / "systemd/user/homarus-node.service"
    unit.parent.mkdir(parents=True)
    unit.touch()

    started, status = ran(capsys, "service", "start", *here), ran(capsys, "service", "status", *here)
    refused, gone = ran(capsys, "service", "restart", *here), ran(capsys, "service", "uninstall", *here)

    assert (missing[0], "homarus-node service install" in missing[2]) == (3, True)
    assert started[0] == status[0] == gone[0] == 0
    assert "active (running), process 42, started again 1 times" in status[1]
    assert (refused[0], "restart homarus-node.service failed" in refused[2]) == (3, True)
    assert not unit.exists()
    calls = (tmp_path / "systemctl.calls").read_text().splitlines()
    assert [call.split()[1] for call in calls] == ["start", "show", "restart", "disable"]
    assert all(call.startswith("--user ") for call in calls)


def test_what_termux_starts_nothing_else_controls(tmp_path: Path) -> None:
    with pytest.raises(ServiceProblem, match="starts with the phone"):
        control_service(node_service("android", tmp_path), "stop")


def test_the_doctor_names_what_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    home = NodeHome(tmp_path)
    home.keep(NodeSettings(url="ws://127.0.0.1:1", name="Laptop"))
    home.write(home.approvals_file, {"defaults": {"security": "none"}})
    home.key_file.write_text("{}")

    found = {each.about: each for each in examine(home, MacBackend())}
    code, out, _ = ran(capsys, "doctor", "--config", str(tmp_path))

    assert "chmod 600" in found["key"].text
    assert "expected deny, allowlist, full" in found["rules"].text
    assert "does not answer" in found["hub"].text
    assert found["camera.snap"].text == "needs imagesnap: brew install imagesnap"
    assert found["system.run"].ok
    assert code == 1
    assert "ok  system.run: works" in out
