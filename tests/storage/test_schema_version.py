"""Numbered migrations: in order, each whole or not at all, with a copy kept of what they change."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.errors import MigrationFailed, NewerSchema
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.schema_version import Migration

TABLES = {
    "api_runs",
    "approvals",
    "automation_authority",
    "automation_makers",
    "automation_runs",
    "automation_state",
    "budget_spending",
    "channel_cursors",
    "transcript",
    "transcripts",
    "documents",
    "devices",
    "exec_log",
    "node_work",
    "nodes",
    "group_history",
    "device_requests",
    "idempotency",
    "inbox",
    "login_codes",
    "memory_flushes",
    "meta",
    "model_cooldowns",
    "outbox",
    "pairings",
    "satellite_timers",
    "runs",
    "service_results",
    "sessions",
    "standing_intents",
    "subagents",
    "system_events",
    "tokens",
    "web_sessions",
}


def make_notes(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE notes(text TEXT)")


def add_colour(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE notes ADD COLUMN colour TEXT DEFAULT 'yellow'")


def fail_halfway(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE notes ADD COLUMN size INTEGER")
    connection.execute("INSERT INTO nowhere VALUES(1)")


def end_transaction(connection: sqlite3.Connection) -> None:
    connection.executescript("CREATE TABLE more(x); CREATE TABLE even_more(x);")


async def columns(path: Path, migrations: tuple[Migration, ...]) -> list[str]:
    database = Database(path, migrations)
    await database.open()
    found = await database.read(lambda c: [str(row[1]) for row in c.execute("PRAGMA table_info(notes)")])
    await database.close()
    return found


async def test_the_hub_database_has_its_tables(tmp_path: Path) -> None:
    database = Database(tmp_path / "hub.db", HUB_MIGRATIONS)
    await database.open()

    found = await database.read(
        lambda c: {row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    )
    await database.close()

    assert found == TABLES


async def test_a_message_is_stored_once(tmp_path: Path) -> None:
    database = Database(tmp_path / "hub.db", HUB_MIGRATIONS)
    await database.open()

    def receive(connection: SqlConnection) -> int:
        return connection.execute(
            "INSERT OR IGNORE INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state) "
            "VALUES(hex(randomblob(8)), 'telegram', 'default', '42', '1', '77', 0, 'received')"
        ).rowcount

    first, second = await database.write(receive), await database.write(receive)
    await database.close()

    assert (first, second) == (1, 0)


async def test_an_older_database_is_brought_to_the_newest_schema(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    assert await columns(path, (make_notes,)) == ["text"]

    assert await columns(path, (make_notes, add_colour)) == ["text", "colour"]

    assert (tmp_path / "notes.db.version-1").exists()


async def test_a_migration_that_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    await columns(path, (make_notes, add_colour))
    broken = Database(path, (make_notes, add_colour, fail_halfway))

    with pytest.raises(MigrationFailed, match=r"migration 3 of .*notes\.db failed .*nowhere.* still has version 2"):
        await broken.open()
    await broken.close()

    assert await columns(path, (make_notes, add_colour)) == ["text", "colour"]


async def test_a_migration_that_ends_its_transaction_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    await columns(path, (make_notes,))
    broken = Database(path, (make_notes, end_transaction))

    with pytest.raises(MigrationFailed, match="must not end its transaction"):
        await broken.open()
    await broken.close()


async def test_an_older_program_refuses_a_newer_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    await columns(path, (make_notes, add_colour))
    older = Database(path, (make_notes,))

    with pytest.raises(NewerSchema, match=r"notes\.db has schema version 2, .* knows 1 at most"):
        await older.open()
    await older.close()

    assert await columns(path, (make_notes, add_colour)) == ["text", "colour"]


async def test_a_flipped_version_in_the_header_is_not_taken_for_a_newer_program(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    await columns(path, (make_notes, add_colour))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 16777218")
    connection.close()

    assert await columns(path, (make_notes, add_colour)) == ["text", "colour"]


async def test_a_database_of_before_positions_keeps_its_rows_their_order_and_who_wrote(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    insert = "INSERT INTO inbox(id, channel, account, peer, message_id, received_ms, state, principal) VALUES"
    old = Database(path, HUB_MIGRATIONS[:5])
    await old.open()
    rows = [("z", "z", '{"owner": true, "person": "ada"}'), ("a", "a", '{"person": "bob"}'), ("m", "m", "{damaged")]
    await old.write(
        lambda connection: (
            connection.executemany(f"{insert} (?, 'telegram', 'default', '1', ?, 0, 'queued', ?)", rows).rowcount
        )
    )
    await old.close()

    new = Database(path, HUB_MIGRATIONS)
    await new.open()
    found = await new.read(
        lambda connection: connection.execute("SELECT id, person, owner FROM inbox ORDER BY position").fetchall()
    )
    indexes = await new.read(
        lambda connection: connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall()
    )
    again = await new.write(
        lambda connection: (
            connection.execute(
                "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state)"
                " VALUES ('n', 'telegram', 'default', 'default', '1', 'a', 0, 'queued')"
                " ON CONFLICT(channel, account_id, peer, message_id) DO NOTHING"
            ).rowcount
        )
    )
    await new.close()

    assert found == [("z", "ada", 1), ("a", "bob", 0), ("m", None, 0)]
    assert {"inbox_open", "inbox_run", "runs_open", "outbox_open", "approvals_age", "system_events_waiting"} <= {
        name for (name,) in indexes
    }
    assert again == 0


async def test_what_was_kept_under_the_id_of_an_account_gets_its_name(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    at = '{"address":{"channel":"telegram","peer":"7","account":"%s","account_id":"%s"}}'
    heard = [
        ("a", "4242", at % ("default", "4242")),
        ("b", "4242", "{}"),
        ("c", "4343", at % ("work", "4343")),
        ("d", "site", "{damaged"),
        ("e", "work", at % ("other", "work")),  # its id is the name of another account
        ("f", "4343", at % ("work", "4343")),
    ]
    waits = [("1", "4242", "queued"), ("2", "4343", "queued"), ("3", "default", "sent"), ("4", "5555", "queued")]
    waits += [("5", "work", "queued")]
    old = Database(path, HUB_MIGRATIONS[:8])
    await old.open()

    def before(connection: SqlConnection) -> None:
        connection.executemany(
            "INSERT INTO inbox(id, channel, account, peer, message_id, received_ms, state, message)"
            " VALUES (?1, 'telegram', ?2, '7', ?1, 0, 'done', ?3)",
            heard,
        )
        connection.executemany(
            "INSERT INTO outbox(id, channel, account, peer, state, created_ms) VALUES (?, 'telegram', ?, '7', ?, 0)",
            waits,
        )
        connection.execute(
            "INSERT INTO subagents VALUES (1, 's', 'r', 'k', 'k', 'main', 'main', 'l', 1, '{}', ?, 'keep', 0, 0,"
            " 'done', 0, '{}', 0, 0, 0, NULL, NULL, 't', '')",
            (at % ("4343", "null"),),
        )

    await old.write(before)
    await old.close()

    new = Database(path, HUB_MIGRATIONS)
    await new.open()
    sql = "SELECT id, account FROM outbox ORDER BY id", "SELECT account, account_id FROM inbox ORDER BY id"
    sent = await new.read(lambda connection: connection.execute(sql[0]).fetchall())
    received = await new.read(lambda connection: connection.execute(sql[1]).fetchall())
    ((place,),) = await new.read(lambda connection: connection.execute("SELECT place FROM subagents").fetchall())
    await new.close()

    known = [("default", "4242"), ("default", "4242"), ("work", "4343"), ("site", "site")]
    assert received == [*known, ("other", "work"), ("work", "4343")]
    assert sent == [("1", "default"), ("2", "work"), ("3", "default"), ("4", "5555"), ("5", "work")]
    assert '"account":"work"' in place
