"""Restoring: the old home or the new one, never half of either, and nothing of it is done twice."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hub.backup.restore import preview, stage
from hub.backup.settle import waits_only_for_later
from hub.backup.swap import commit, finish, pending, replaced_home
from hub.core.errors import Conflict
from hub.storage.database import Database
from hub.storage.errors import DiskFull
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.schema_version import migrate
from tests.backup.homes import NOW_MS, PASSPHRASE, back_up, made_home, rows, tree, write
from tests.lengths import rounds

ROOT = Path(__file__).parents[2]
LATER_MS = NOW_MS + 86_400_000
STAYS = ("backups",)


def restored(home: Home, path: Path, passphrase: str = "") -> None:
    stage(home, path, passphrase, LATER_MS)
    commit(home, "20261130T000000", STAYS)
    finish(home)


@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
def test_an_empty_machine_gets_the_whole_home(tmp_path: Path, passphrase: str) -> None:
    home, fresh = made_home(tmp_path / "home"), Home(tmp_path / "fresh")
    path, _ = back_up(home, passphrase)
    expected = tree(home.path)

    fresh.create()
    restored(fresh, path, passphrase)

    del expected[".storage/memory/main/index.bin"]
    expected[".storage/agents/main/sessions/one.jsonl"] = b'{"id": 1}\n{"id": 2}\n'
    assert tree(fresh.path) == expected
    assert len(rows(fresh, "SELECT id FROM outbox")) == 5
    assert (fresh.path / "secrets.yaml").stat().st_mode & 0o777 == 0o600
    assert (fresh.workspace / "run.sh").stat().st_mode & 0o777 == 0o700


def test_the_present_home_is_kept_and_can_come_back(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    path, _ = back_up(home)
    write(home, "configuration.yaml", "hub: {name: Changed}\n")
    write(home, "later.yaml", "new\n")
    present = tree(home.path)

    restored(home, path)
    replaced = replaced_home(home)

    assert replaced is not None
    assert (home.path / "configuration.yaml").read_text() == "hub: {name: Elm Street}\n"
    assert not (home.path / "later.yaml").exists()
    assert path.exists()

    commit(home, "20261201T000000", STAYS, replaced.name)
    finish(home)

    assert tree(home.path) == present
    assert not replaced.exists()


def test_nothing_that_was_under_way_is_done_again(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    restored(home, back_up(home)[0])

    assert dict(rows(home, "SELECT id, state FROM outbox")) == {
        "out-0": "unknown",
        "out-1": "unknown",
        "out-2": "sent",
        "out-3": "unknown",
        "out-4": "dead",
    }
    assert rows(home, "SELECT count(*) FROM outbox WHERE state = 'unknown' AND error IS NULL") == [(0,)]
    assert rows(home, "SELECT id FROM inbox WHERE state IN ('received', 'queued', 'event')") == []
    assert dict(rows(home, "SELECT id, state FROM runs")) == {
        "run-0": "interrupted",
        "run-1": "interrupted",
        "run-2": "answered",
    }


def test_the_restored_database_knows_when(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    restored(home, back_up(home)[0])

    async def opened() -> int:
        database = Database(home.hub_db, HUB_MIGRATIONS)
        await database.open()
        await database.close()
        return database.restored_ms

    assert asyncio.run(opened()) == LATER_MS


@pytest.mark.parametrize(
    ("state", "goes_on"),
    [
        ({"states": {"0": {"deadline": 200.0}}}, True),
        ({"states": {"0": 3, "0/1": {"deadline": 200.0}}}, True),
        ({"states": {"0": {"deadline": 50.0}}}, False),
        ({"states": {"0": {"deadline": 50.0}, "1": {"deadline": 200.0}}}, False),
        ({"states": {"0": {"deadline": None}}}, False),
        ({"states": {"0": 3}}, False),
        ({}, False),
        ([], False),
    ],
)
def test_an_automation_goes_on_when_its_time_is_still_to_come(state: object, goes_on: bool) -> None:
    assert waits_only_for_later(json.dumps(state), 100.0) is goes_on


def test_an_older_schema_is_migrated(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    home.hub_db.unlink()
    connection = sqlite3.connect(home.hub_db, isolation_level=None)
    migrate(connection, HUB_MIGRATIONS[:10], home.hub_db)
    connection.close()
    path, _ = back_up(home)

    restored(home, path)

    assert rows(home, "SELECT value FROM meta WHERE key = 'schema_version'") == [(str(len(HUB_MIGRATIONS)),)]


def test_a_preview_changes_nothing(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    path, _ = back_up(home)
    before = tree(home.path)

    told = preview(home, path)

    assert told.head.home == "Elm Street"
    assert told.replaces["workspace"] >= 4
    assert tree(home.path) == before


def test_without_room_beside_the_present_home_nothing_is_begun(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    with (home.workspace / "sparse").open("wb") as file:
        file.truncate(200_000_000)
    path, _ = back_up(home)
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        small = Home(disk / "home")
        small.create()
        with pytest.raises(DiskFull, match="make room"):
            stage(small, path, "", LATER_MS)
        assert not (small.storage / "restore" / "new").exists()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_second_restore_waits_for_the_first(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    path, _ = back_up(home)
    stage(home, path, "", LATER_MS)
    commit(home, "20261130T000000", STAYS)

    with pytest.raises(Conflict):
        stage(home, path, "", LATER_MS)


KILLED = """
import os, signal, sys
from pathlib import Path
from hub.backup.restore import stage
from hub.backup.swap import commit, finish
from hub.storage.homedir import Home

left = int(sys.argv[3])
def count(event, arguments):
    global left
    if event in ("os.rename", "os.mkdir", "os.rmdir", "os.remove"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

home = Home(sys.argv[1])
sys.addaudithook(count)
stage(home, Path(sys.argv[2]), "", 1)
commit(home, "20261130T000000", ("backups",))
finish(home)
"""


@pytest.mark.parametrize("steps", range(0, rounds(60, 60), rounds(1, 4)))
def test_a_kill_at_any_step_leaves_the_old_home_or_the_new_one(tmp_path: Path, steps: int) -> None:
    home = made_home(tmp_path / "home")
    path, _ = back_up(home)
    write(home, "configuration.yaml", "hub: {name: Old}\n")
    write(home, "old.yaml", "old\n")
    old = tree(home.path)
    reference = Home(tmp_path / "reference")
    reference.create()
    restored(reference, path)
    new = tree(reference.path)

    subprocess.run([sys.executable, "-c", KILLED, str(home), str(path), str(steps)], cwd=ROOT, timeout=60, check=False)
    decided = pending(home)
    finish(home)

    found = {name: data for name, data in tree(home.path).items() if not name.startswith(".storage/restore/")}
    assert found in (old, new)
    if decided:
        assert found == new
    if found == new:
        replaced = replaced_home(home)
        assert replaced is not None
        assert tree(replaced) == old
        assert rows(home, "SELECT count(*) FROM outbox WHERE state = 'queued'") == [(0,)]
    assert not pending(home)


def test_a_kill_while_an_exchange_goes_on_again_does_no_harm(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    path, _ = back_up(home)
    stage(home, path, "", LATER_MS)
    commit(home, "20261130T000000", STAYS)
    os.rename(home.path / "configuration.yaml", tmp_path / "moved")
    (home.storage / "replaced-20261130T000000").mkdir()
    os.rename(tmp_path / "moved", home.storage / "replaced-20261130T000000" / "configuration.yaml")
    write(home, "configuration.yaml", "written meanwhile\n")

    finish(home)

    aside = home.storage / "replaced-20261130T000000"
    assert (home.path / "configuration.yaml").read_text() == "hub: {name: Elm Street}\n"
    assert (aside / "configuration.yaml").read_text() == "written meanwhile\n"
    assert (aside / "configuration.yaml.meanwhile-1").read_text() == "hub: {name: Elm Street}\n"
