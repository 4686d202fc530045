"""Portable statements in the words of PostgreSQL."""

from __future__ import annotations

import pytest

from hub.storage.postgresql.statements import translated


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT id FROM runs WHERE a = ? AND b IN (?,?)", "SELECT id FROM runs WHERE a = $1 AND b IN ($2,$3)"),
        ("SELECT 'who?', \"a?\" FROM runs -- ?\nWHERE a = ?", "SELECT 'who?', \"a?\" FROM runs -- ?\nWHERE a = $1"),
        ("SELECT 'it''s ?' WHERE a LIKE '100%' AND b = ?", "SELECT 'it''s ?' WHERE a LIKE '100%' AND b = $1"),
        (
            "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            "INSERT INTO meta(key, value) VALUES($1, $2) ON CONFLICT(home, key) DO UPDATE SET value = excluded.value",
        ),
        ("INSERT INTO a SELECT ? on conflict (x)", "INSERT INTO a SELECT $1 on conflict (home, x)"),
    ],
)  # fmt: skip
def test_marks_are_numbered_outside_of_texts_and_keys_have_their_home(statement: str, expected: str) -> None:
    assert translated(statement).decode() == expected


@pytest.mark.parametrize("statement", ["COMMIT", " rollback", "BEGIN", "SAVEPOINT a", "END"])
def test_a_statement_that_would_end_the_transaction_is_refused(statement: str) -> None:
    with pytest.raises(RuntimeError, match="ended the transaction it ran in; it must not"):
        translated(statement)
