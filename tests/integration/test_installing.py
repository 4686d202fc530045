"""The packages of an integration are installed while the hub runs, by a real program, and then it works."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.integration.installing import Installer
from hub.integration.manager import INSTALL_RETRY_S
from tests.integration.conftest import PLAIN, Kit
from tests.until import until

CONFIG = "radio: {}\n"
INSTALLS = """
print("installing " + sys.argv[1], flush=True)
pathlib.Path(sys.argv[1] + ".asked").touch()
while pathlib.Path("hold").exists():
    time.sleep(0.01)
if pathlib.Path("no network").exists():
    sys.exit("no server answers")
info = packages / "radio_waves-1.0.dist-info"
info.mkdir(parents=True)
(info / "METADATA").write_text("Metadata-Version: 2.1\\nName: radio-waves\\nVersion: 1.0\\n")
(packages / "radio_waves.py").write_text("HEARD = 7\\n")
"""


class Machine:
    """A machine without the packages, and a program that installs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "install.py"
        head = "import os, pathlib, sys, time\nos.chdir({!r})\npackages = pathlib.Path({!r})\n"
        self.program.write_text(head.format(str(folder), str(folder / "packages")) + INSTALLS)

    @property
    def installer(self) -> Installer:
        """The installer that starts the program."""
        return Installer([sys.executable, str(self.program)])

    def has(self, name: str) -> bool:
        """Return whether a file is there."""
        return (self.folder / name).exists()


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    monkeypatch.syspath_prepend(str(machine.folder / "packages"))
    yield machine
    sys.modules.pop("radio_waves", None)


@pytest.fixture
def radio(kit: Kit, machine: Machine) -> Kit:
    """A home with an integration whose package is not installed, one that depends on it, and one that uses it."""
    kit.installer = machine.installer
    kit.add("radio", "import radio_waves\n" + PLAIN, requirements=["radio-waves>=1"], extra="radio")
    kit.add("alarm", dependencies=["radio"])
    kit.add("clock", after_dependencies=["radio"])
    return kit


async def test_what_is_missing_is_installed_and_those_that_wait_follow(radio: Kit, machine: Machine) -> None:
    (machine.folder / "hold").touch()
    await radio.start(CONFIG + "alarm: {}\nclock: {}\n")
    assert radio.states() == {"radio": "installing", "alarm": "retrying", "clock": "set_up"}

    (machine.folder / "hold").unlink()
    await until(lambda: set(radio.states().values()) == {"set_up"})

    await until(lambda: radio.done("setup") == ["clock", "radio", "alarm", "clock"])
    assert "The packages it needs are being installed: installing radio" in [
        str(event.data["reason"]) for event in radio.events
    ]
    assert radio.repairs.all() == []


async def test_without_a_network_the_command_is_said_and_it_is_tried_again(radio: Kit, machine: Machine) -> None:
    (machine.folder / "no network").touch()
    await radio.start(CONFIG)
    await until(lambda: radio.states() == {"radio": "retrying"})

    (repair,) = radio.repairs.all()
    assert "no server answers" in radio.reason("radio")
    assert repair.command == "script/setup --add radio"

    (machine.folder / "no network").unlink()
    await radio.clock.advance(INSTALL_RETRY_S)
    await until(lambda: radio.states() == {"radio": "set_up"})
    assert radio.repairs.all() == []


@pytest.mark.parametrize(("mode", "label"), [("ask", "Install"), ("never", "Try again")])
async def test_it_is_asked_first_or_never_installed_where_the_owner_says_so(
    radio: Kit, machine: Machine, mode: str, label: str
) -> None:
    await radio.start(f"hub: {{install: {mode}}}\n" + CONFIG)

    (repair,) = radio.repairs.all()
    assert repair.fix is not None
    assert (radio.states(), str(repair.fix.label)) == ({"radio": "failed"}, label)
    assert not machine.has("radio.asked")

    await radio.manager.reload("radio", install=bool(repair.fix.params.get("install")))
    if mode == "ask":
        await until(lambda: radio.states() == {"radio": "set_up"})
    else:
        assert radio.states() == {"radio": "failed"}
        assert not machine.has("radio.asked")


async def test_an_installation_that_does_not_help_is_not_repeated(radio: Kit, machine: Machine) -> None:
    machine.program.write_text("print('done')\n")
    await radio.start(CONFIG)

    await until(lambda: radio.states() == {"radio": "failed"})

    assert "radio-waves>=1, which is not installed" in radio.reason("radio")


async def test_an_installation_ends_with_its_section(radio: Kit, machine: Machine) -> None:
    (machine.folder / "hold").touch()
    await radio.start(CONFIG)
    await until(lambda: machine.has("radio.asked"))

    await radio.manager.apply({"radio"}, radio.check("").config)
    (machine.folder / "hold").unlink()

    assert radio.states() == {}
    assert not machine.has("packages")


async def test_a_program_that_is_not_there_is_told(radio: Kit) -> None:
    radio.installer = Installer(["/nowhere/installer"])
    await radio.start(CONFIG)

    await until(lambda: radio.states() == {"radio": "retrying"})

    assert "the installer could not be started" in radio.reason("radio")
