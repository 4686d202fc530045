"""Connections to PostgreSQL: made with what a home needs, and seen by stores as any other connection."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from msgspec import Struct
from psycopg import RawCursor, conninfo
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader
from psycopg.pq import TransactionStatus

from hub.storage.errors import ReadOnlyStorage
from hub.storage.postgresql.errors import DatabaseUnreachable, UnusableDatabase, refused_connection
from hub.storage.postgresql.statements import translated
from hub.storage.postgresql.tables import VIEWS
from hub.storage.writer import STATEMENT_LIMIT_S

OLDEST = 14
CONNECT_LIMIT_S = 10
CONNECT_ONE_OF_LIMIT_S = 4
"""How long one of several servers may take to let the hub in: the others are asked after it."""
ANSWER_LIMIT_S = STATEMENT_LIMIT_S + 5.0
"""Longer than the server lets a statement take."""
_IDLE_LIMIT_S = 10
"""How long a transaction may stand still: a hub that is frozen in one would hold up whoever takes its home over."""
_PREPARED_LIMIT = 500


class _Boolean(Dumper):
    """Writes a boolean as the number that SQLite keeps."""

    oid = psycopg.postgres.types["int8"].oid

    def dump(self, obj: bool) -> Buffer:
        return b"1" if obj else b"0"


class _Number(Loader):
    """Reads a sum of whole numbers as a whole number."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else float(text)


class _Truth(Loader):
    """Reads a truth as the number that SQLite gives."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


_ADAPTERS = AdaptersMap(psycopg.adapters)
_ADAPTERS.register_dumper(bool, _Boolean)
_ADAPTERS.register_loader("numeric", _Number)
_ADAPTERS.register_loader("bool", _Truth)


class Target(Struct, frozen=True):
    """The database of a home.

    Attributes:
        parameters: What it is reached with, the password among it; never shown.
        home: The name of the home in it.
        place: What is shown of it.
    """

    parameters: dict[str, Any]
    home: str
    place: str

    def __repr__(self) -> str:
        return f"Target({self.place})"

    @classmethod
    def from_url(cls, url: str, home: str) -> Target:
        """Return the database that a URL names.

        Raises:
            UnusableDatabase: It is no URL of a database; its text is not in the error, as it may hold a password.
        """
        try:
            given = dict(conninfo.conninfo_to_dict(url))
        except psycopg.ProgrammingError as error:
            raise UnusableDatabase(
                "`storage: postgresql` is no address of a database. Expected postgresql://user:password@host:5432/name."
            ) from error.with_traceback(None).__cause__
        hosts = str(given.get("host") or "the local socket").split(",")
        ports = str(given.get("port") or "").split(",")
        named = [f"{host}:{port}" if port else host for host, port in zip(hosts, ports * len(hosts), strict=False)]
        place = f"the PostgreSQL database {given.get('dbname') or given.get('user') or ''} at {', '.join(named)}"
        usual: dict[str, Any] = {"connect_timeout": CONNECT_LIMIT_S, "keepalives_idle": 10, "keepalives_interval": 3}
        usual |= {"keepalives_count": 3, "tcp_user_timeout": 20_000, "client_encoding": "UTF8"}
        if len(hosts) > 1:
            usual |= {"target_session_attrs": "read-write", "connect_timeout": CONNECT_ONE_OF_LIMIT_S}
        return cls({**usual, **given, "application_name": f"homarus {home}"[:60]}, home, place)

    @property
    def servers(self) -> list[dict[str, Any]]:
        """What each server that is named is reached with."""
        hosts = str(self.parameters.get("host") or "").split(",")
        if len(hosts) == 1:
            return [self.parameters]
        lists = {
            name: str(self.parameters[name]).split(",") for name in ("hostaddr", "port") if self.parameters.get(name)
        }
        each = [
            {"host": host} | {name: values[number % len(values)] for name, values in lists.items()}
            for number, host in enumerate(hosts)
        ]
        return [{**self.parameters, **own} for own in each]

    @property
    def password(self) -> str:
        """What must not be shown."""
        return str(self.parameters.get("password") or "")

    @property
    def lock(self) -> int:
        """The number of the advisory lock of the home."""
        return int.from_bytes(hashlib.sha256(f"homarus {self.home}".encode()).digest()[:8], signed=True)


class Session:
    """A connection in the terms of the stores; used by one thread.

    Args:
        target: Where to.
        answer_limit_s: After this long without an answer the connection counts as broken.

    Raises:
        DatabaseUnreachable, ReadOnlyStorage: It cannot be used now.
        UnusableDatabase: It cannot be used unless somebody changes something.
    """

    def __init__(self, target: Target, answer_limit_s: float = ANSWER_LIMIT_S) -> None:
        self.target = target
        self.answer_limit_s = answer_limit_s
        self._busy_until = 0.0
        """When an answer is overdue, on the monotonic clock; 0 while none is awaited."""
        self._is_unconfirmed = False
        try:
            self.connection, self.timeline = _connect(target)
        except psycopg.Error as error:
            raise refused_connection(error, target.place) from None
        try:
            self._settle()
        except psycopg.Error as error:
            self.close()
            raise refused_connection(error, target.place) from None
        except BaseException:
            self.close()
            raise

    def _settle(self) -> None:
        """Look at the server, and set what the home needs.

        Raises:
            ReadOnlyStorage, UnusableDatabase: It is no place for a home.
        """
        place, connection = self.target.place, self.connection
        connection.prepared_max = _PREPARED_LIMIT
        connection.add_notice_handler(self._hear)
        if connection.info.server_version < OLDEST * 10_000:
            raise UnusableDatabase(
                f"{place} runs PostgreSQL {connection.info.server_version // 10_000}, which is too old; Homarus needs "
                f"{OLDEST} or newer"
            )
        settings = {
            "homarus.home": self.target.home,
            "search_path": VIEWS,
            "statement_timeout": f"{int(STATEMENT_LIMIT_S)}s",
            "idle_in_transaction_session_timeout": f"{_IDLE_LIMIT_S}s",
            "tcp_keepalives_idle": "5",
            "tcp_keepalives_interval": "2",
            "tcp_keepalives_count": "3",
        }
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        asked = (
            "SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_encoding')"
        )
        standby, read_only, encoding = connection.execute(asked).fetchone() or (0, "off", "UTF8")
        if standby or read_only == "on":
            what = "it is a standby: name the primary too, as in host=one,two" if standby else "its owner set it so"
            raise ReadOnlyStorage(f"{place} only reads; {what}. Nothing was written.", retry_after_s=5.0)
        if encoding != "UTF8":
            raise UnusableDatabase(
                f"{place} keeps texts as {encoding}. Make one that keeps all: CREATE DATABASE name ENCODING 'UTF8' "
                "TEMPLATE template0."
            )

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> RawCursor[Any]:
        """Run one portable statement."""
        with self.awaiting():
            return RawCursor(self.connection).execute(translated(statement), parameters)

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]]) -> RawCursor[Any]:
        """Run one portable statement for each row of parameters."""
        cursor = RawCursor(self.connection)
        with self.awaiting():
            cursor.executemany(translated(statement), parameters)
        return cursor

    def control(self, statement: bytes) -> bytes | None:
        """Run statements of the transaction itself, in one round trip; return the first value of the last.

        Raises:
            psycopg.Error: One failed.
        """
        with self.awaiting():
            result = self.connection.pgconn.exec_(statement)
        if result.status not in (psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK):
            error = psycopg.errors.error_from_result(result)
            # The server itself tells a code; without one the connection broke, and may look sound until it is used.
            raise error if error.sqlstate else psycopg.OperationalError(*error.args)
        return result.get_value(0, 0) if result.ntuples else None

    def commit(self) -> None:
        """Commit the transaction; what it wrote is then on the synchronous standby too, where there is one.

        Raises:
            DatabaseUnreachable: The server gave up waiting for that standby; the connection is closed.
            psycopg.Error: It is not known whether it was kept.
        """
        self._is_unconfirmed = False
        self.control(b"COMMIT")
        if self._is_unconfirmed:
            self.close()
            raise DatabaseUnreachable(
                f"{self.target.place} cannot keep what is written: its synchronous standby does not confirm it. Start "
                "the standby again, or take it out of the primary's `synchronous_standby_names`.",
                retry_after_s=5.0,
            )

    def _hear(self, notice: psycopg.errors.Diagnostic) -> None:
        """Remember a warning: that of a commit means that the server has stopped waiting for its standby."""
        self._is_unconfirmed |= (notice.severity_nonlocalized, notice.sqlstate) == ("WARNING", "01000")

    @property
    def is_lost(self) -> bool:
        """Whether the connection broke."""
        return self.connection.closed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, and not failed."""
        return self.connection.pgconn.transaction_status == TransactionStatus.INTRANS

    def roll_back(self) -> None:
        """Undo the transaction, if there is one; a connection on which that fails is closed."""
        if self.connection.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        try:
            self.control(b"ROLLBACK")
        except psycopg.Error:
            self.close()

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """Note that an answer is awaited, which is overdue after `answer_limit_s`.

        Where one is awaited already, as in a transaction of many statements, the wait for it begins anew with each.
        """
        is_within = self._busy_until > 0
        self._busy_until = time.monotonic() + self.answer_limit_s
        try:
            yield
        finally:
            self._busy_until = time.monotonic() + self.answer_limit_s if is_within else 0.0

    def check(self) -> None:
        """End the wait for an answer that is overdue, though the network says that the server is there.

        Called from another thread; whoever waits finds the connection broken.
        """
        if not 0 < self._busy_until < time.monotonic():
            return
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self.connection.pgconn.socket)) as end:
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with suppress(psycopg.Error):
            self.connection.close()


def _connect(target: Target) -> tuple[psycopg.Connection[Any], int]:
    """Connect to the server that writes, and tell its timeline.

    Of several it is the one that was promoted last: a former primary that came back believes that it still is one.
    """
    found: tuple[psycopg.Connection[Any], int] | None = None
    refused: list[psycopg.Error] = []
    for each in target.servers:
        try:
            connection = psycopg.connect(**each, autocommit=True, context=_ADAPTERS)
        except psycopg.Error as error:
            refused.append(error)
            continue
        timeline = _timeline(connection)
        if found is not None and timeline <= found[1]:
            connection.close()
            continue
        if found is not None:
            found[0].close()
        found = connection, timeline
    if found is None:
        raise next((each for each in refused if "read-only" in str(each)), refused[0])
    return found


def _timeline(connection: psycopg.Connection[Any]) -> int:
    """Return how often the data of a server have seen a promotion; 0 where it does not tell."""
    asked = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END"
    try:
        name = (connection.execute(asked).fetchone() or (None,))[0]
    except psycopg.Error:
        return 0
    return int(name[:8], 16) if name else 0
