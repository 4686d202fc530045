"""Real PostgreSQL servers, from the system's package: on a Unix socket only, in memory where there is room."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import psycopg

START_LIMIT_S = 60.0
OWNER = "homarus"
PASSWORD = "a-very-good-password"
_SETTINGS = """
listen_addresses = ''
fsync = off
synchronous_commit = on
full_page_writes = off
shared_buffers = 32MB
max_connections = 200
autovacuum_naptime = 10min
wal_retrieve_retry_interval = 100ms
"""
_WHO = """
local all locked scram-sha-256
local all,replication all trust
"""


class PostgresqlServer:
    """Runs one server in a process of its own; it can be killed and started again.

    Args:
        primary: The server whose standby it is, until it is promoted.
        settings: Over those that make it quick.
    """

    def __init__(self, primary: PostgresqlServer | None = None, settings: str = "") -> None:
        self._primary = primary
        self._settings = f"{_SETTINGS}{settings}"
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        # The server refuses to run as root.
        self._user = {"user": _somebody(), "group": "nogroup"} if os.getuid() == 0 else {}

    def __enter__(self) -> Self:
        if self._user:
            os.chown(self.folder, pwd.getpwnam(str(self._user["user"])).pw_uid, -1)
        if self._primary is not None:
            self._run("pg_basebackup", "-h", str(self._primary.folder), "-R", "--checkpoint=fast", "--no-sync")
        else:
            self._run("initdb", "--no-sync", "--auth=trust", "--locale=C.UTF-8", "-E", "UTF8")
            (self._data / "pg_hba.conf").write_text(_WHO)
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(f"{self._settings}unix_socket_directories = '{self.folder}'\n")
        self.start()
        if self._primary is None:
            self.execute(f"CREATE USER locked PASSWORD '{PASSWORD}'")
        return self

    def _run(self, name: str, *arguments: str) -> None:
        command = (program(name), "-D", str(self._data), "-U", OWNER, *arguments)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._user)  # type: ignore[call-overload]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start it, unless it runs, and wait until it lets somebody in."""
        if self._process is not None:
            return
        command = (program("postgres"), "-D", str(self._data))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **self._user)  # type: ignore[call-overload]
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self._process.poll() is None:
            with suppress(psycopg.OperationalError):
                self.execute("SELECT 1")
                return
            time.sleep(0.02)
        raise AssertionError(f"PostgreSQL did not start:\n{(self.folder / 'log').read_text()[-4000:]}")

    @property
    def pid(self) -> int | None:
        """Its process, while it runs."""
        return self._process.pid if self._process is not None else None

    def kill(self) -> None:
        """End it at once, with all connections, as a machine that fails does."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def crash(self) -> None:
        """End it as a machine without power does: no process of it does anything more."""
        for each in self.freeze():
            with suppress(psutil.NoSuchProcess):
                each.kill()
        if self._process is not None:
            self._process.wait()
            self._process = None

    def freeze(self) -> list[psutil.Process]:
        """Let none of its processes go on, though the network says that they are there; return them."""
        if self._process is None:
            return []
        first = psutil.Process(self._process.pid)
        first.suspend()
        every = [first, *first.children(recursive=True)]
        for each in every:
            with suppress(psutil.NoSuchProcess):
                each.suspend()
        return every

    def stop_sending(self) -> Callable[[], None]:
        """Send its standbys nothing more, until what is returned is called."""
        [(sender,)] = self.execute("SELECT pid FROM pg_stat_replication")
        psutil.Process(sender).suspend()
        return psutil.Process(sender).resume

    def promote(self) -> None:
        """Make the standby a primary."""
        self.execute("SELECT pg_promote()")

    def url(self, database: str, *, user: str = OWNER, password: str = "") -> str:
        """Return the address of a database."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run a statement as the owner of everything; return its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self, template: str = "template0") -> str:
        """Make a database; return its name."""
        self._databases += 1
        name = f"test_{os.getpid()}_{self._databases}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        return name


def program(name: str) -> str:
    """Return the path of a program of the server."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    program = str(found[-1]) if found else shutil.which(name)
    assert program is not None, "PostgreSQL is not installed: script/system-package postgresql 'try the database'"
    return program


def _somebody() -> str:
    """Return a user without rights."""
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"
