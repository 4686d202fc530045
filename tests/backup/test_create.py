"""Making backups: what is in them and what is not, who may read them, and what a full disk or a kill leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.backup.archive import open_archive, verify_archive
from hub.backup.create import create_backup
from hub.backup.job import CreateOptions
from hub.core.errors import HubError
from hub.storage.errors import DiskFull
from tests.backup.homes import NOW_MS, back_up, made_home, rows, write
from tests.lengths import rounds

ROOT = Path(__file__).parents[2]


def contents(path: Path) -> dict[str, bytes]:
    with open_archive(path) as archive:
        return {member.path: b"".join(pieces) for member, pieces in archive.files()}


def test_it_holds_the_home_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")

    path, made = back_up(home)

    found = contents(path)
    assert found["secrets.yaml"] == b"key: very-secret\n"
    assert found["workspace/empty.txt"] == b""
    assert found[".storage/agents/main/sessions/one.jsonl"] == b'{"id": 1}\n{"id": 2}\n'
    assert not any(name.startswith((".storage/memory", ".storage/hub.lock", "backups")) for name in found)
    assert {(each.path, each.why.value) for each in made.left_out} == {
        (".storage/memory", "rebuilt"),
        ("workspace/outside", "link"),
    }


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    os.umask(0)
    try:
        path, _ = back_up(made_home(tmp_path / "home"))
    finally:
        os.umask(0o077)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_two_of_one_second_are_kept_apart(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")

    first, second = back_up(home)[0], back_up(home)[0]

    assert first != second
    assert verify_archive(first).head == verify_archive(second).head


def test_a_link_in_the_home_itself_is_followed(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lights.yaml").write_text("[]")
    os.symlink(elsewhere, home.path / "packages")
    os.symlink(tmp_path, home.path / "around")

    path, _ = back_up(home)

    found = contents(path)
    assert found["packages/lights.yaml"] == b"[]"
    assert not any(name.startswith("around") for name in found)


def test_other_databases_are_copied_between_two_commits(tmp_path: Path) -> None:
    import sqlite3

    home = made_home(tmp_path / "home")
    path = home.storage / "integrations" / "matrix" / "keys.db"
    path.parent.mkdir(parents=True)
    live = sqlite3.connect(path, isolation_level=None)
    live.execute("PRAGMA journal_mode = WAL")
    live.execute("CREATE TABLE keys(key TEXT)")
    live.execute("INSERT INTO keys VALUES('kept')")
    live.execute("BEGIN")
    live.execute("INSERT INTO keys VALUES('not yet')")

    found = contents(back_up(home)[0])

    copy = tmp_path / "copy.db"
    copy.write_bytes(found[".storage/integrations/matrix/keys.db"])
    assert sqlite3.connect(copy).execute("SELECT key FROM keys").fetchall() == [("kept",)]
    assert ".storage/integrations/matrix/keys.db-wal" not in found


def test_a_home_without_its_history_is_smaller(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    write(home, ".storage/history.db", "not looked at")

    found = contents(back_up(home, history=False)[0])

    assert ".storage/history.db" not in found


def test_a_damaged_hub_database_is_not_backed_up_in_silence(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    page = home.hub_db.read_bytes()
    home.hub_db.write_bytes(page[:8192] + b"\xff" * 4096 + page[12288:])

    with pytest.raises(HubError, match=r"hub\.db"):
        back_up(home)

    assert list((home.path / "backups").iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB; only where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_told_and_left_as_it_was(tmp_path: Path, small_disk: Path) -> None:
    home = made_home(tmp_path / "home")
    (home.workspace / "large").write_bytes(os.urandom(3_000_000))

    with pytest.raises(DiskFull, match="no room left"):
        create_backup(home, CreateOptions(str(small_disk), "Elm Street", "0.2.0", NOW_MS))

    assert list(small_disk.iterdir()) == []
    assert not (home.storage / "backup").exists()


KILLED = """
import os, signal, sys
from tests.backup.homes import back_up
from hub.storage.homedir import Home

left = int(sys.argv[2])
def count(event, arguments):
    global left
    if event in ("open", "os.rename", "os.mkdir", "os.remove", "sqlite3.connect"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

home = Home(sys.argv[1])
sys.addaudithook(count)
back_up(home)
"""


@pytest.mark.parametrize("steps", range(0, rounds(60, 60), rounds(1, 5)))
def test_a_kill_in_the_middle_leaves_no_half_backup(tmp_path: Path, steps: int) -> None:
    home = made_home(tmp_path / "home")
    before = rows(home, "SELECT id, state FROM outbox")

    subprocess.run([sys.executable, "-c", KILLED, str(home), str(steps)], cwd=ROOT, timeout=60, check=False)

    for each in (home.path / "backups").glob("homarus-*"):
        verify_archive(each)
    path, _ = back_up(home)
    verify_archive(path)
    assert [each.name for each in path.parent.iterdir() if not each.name.startswith("homarus-")] == []
    assert rows(home, "SELECT id, state FROM outbox") == before


def test_rows_that_are_in_another_database_are_named_and_an_old_file_of_them_is_not_in_it(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")

    path, made = back_up(home, rows_elsewhere=True)

    with open_archive(path) as archive:
        head = archive.head
    assert not any(name.startswith(".storage/hub.db") for name in contents(path))
    assert (".storage/hub.db", "elsewhere") in {(each.path, each.why.value) for each in made.left_out}
    assert (head.schemas, set(head.counts)) == ({}, {"workspace"})
