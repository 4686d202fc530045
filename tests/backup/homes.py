"""A home with something of everything, and archives made of it in the process of the test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hub.backup.create import CreatedBackup, create_backup
from hub.backup.job import CreateOptions
from hub.core.sql import SqlConnection
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS

NOW_MS = 1_796_000_000_000
PASSPHRASE = "seven lanterns over quiet water"


def made_home(folder: Path) -> Home:
    """A home with configuration, workspace, a transcript with a torn end, and messages that wait to be sent."""
    home = Home(folder)
    home.create()
    write(home, "configuration.yaml", "hub: {name: Elm Street}\n")
    write(home, "secrets.yaml", "key: very-secret\n")
    write(home, "workspace/MEMORY.md", "# Facts\n")
    write(home, f"workspace/notes/{'long ' * 30}ü.md", "a long name")
    write(home, "workspace/empty.txt", "")
    write(home, "workspace/run.sh", "#!/bin/sh\n").chmod(0o755)
    write(home, ".storage/hub_token", "the token").chmod(0o600)
    write(home, ".storage/agents/main/sessions/one.jsonl", '{"id": 1}\n{"id": 2}\n{"id": 3, "to')
    write(home, ".storage/memory/main/index.bin", "rebuilt")
    write(home, ".storage/hub.lock", "")
    os.symlink("/etc/passwd", home.workspace / "outside")
    asyncio.run(_fill(home))
    return home


def write(home: Home, path: str, text: str) -> Path:
    """Write a file of a home."""
    file = home.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


async def _fill(home: Home) -> None:
    database = Database(home.hub_db, HUB_MIGRATIONS)
    await database.open()
    await database.write(_rows)
    await database.close()


def _rows(connection: SqlConnection) -> None:
    for number, state in enumerate(("queued", "sending", "sent", "unknown", "dead")):
        connection.execute(
            "INSERT INTO outbox(id, channel, account, peer, text, state, created_ms) VALUES (?,?,?,?,?,?,?)",
            (f"out-{number}", "telegram", "default", "7", "hello", state, NOW_MS),
        )
    for number, state in enumerate(("received", "queued", "event", "done", "rejected")):
        connection.execute(
            "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state, run_id)"
            " VALUES (?,?,?,?,?,?,?,?,?)",
            (f"in-{number}", "telegram", "default", "99", "7", str(number), NOW_MS, state, f"run-{number}"),
        )
    for number, state in enumerate(("queued", "running", "answered")):
        connection.execute(
            "INSERT INTO runs(id, agent_id, session_key, kind, state, created_ms) VALUES (?,?,?,?,?,?)",
            (f"run-{number}", "main", "agent:main:main", "message", state, NOW_MS),
        )


def back_up(home: Home, passphrase: str = "", **options: Any) -> tuple[Path, CreatedBackup]:
    """Make a backup of a home in its folder `backups`; return its path and what was made."""
    folder = home.path / "backups"
    made = create_backup(home, CreateOptions(str(folder), "Elm Street", "0.2.0", NOW_MS, passphrase, **options))
    return folder / made.name, made


def rows(home: Home, query: str) -> list[tuple[Any, ...]]:
    """What a query of the hub database gives, by a connection of its own."""
    import sqlite3

    connection = sqlite3.connect(home.hub_db)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def tree(folder: Path) -> dict[str, bytes]:
    """The files below a folder, without databases and what backups themselves keep."""
    return dict(_tree(folder))


def _tree(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or path.is_symlink() or ".db" in name:
            continue
        if not name.startswith(("backups/", ".storage/replaced-", ".storage/hub.lock", ".storage/backup.lock")):
            yield name, path.read_bytes()
