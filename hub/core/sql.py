"""The SQL interface of a database as stores see it: plain statements, in a transaction that the database began.

A function that writes may run more than once before it is kept: what it changes besides rows must bear that. Which
database it is, only `hub.storage` knows. Statements above it are portable: no `INSERT OR`, `rowid`, `PRAGMA` or
JSON functions, and upserts are `ON CONFLICT (…) DO UPDATE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol


class SqlCursor(Protocol):
    """The rows of one statement."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""
        ...

    @property
    def description(self) -> Any:
        """A sequence for each column that was selected; its first item is the name."""
        ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the remaining rows."""
        ...


class SqlConnection(Protocol):
    """A connection inside a transaction; who uses it does not end the transaction."""

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> SqlCursor:
        """Run one statement; its parameters are written as `?`."""
        ...

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> SqlCursor:
        """Run one statement for each row of parameters."""
        ...


def upsert(table: str, columns: str) -> str:
    """Return the statement that inserts a row, or replaces the one with the same key.

    Args:
        columns: All that are written, separated by commas; the first is the key.
    """
    key, *rest = [name.strip() for name in columns.split(",")]
    marks = ", ".join("?" * (len(rest) + 1))
    changes = ", ".join(f"{name} = excluded.{name}" for name in rest)
    return f"INSERT INTO {table}({columns}) VALUES ({marks}) ON CONFLICT({key}) DO UPDATE SET {changes}"  # noqa: S608
