"""The hub as a service of a machine that systemd runs: a crash and a cut of the power, and it is there again."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import LONG
from tests.servers.systemd import SystemdMachine
from tests.until import until

LIMIT_S = 120.0
HOME = ("--config", "/srv/homarus")

pytestmark = [
    pytest.mark.skipif(not LONG, reason="takes a long run"),
    pytest.mark.skipif(bool(SystemdMachine.lacks()), reason=SystemdMachine.lacks()),
    pytest.mark.timeout(600),
]


@pytest.fixture
async def machine() -> AsyncIterator[SystemdMachine]:
    folder = Path(tempfile.mkdtemp(prefix="homarus-", dir="/dev/shm"))
    machine = SystemdMachine(folder)
    machine.start()
    await until(lambda: machine.is_up)
    yield machine
    machine.stop()
    shutil.rmtree(folder)


def status(machine: SystemdMachine) -> dict[str, Any]:
    return dict(json.loads(machine.homarus("service", "status", "--json", *HOME).stdout or "{}"))


async def answers(machine: SystemdMachine, text: str) -> str:
    ran = await until(lambda: (ran := machine.homarus("chat", text, *HOME)).returncode == 0 and ran, LIMIT_S)
    return ran.stdout if ran else ""


async def test_a_hub_that_is_installed_survives_a_crash_and_a_reboot(machine: SystemdMachine) -> None:
    installed = machine.homarus("service", "install", *HOME)
    assert installed.returncode == 0, installed.stderr
    assert "I'll remember" in await answers(machine, "remember that the key is under the pot")
    first = status(machine)["manager"]["MainPID"]

    machine.run("kill", "-9", first)
    await until(lambda: status(machine)["manager"]["MainPID"] not in (first, "0"), LIMIT_S)
    assert "under the pot" in await answers(machine, "where is the key?")

    machine.stop()
    machine.start()
    assert "under the pot" in await answers(machine, "where is the key?")

    assert "runs on /srv/homarus" in machine.homarus("service", "logs", *HOME).stdout
    assert machine.homarus("service", "stop", *HOME).returncode == 0
    assert machine.homarus("service", "status", *HOME).returncode == 1
    assert machine.homarus("service", "uninstall", *HOME).returncode == 0
    assert "is not installed" in machine.homarus("service", "status", *HOME).stderr
