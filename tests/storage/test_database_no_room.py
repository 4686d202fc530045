"""A full disk and a directory that cannot be written: clear errors, and nothing acknowledged is lost."""

# ruff: noqa: ASYNC221, ASYNC240 - a test may block its own loop
from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.errors import DiskFull, ReadOnlyStorage, StorageError
from hub.storage.files import write_atomic
from hub.storage.inspection import inspect_database
from hub.storage.migrations import HUB_MIGRATIONS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB; only where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def insert(connection: SqlConnection, key: str) -> None:
    connection.execute("INSERT INTO meta VALUES(?, ?)", (key, "x" * 3000))


def test_a_limit_on_the_size_of_files_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"

    command = [sys.executable, "-m", "tests.storage.tight_writer", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)

    told = json.loads(done.stdout)
    with sqlite3.connect(path) as stranger:
        kept = {row[0] for row in stranger.execute("SELECT key FROM meta")}
        findings = stranger.execute("PRAGMA integrity_check").fetchall()
    assert findings == [("ok",)]
    assert set(told["acknowledged"]) <= kept
    assert len(told["acknowledged"]) > 50
    assert told["failures"]
    assert all(failure["code"] in {"DISK_FULL", "STORAGE"} for failure in told["failures"])
    assert str(path) in told["failures"][0]["message"]


async def test_a_full_disk_loses_nothing_acknowledged(small_disk: Path) -> None:
    database = Database(small_disk / "hub.db", HUB_MIGRATIONS)
    await database.open()
    acknowledged: list[str] = []

    async def fill() -> None:
        for number in range(1000):
            await database.write(partial(insert, key=f"k{number}"))
            acknowledged.append(f"k{number}")

    with pytest.raises(DiskFull, match="no room left"):
        await fill()
    kept = await database.read(lambda c: {row[0] for row in c.execute("SELECT key FROM meta")})
    await database.close()

    assert len(acknowledged) > 50
    assert set(acknowledged) <= kept
    assert inspect_database(small_disk / "hub.db", HUB_MIGRATIONS, runs=False) == []


async def test_a_full_disk_keeps_the_old_contents_of_a_file(small_disk: Path) -> None:
    path = small_disk / "notes"
    write_atomic(path, b"old")

    with pytest.raises(DiskFull, match="notes"):
        write_atomic(path, b"x" * 3_000_000)

    assert path.read_bytes() == b"old"
    assert [each.name for each in small_disk.iterdir()] == ["notes"]


async def test_there_is_no_room_for_a_new_database(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * (2 * 1024 * 1024 - 8192))
    database = Database(small_disk / "hub.db", HUB_MIGRATIONS)

    with pytest.raises(DiskFull, match=r"hub\.db"):
        await database.open()
    await database.close()

    assert not (small_disk / "hub.db").exists()


async def test_a_file_system_that_is_read_only_is_told(small_disk: Path) -> None:
    await _make(small_disk / "hub.db")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    database = Database(small_disk / "hub.db", HUB_MIGRATIONS)

    with pytest.raises(ReadOnlyStorage, match=r"hub\.db"):
        await database.open()
    await database.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_directory_without_permission_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    database = Database(tmp_path / "hub.db", HUB_MIGRATIONS)

    with pytest.raises(ReadOnlyStorage, match=r"hub\.db"):
        await database.open()
    await database.close()


async def test_a_directory_that_does_not_exist_is_told(tmp_path: Path) -> None:
    database = Database(tmp_path / "nowhere" / "hub.db", HUB_MIGRATIONS)

    with pytest.raises(StorageError, match=r"nowhere/hub\.db"):
        await database.open()
    await database.close()


async def test_a_directory_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "hub.db").mkdir()
    database = Database(tmp_path / "hub.db", HUB_MIGRATIONS)

    with pytest.raises(StorageError, match=r"hub\.db"):
        await database.open()
    await database.close()

    assert (tmp_path / "hub.db").is_dir()


async def _make(path: Path) -> None:
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    await database.write(partial(insert, key="a"))
    await database.close()
