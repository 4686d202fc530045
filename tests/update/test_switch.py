"""A start that begins an update or ends one: which version is started, and databases that are put back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hub import __version__
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.versioned_file import VersionedFile
from hub.update.record import UpdateRecord, UpdateState, read_record, write_record
from hub.update.switch import note_failure, prepare_start

NEXT = (*HUB_MIGRATIONS, lambda connection: connection.execute("CREATE TABLE oven(heat INTEGER)"))
KNOWN = len(HUB_MIGRATIONS)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


async def opened(home: Home, migrations: tuple[object, ...]) -> None:
    db = Database(home.hub_db, migrations)  # type: ignore[arg-type]
    await db.open()
    await db.close()


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def back(home: Home) -> None:
    write_record(home.path, UpdateRecord("99.1", __version__, UpdateState.BACK, why="it was worse"))


async def test_a_database_that_was_migrated_is_put_back_and_settled(home: Home) -> None:
    await opened(home, HUB_MIGRATIONS)
    await opened(home, NEXT)
    assert version_of(home.hub_db) == KNOWN + 1
    back(home)

    assert prepare_start(home) is False

    assert version_of(home.hub_db) == KNOWN
    await opened(home, HUB_MIGRATIONS)
    with closing(sqlite3.connect(home.hub_db)) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'restored_ms'").fetchone() is not None
    assert prepare_start(home) is False  # once more does no harm


async def test_one_that_was_cut_off_goes_on(home: Home) -> None:
    await opened(home, HUB_MIGRATIONS)
    await opened(home, NEXT)
    copy = home.hub_db.with_name(f"hub.db.version-{KNOWN}")
    copy.rename(home.hub_db.with_name("hub.db.settled"))
    home.hub_db.with_name("hub.db-wal").write_bytes(b"of the newer one")
    back(home)

    prepare_start(home)

    assert version_of(home.hub_db) == KNOWN
    assert not home.hub_db.with_name("hub.db-wal").exists()


async def test_a_database_that_was_not_migrated_stays_as_it_is(home: Home) -> None:
    await opened(home, HUB_MIGRATIONS)
    home.hub_db.with_name(f"hub.db.version-{KNOWN}").write_bytes(b"of long ago")
    before = home.hub_db.read_bytes()
    back(home)

    prepare_start(home)

    assert home.hub_db.read_bytes() == before


def test_files_that_a_newer_version_upgraded_are_put_back(home: Home) -> None:
    path = home.storage / "tidy/verdicts.json"
    path.parent.mkdir()
    VersionedFile(path, 1).write({"kettle": "old"})
    newer = VersionedFile(path, 2, lambda version, data: {"kettle": [data["kettle"]]})
    newer.write(newer.read())
    back(home)

    prepare_start(home)

    assert VersionedFile(path, 1).read() == {"kettle": "old"}


def test_what_is_not_there_any_more_is_not_started(home: Home) -> None:
    write_record(home.path, UpdateRecord("99.1", __version__, UpdateState.READY))

    assert prepare_start(home) is False

    record = read_record(home.path)
    assert record is not None
    assert (record.state, record.why) == (UpdateState.BACK, "what was prepared is gone")


def test_a_home_without_an_update_starts_as_ever(home: Home) -> None:
    assert prepare_start(home) is False
    assert read_record(home.path) is None


def test_why_a_version_did_not_start_is_noted_for_that_version_alone(home: Home) -> None:
    write_record(home.path, UpdateRecord(__version__, "0.0.1", UpdateState.TRYING))
    note_failure(home, "no kettle")
    mine = read_record(home.path)
    write_record(home.path, UpdateRecord("99.1", __version__, UpdateState.TRYING))
    note_failure(home, "no kettle")
    other = read_record(home.path)

    assert mine is not None
    assert other is not None
    assert (mine.why, other.why) == ("no kettle", "")
