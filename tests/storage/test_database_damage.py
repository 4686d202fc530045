"""Truncated, flipped and foreign files: set aside under a name that says so, their rows saved, never just emptied."""

# ruff: noqa: ASYNC240 - a test may block its own loop
from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from hub.core.errors import HubError
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.errors import NewerSchema
from hub.storage.inspection import inspect_database
from hub.storage.migrations import HUB_MIGRATIONS
from tests.lengths import examples

ROWS = 400


def insert_all(connection: SqlConnection) -> None:
    connection.executemany("INSERT INTO meta VALUES(?, ?)", [(f"key-{n:04}", f"value-{n}-" * 12) for n in range(ROWS)])


def keys(connection: SqlConnection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT key FROM meta NOT INDEXED WHERE key LIKE 'key-%'")}


async def make(path: Path) -> bytes:
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    await database.write(insert_all)
    await database.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    import asyncio

    return asyncio.run(make(tmp_path_factory.mktemp("sound") / "hub.db"))


async def reopen(path: Path) -> tuple[Database, set[str]]:
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    found = await database.read(keys)
    await database.close()
    return database, found


async def test_an_empty_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.touch()

    database, found = await reopen(path)

    assert database.damage is not None
    assert database.damage.set_aside.exists()
    assert found == set()


async def test_a_file_that_is_no_database_is_kept_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"these are my notes, not a database\n" * 500)

    database, _ = await reopen(path)

    assert database.damage is not None
    assert database.damage.set_aside.read_bytes().startswith(b"these are my notes")
    assert "hub.db.damaged-" in database.damage.text


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
async def test_of_a_truncated_file_what_can_be_read_is_saved(tmp_path: Path, sound: bytes, part: float) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(sound[: int(len(sound) * part)])

    database, found = await reopen(path)

    assert database.damage is not None
    assert database.damage.set_aside.stat().st_size == int(len(sound) * part)
    assert database.damaged_copies() == [database.damage.set_aside]
    assert await _is_sound(path)
    assert part < 0.9 or found


async def test_a_destroyed_page_costs_its_rows_alone(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "hub.db"
    place = sound.index(b"value-200-")
    page = place // 4096
    path.write_bytes(sound[: page * 4096] + b"\xff" * 4096 + sound[(page + 1) * 4096 :])

    database, found = await reopen(path)

    assert database.damage is not None
    assert "meta" in database.damage.incomplete
    assert ROWS * 0.8 < len(found) < ROWS
    assert await _is_sound(path)


@pytest.mark.parametrize("offset", range(100))
async def test_a_flipped_byte_in_the_header_loses_no_row(tmp_path: Path, sound: bytes, offset: int) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(sound[:offset] + bytes([sound[offset] ^ 0xFF]) + sound[offset + 1 :])

    database, found = await reopen(path)

    assert len(found) == ROWS
    assert await _is_sound(path)
    assert database.damage is None or database.damage.set_aside.exists()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 0.9999), flip=st.integers(1, 255), cut=st.none() | st.floats(0.05, 1))
@example(place=0.60546875, flip=128, cut=None)
async def test_a_flipped_byte_anywhere_leaves_a_database_that_opens(
    tmp_path_factory: pytest.TempPathFactory, sound: bytes, place: float, flip: int, cut: float | None
) -> None:
    path = tmp_path_factory.mktemp("flip") / "hub.db"
    data = bytearray(sound if cut is None else sound[: max(1, int(len(sound) * cut))])
    data[int(len(data) * place)] ^= flip
    path.write_bytes(data)

    database, _ = await reopen(path)

    assert await _is_sound(path)
    assert database.damage is None or database.damage.set_aside.read_bytes() == bytes(data)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 0.9999), flip=st.integers(0, 255), cut=st.floats(0, 1))
async def test_a_damaged_log_leaves_a_database_that_opens(
    tmp_path_factory: pytest.TempPathFactory, place: float, flip: int, cut: float
) -> None:
    folder = tmp_path_factory.mktemp("log")
    database = Database(folder / "hub.db", HUB_MIGRATIONS)
    await database.open()
    await database.write(insert_all)
    copy = tmp_path_factory.mktemp("copy") / "hub.db"
    copy.write_bytes((folder / "hub.db").read_bytes())
    log = bytearray((folder / "hub.db-wal").read_bytes())
    await database.close()
    log = log[: int(len(log) * cut)]
    if log:
        log[int(len(log) * place)] ^= flip
    Path(f"{copy}-wal").write_bytes(log)

    await reopen(copy)

    assert await _is_sound(copy)


async def test_a_log_without_its_database_is_not_replayed(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    await database.write(insert_all)
    log = Path(f"{path}-wal").read_bytes()
    await database.close()
    path.unlink()
    Path(f"{path}-wal").write_bytes(log)

    _, found = await reopen(path)

    assert found == set()
    assert [each.read_bytes() == log for each in tmp_path.glob("hub.db.damaged-*-wal")] == [True]


async def test_a_crash_between_the_two_renames_is_finished(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "hub.db"
    (tmp_path / "hub.db.damaged-20260101T000000").write_bytes(b"the damaged one")
    (tmp_path / "hub.db.saved").write_bytes(sound)

    _, found = await reopen(path)

    assert len(found) == ROWS
    assert not (tmp_path / "hub.db.saved").exists()


async def test_a_crash_before_the_damaged_file_was_moved_begins_again(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"\x00" * 100 + sound[100:])
    (tmp_path / "hub.db.saved").write_bytes(b"half written by a process that died")
    (tmp_path / "hub.db.saving").write_bytes(b"half written by a process that died")

    database, found = await reopen(path)

    assert database.damage is not None
    assert len(found) == ROWS
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["hub.db", database.damage.set_aside.name]


async def test_a_page_that_proves_damaged_while_open_is_told_and_mended_at_the_next_start(
    tmp_path: Path, sound: bytes
) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(sound)
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    told: list[str] = []
    database.on_damage(lambda: told.append("damaged"))
    page = sound.index(b"value-200-") // 4096
    with path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(b"\xff" * 4096)

    with pytest.raises(HubError, match=r"hub\.db is damaged"):
        await database.read(keys)
    await database.close()

    assert told == ["damaged"]
    assert database.suspect
    again, found = await reopen(path)
    assert again.damage is not None
    assert len(found) > ROWS * 0.8
    assert not (tmp_path / "hub.db.suspect").exists()


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path, known = tmp_path / "hub.db", len(HUB_MIGRATIONS)
    await make(path)
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA user_version = {known + 1}")
        newer.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(known + 1),))
    newer.close()
    before = path.read_bytes()
    database = Database(path, HUB_MIGRATIONS)

    with pytest.raises(NewerSchema, match=rf"hub\.db has schema version {known + 1}, .* knows {known} at most"):
        await database.open()
    await database.close()

    assert path.read_bytes() == before


async def _is_sound(path: Path) -> bool:
    database = Database(path, HUB_MIGRATIONS)
    await database.open()
    await database.close()
    return database.damage is None and inspect_database(path, HUB_MIGRATIONS, runs=False) == []
