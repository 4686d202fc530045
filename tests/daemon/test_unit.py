"""How a hub is described to the managers of services."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hub.daemon.unit import hub_agent, hub_service, owner_of, service_name
from node.service import MachineService

USUAL = Path("/home/me/.homarus")


@given(st.lists(st.text(min_size=1).filter(lambda name: "/" not in name and "\0" not in name), min_size=2, unique=True))
def test_each_home_has_a_name_of_its_own_that_a_unit_may_have(names: list[str]) -> None:
    found = [service_name(Path("/srv") / name, USUAL) for name in names]

    assert len({*found}) == len({Path("/srv") / name for name in names})
    assert all(name.isascii() and name.replace("-", "").isalnum() for name in found)
    assert service_name(USUAL, USUAL) == "homarus"


@pytest.mark.parametrize("user", [None, "homarus"])
@pytest.mark.parametrize("home", ["/srv/home", '/srv/my "home" at 50 %/$x'])
def test_systemd_takes_the_unit(tmp_path: Path, home: str, user: str | None) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    service = hub_service("homarus", Path(home), "root" if user else None)
    unit = tmp_path / "homarus.service"
    unit.write_text(service.text)

    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *([] if user else ["--user"]), str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )

    # Older ones than 254 do not know the pauses that grow, and overlook them.
    told = [line for line in verified.stderr.splitlines() if "Restart" not in line and "XDG_RUNTIME_DIR" not in line]
    assert [line for line in told if str(unit) in line or "homarus.service" in line] == []


def test_a_service_of_the_system_is_of_a_user_and_writes_into_its_home_alone() -> None:
    mine, systems = hub_service("homarus", USUAL, None), hub_service("homarus", USUAL, "homarus")

    assert "User=" not in mine.text
    assert "\nUser=homarus\n" in systems.text
    assert f'ReadWritePaths="{USUAL}" ' in systems.text
    assert {argv[1] for argv in mine.install if argv[0] == "systemctl"} == {"--user"}
    assert all("--user" not in argv for argv in systems.install)
    assert ("loginctl", "enable-linger") in mine.install


def test_launchd_starts_it_again_after_a_crash_and_not_after_a_stop() -> None:
    agent = plistlib.loads(hub_agent("homarus", USUAL).text.encode())

    assert agent["ProgramArguments"][-3:] == ["start", "--config", str(USUAL)]
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["RunAtLoad"] is True


@pytest.mark.parametrize(
    "service", [hub_service("a", USUAL, None), hub_service("a", USUAL, "me"), hub_agent("a", USUAL)]
)
def test_each_command_names_the_service(service: MachineService) -> None:
    for argv in (service.start, service.stop, service.restart, service.status):
        assert any("a" in word.split("/")[-1].split(".")[0] for word in argv)


def test_a_home_belongs_to_its_owner(tmp_path: Path) -> None:
    assert owner_of(tmp_path) == owner_of(tmp_path / "not there yet") == tmp_path.owner()
