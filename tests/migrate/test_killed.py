"""Moves that are cut off by kill -9 at each step that they take on the disk: what comes after is whole, and once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from hub.migrate.journal import FOLDER
from hub.security.jail_path import TEMPORARY_PREFIX
from tests.lengths import rounds
from tests.migrate.homes import home_assistant, new_home
from tests.migrate.test_openclaw import openclaw
from tests.servers.forked import run

FOLDERS = {"home-assistant": home_assistant, "openclaw": openclaw}
KILLED = -9
STEPS = 120
"""More than any of these moves takes."""


class Mover:
    """A home, and the folder that is moved into it."""

    def __init__(self, home: Path, source: str, theirs: Path) -> None:
        self.home, self.source, self.theirs = home, source, theirs

    def does(self, command: str, steps: int = -1) -> int:
        """Carry the move out or take it back; return the exit code."""
        given = (str(self.home), self.source, str(self.theirs), command, str(steps))
        done = run("tests.migrate.move_process", *given)
        assert done.returncode in (0, KILLED), done.stderr
        return done.returncode

    @property
    def state(self) -> dict[str, Any]:
        """What a person has: files, rooms, conversations with what was said in them."""
        files = {
            str(each.relative_to(self.home)): each.read_bytes()
            for each in sorted(self.home.rglob("*"))
            if each.is_file() and ".storage" not in each.relative_to(self.home).parts
            if not each.name.startswith(TEMPORARY_PREFIX)  # what was being written when it died
        }
        said = sorted(
            [json.loads(line)["message"] for line in each.read_text().splitlines() if '"message"' in line]
            for each in self.home.glob(".storage/agents/*/sessions/*.jsonl")
        )
        registry = self.home / ".storage/home_registry.json"
        places = json.loads(registry.read_text())["data"] if registry.exists() else {}
        return {
            "files": files,
            "said": said,
            "sessions": self.sessions,
            "places": [places.get(each) or [] for each in ("labels", "floors", "areas")],
        }

    @property
    def sessions(self) -> list[str]:
        path = self.home / ".storage/hub.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(path)) as database:
            return [key for (key,) in database.execute("select key from sessions order by key")]

    @property
    def moves(self) -> list[str]:
        found = sorted((self.home / FOLDER).glob("*/journal.json"))
        return [json.loads(each.read_text())["state"] for each in found]


def mover(folder: Path, source: str) -> Mover:
    return Mover(new_home(folder / "home"), source, FOLDERS[source](folder / "theirs"))


@pytest.fixture(scope="module", params=sorted(FOLDERS))
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Any, Any]:
    """A home into which somebody has moved; its state before and after."""
    folder = tmp_path_factory.mktemp("whole")
    moved = mover(folder, request.param)
    before = moved.state
    moved.does("apply")
    return folder, request.param, before, moved.state


@pytest.mark.parametrize("steps", range(1, STEPS, rounds(1, 53)))
def test_a_move_cut_off_at_any_step_is_taken_back_and_done_again(
    whole: tuple[Path, str, Any, Any], steps: int, tmp_path: Path
) -> None:
    _, source, before, after = whole
    moved = mover(tmp_path, source)
    if moved.does("apply", steps) != KILLED:
        assert moved.state == after
        return
    if "begun" in moved.moves:
        moved.does("undo")
    assert moved.state == before

    moved.does("apply")

    assert moved.state == after
    assert [each.name for each in (moved.home / FOLDER).rglob("sessions")] == [], "nothing staged is left"


@pytest.mark.parametrize("steps", range(0, STEPS, rounds(1, 53)))
def test_an_undo_cut_off_at_any_step_is_ended_by_the_next(
    whole: tuple[Path, str, Any, Any], steps: int, tmp_path: Path
) -> None:
    folder, source, before, _ = whole
    copytree(folder, tmp_path / "copy")
    moved = Mover(tmp_path / "copy/home", source, tmp_path / "copy/theirs")
    moved.does("undo", steps)
    if "undone" not in moved.moves:
        moved.does("undo")

    assert moved.state == before
    assert moved.moves == ["undone"]
