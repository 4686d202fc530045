"""Runs of a process that is killed with SIGKILL, taken up by the next."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError
from tests.databases import rows_of
from tests.e2e.talk import until
from tests.servers.forked import ForkedProcess, run

HOUR_S = 3_600.0


class Process:
    """Runs steps over one database and one file of notes."""

    def __init__(self, place: Path, steps: list[Any]) -> None:
        self.database = place / "hub.db"
        self.file = place / "notes"
        self.steps = steps

    def command(self, later_s: float = 0.0) -> tuple[str, ...]:
        arguments = (str(self.database), str(self.file), json.dumps(self.steps), str(later_s))
        return ("tests.automation.run_process", *arguments)

    def kill_when(self, *, noted: list[str], state: str) -> None:
        """Start it and kill it once it has written these notes and its position says `state`."""
        with ForkedProcess(*self.command()) as process:
            until(lambda: self.notes == noted and state in self.position)
            process.kill()

    @property
    def notes(self) -> list[str]:
        return self.file.read_text().split() if self.file.exists() else []

    @property
    def position(self) -> str:
        try:
            return "".join(text for (text,) in rows_of(self.database, "SELECT state FROM automation_runs"))
        except (sqlite3.OperationalError, HubError):
            return ""


def note(n: int, **more: Any) -> dict[str, Any]:
    return {"action": "test.note", "data": {"n": n, **more}}


@pytest.mark.parametrize(
    "waiting",
    [
        {"delay": HOUR_S},
        {"wait_for_trigger": {"trigger": "at", "at": "1h"}},
        {"wait_template": "{{ false }}", "timeout": HOUR_S},
        {"repeat": {"count": 1, "sequence": [{"parallel": [[{"delay": HOUR_S}], [{"delay": 1_800}]]}]}},
    ],
)
def test_killed_while_it_waits_it_goes_on_once(tmp_path: Path, waiting: dict[str, Any]) -> None:
    process = Process(tmp_path, [note(1), waiting, note(2)])
    process.kill_when(noted=["1"], state='"deadline"')

    told = run(*process.command(later_s=2 * HOUR_S)).stdout

    assert told == "finished None\n"
    assert process.notes == ["1", "2"]
    assert process.position == ""


def test_killed_in_the_middle_of_an_action_it_does_not_do_it_again(tmp_path: Path) -> None:
    process = Process(tmp_path, [note(1), note(2, hang=True), note(3)])
    process.kill_when(noted=["1", "2"], state='"action/1"')

    told = run(*process.command()).stdout

    assert told.startswith("interrupted action/1: the hub stopped while the service test.note was called")
    assert process.notes == ["1", "2"]
