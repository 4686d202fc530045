"""What a hub keeps and leaves behind: databases, the lock, a hub that does not answer."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hub.core.repairs import Severity
from hub.doctor.running import LOCK, RUNNING
from hub.storage.database import Database
from hub.storage.doctor import DATABASES
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from tests.doctor.conftest import See
from tests.doctor.looking import found
from tests.servers.ports import free_port


async def made(path: Path) -> None:
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    await database.close()


async def test_a_whole_database_is_no_finding(home: Home, see: See) -> None:
    await made(home.hub_db)

    assert found(DATABASES, see) == []


async def test_a_damaged_database_is_critical(home: Home, see: See) -> None:
    await made(home.hub_db)
    data = bytearray(home.hub_db.read_bytes())
    data[4096:8192] = os.urandom(4096)
    home.hub_db.write_bytes(data)

    (finding,) = found(DATABASES, see)

    assert finding.severity is Severity.CRITICAL
    assert home.hub_db.read_bytes() == bytes(data)


@pytest.mark.parametrize("content", [b"", b"not a database at all, but some text of somebody"])
def test_what_is_no_database_is_critical(home: Home, see: See, content: bytes) -> None:
    home.hub_db.write_bytes(content)

    (finding,) = found(DATABASES, see)

    assert finding.severity is Severity.CRITICAL


async def test_a_newer_schema_is_named_with_both_versions(home: Home, see: See) -> None:
    await made(home.hub_db)
    with sqlite3.connect(home.hub_db) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    connection.close()

    (finding,) = found(DATABASES, see)

    assert "99" in finding.what
    assert finding.command == ""


def test_a_damaged_history_is_only_a_warning(home: Home, see: See) -> None:
    home.history_db.write_bytes(b"not a database at all, but some text of somebody")

    (finding,) = found(DATABASES, see)

    assert finding.severity is Severity.WARNING


def test_a_damaged_copy_that_was_set_aside_is_told(home: Home, see: See) -> None:
    (home.storage / "hub.db.damaged-20260101T000000").touch()

    (finding,) = found(DATABASES, see)

    assert "set aside" in finding.what


WRITES_AND_DIES = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("INSERT INTO meta(key, value) VALUES('left', 'in the log')")
os._exit(0)
"""


def test_what_a_killed_hub_left_is_read_from_a_copy(home: Home, see: See) -> None:
    asyncio.run(made(home.hub_db))
    subprocess.run([sys.executable, "-c", WRITES_AND_DIES, str(home.hub_db)], check=True, timeout=60)
    before = {path.name: path.read_bytes() for path in home.storage.iterdir() if path.is_file()}

    findings = found(DATABASES, see)

    assert "hub.db-wal" in before
    assert findings == []
    assert {path.name: path.read_bytes() for path in home.storage.iterdir() if path.is_file()} == before


HOLDS = """
import sys, time
from hub.storage.instance_lock import InstanceLock
lock = InstanceLock(sys.argv[1])
lock.acquire()
if len(sys.argv) > 2:
    lock.update("127.0.0.1", int(sys.argv[2]))
print("held", flush=True)
time.sleep(600)
"""


def test_a_hub_that_was_killed_is_told_and_nothing_is_lost(home: Home, see: See) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(home.path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while_it_runs = found(LOCK, see)
        process.kill()

    (finding,) = found(LOCK, see)

    assert while_it_runs == []
    assert str(process.pid) in finding.what
    assert finding.severity is Severity.WARNING


def test_a_lock_of_nobody_is_told(home: Home, see: See) -> None:
    home.lock.write_text("nonsense", encoding="utf-8")

    (finding,) = found(LOCK, see)

    assert "not written by a hub" in finding.what


def test_a_hub_that_does_not_answer_is_critical(home: Home, see: See) -> None:
    port = str(free_port())
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(home.path), port], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()

        (finding,) = found(RUNNING, see)

        process.kill()

    assert finding.severity is Severity.CRITICAL
    assert port in finding.where


def test_without_a_hub_there_is_nothing_to_say_of_one(see: See) -> None:
    assert found(RUNNING, see) == []
    assert found(LOCK, see) == []
