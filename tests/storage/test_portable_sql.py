"""The SQL of all stores above `hub.storage`: what only SQLite understands is not in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OWN_SQLITE = (
    *("hub/storage", "integrations/memory/notes/index", "integrations/memory/chroma"),
    "hub/migrate/openclaw",
)
"""Know SQLite by design: the databases of the hub, the index of the memory, which is built again when lost, and a
reader of the database of another program."""
SQL_METHODS = ("execute", "executemany", "executescript")
NOT_PORTABLE = re.compile(
    r"\b(INSERT|UPDATE)\s+OR\s+\w+|\bREPLACE\s+INTO\b|\browid\b|\b_rowid_\b|\bPRAGMA\b|\bAUTOINCREMENT\b|\bsqlite_\w+"
    r"|\bjson(b)?_\w+\(|\bjson_(extract|each|tree|valid)\b|\bLIMIT\s+-1\b|\bNOT\s+INDEXED\b|\bINDEXED\s+BY\b"
    r"|\b(ifnull|group_concat|randomblob|julianday|last_insert_rowid|total_changes|instr)\(|\bVACUUM\b|\bATTACH\s+DATABASE\b"
    r"|\bBEGIN\s+(IMMEDIATE|EXCLUSIVE)\b|\bWITHOUT\s+ROWID\b|(?-i:\bGLOB\b)|\bSELECT\b.*\bWHERE\s+1\s"
    r"|(?:\bWHERE|\bAND|\bOR|\bNOT|\bWHEN)\s+\?\s*(?:\bAND\b|\bOR\b|\bTHEN\b|$)|\x00",
    re.IGNORECASE,
)
MAY_MATTER = re.compile(r"sqlite3|lastrowid|execute")
MARKS = re.compile(r"\b(SELECT|INSERT|REPLACE INTO|UPDATE|DELETE|WHERE|ORDER BY|FROM|PRAGMA|json_\w+|rowid)\b")


def complaints(path: str, source: str) -> list[str]:
    """Return what of a module only SQLite understands, each as `file:line: what`."""
    if not MAY_MATTER.search(source) and not MARKS.search(source):
        return []
    tree = ast.parse(source)
    found = [f"{path}:{line}: imports sqlite3" for node in ast.walk(tree) for line in _imports_of_sqlite(node)]
    found += [
        f"{path}:{node.lineno}: .lastrowid"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "lastrowid"
    ]
    return found + [f"{path}:{line}: {hit[0]}" for line, sql in _statements(tree) if (hit := NOT_PORTABLE.search(sql))]


def _imports_of_sqlite(node: ast.AST) -> Iterator[int]:
    match node:
        case ast.Import(names=names, lineno=line):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), lineno=line):
            modules = [module]
        case _:
            return
    if any(module.partition(".")[0] == "sqlite3" for module in modules):
        yield line


def _statements(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of what is executed or reads like a part of a statement; docstrings are neither."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    executed = {id(text) for call in ast.walk(tree) if _executes(call) for text in ast.walk(call)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in prose:
            continue
        if id(node) in executed or MARKS.search(node.value):
            yield node.lineno, node.value


def _executes(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SQL_METHODS


def _stores() -> Iterator[tuple[str, str]]:
    for folder in ("hub", "integrations", "web"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if not path.startswith(OWN_SQLITE):
                yield path, file.read_text(encoding="utf-8")


def test_no_store_above_hub_storage_knows_that_the_database_is_sqlite() -> None:
    stores = list(_stores())

    assert sum("INSERT INTO" in source for _, source in stores) > 10  # the stores are among what is read
    assert [each for path, source in stores for each in complaints(path, source)] == []


@pytest.mark.parametrize(
    "line",
    [
        "import sqlite3",
        "from sqlite3 import Connection",
        'connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)',
        'PUT = "INSERT OR IGNORE INTO meta VALUES (?, ?)"',
        'PUT = "REPLACE INTO meta VALUES (?, ?)"',
        'connection.execute(f"SELECT {columns} FROM inbox ORDER BY rowid DESC")',
        'LAST = " ORDER BY rowid DESC LIMIT 1"',
        "PERSON = \"json_extract(authority, '$.person') = ?\"",
        'connection.execute("PRAGMA user_version")',
        'connection.execute("SELECT id FROM runs LIMIT -1 OFFSET ?")',
        "id = connection.execute(INSERT).lastrowid",
        'connection.execute("DELETE FROM runs WHERE instr(data, ?)", (key,))',
        'connection.execute("SELECT id FROM runs WHERE (state = 1 OR ? AND state IN (2, 3))", (decided,))',
        'connection.execute("SELECT id FROM runs WHERE ?", (True,))',
        "EMPTY = \"SELECT id FROM runs WHERE name <> '\\x00'\"",
    ],
)
def test_what_only_sqlite_understands_is_found(line: str) -> None:
    assert len(complaints("store.py", line)) == 1


def test_portable_sql_and_prose_are_no_matter() -> None:
    source = '''
"""Rows by rowid, with PRAGMA."""
PUT = "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
connection.execute("SELECT id FROM inbox ORDER BY position LIMIT ?", (3,))
'''
    assert complaints("store.py", source) == []
