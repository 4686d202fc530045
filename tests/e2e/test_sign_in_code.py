"""The code that signs in is printed to a terminal, and to nothing that keeps it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.person import Person
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess

CONFIGURATION = "people: [{id: me, owner: true}]\nhttp: {port: 0}\n"
CODE = re.compile(r"/login#|type the code")


def test_a_start_without_a_terminal_prints_no_code(tmp_path: Path) -> None:
    with HubProcess(make_home(tmp_path / "home", CONFIGURATION)) as hub:
        link = hub.rpc("dashboard.link")
        log = hub.log.read_text()

    assert "Dashboard: http" in log
    assert not CODE.search(log)
    assert link["code"] not in log


def test_a_start_at_a_terminal_prints_it(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", CONFIGURATION)
    person = Person("start", "--config", str(home), "--port", "0")

    person.wait_for("/login#")
    person.press(b"\x03")

    assert person.leave() == 0
