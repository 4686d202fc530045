"""Portable statements as PostgreSQL wants them: numbered marks, and each key with its home."""

from __future__ import annotations

import re
from functools import lru_cache

KNOWN_LIMIT = 4_096
_PARTS = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]*    # texts, names and remarks stay as they are
    | (?P<mark>\?) | (?P<conflict>\bON\s+CONFLICT\s*\()""",
    re.IGNORECASE | re.VERBOSE,
)


_ENDS = re.compile(r"\s*(BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|PREPARE)\b", re.IGNORECASE)


@lru_cache(KNOWN_LIMIT)
def translated(statement: str) -> bytes:
    """Return a statement with `$1`, `$2`, … for each `?`, and the home in the key of an upsert.

    Raises:
        RuntimeError: It would end the transaction it runs in.
    """
    if _ENDS.match(statement):
        raise RuntimeError(f"{statement.split(maxsplit=1)[0]} would have ended the transaction it ran in; it must not")
    marks = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal marks
        if found["mark"]:
            marks += 1
            return f"${marks}"
        return f"{found[0]}home, " if found["conflict"] else found[0]

    return _PARTS.sub(replace, statement).encode()
