"""Differences between two states of a file, for people and models: a unified diff of bounded length."""

from __future__ import annotations

import difflib
import re

DIFF_LIMIT = 4_000
COMPARED_LINES = 500
"""Lines of what changed; comparing takes the square of what is compared."""
DIFF_CONTEXT = 2
NO_FILE = "/dev/null"
NO_LINE_BREAK = "\\ No newline at end of file"

_HUNK = re.compile(r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")


def difference(before: bytes | None, after: bytes | None, path: str, target: str | None = None) -> str:
    """Return the changes as a unified diff.

    Args:
        before: The file's content; None when there is none.
        after: Its new content; None when it is deleted.
        path: The file.
        target: Its path afterwards, when it is another.
    """
    names = (NO_FILE if before is None else path, NO_FILE if after is None else target or path)
    head = f"--- {names[0]}\n+++ {names[1]}"
    try:
        old, new = _lines(before), _lines(after)
    except UnicodeDecodeError:
        return f"{head}\n[not text: {len(before or b'')} bytes become {len(after or b'')}]"
    same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    if same is None:
        same = min(len(old), len(new))
    first = max(0, same - DIFF_CONTEXT)
    alike = 0
    while alike < min(len(old), len(new)) - same and old[-1 - alike] == new[-1 - alike]:
        alike += 1
    end = max(0, alike - DIFF_CONTEXT)
    old, new = old[first : len(old) - end], new[first : len(new) - end]
    if old and new and max(len(old), len(new)) > COMPARED_LINES:
        return f"{head}\n[lines {first + 1} to {first + len(old)} become {len(new)} lines: too many to compare]"
    lines = list(difflib.unified_diff(old, new, lineterm="", n=DIFF_CONTEXT))[2:]
    text = "\n".join([head, *(_moved(line, first) for line in lines)])
    return text if len(text) <= DIFF_LIMIT else f"{text[:DIFF_LIMIT]}\n[cut]"


def _lines(data: bytes | None) -> list[str]:
    """Return the lines of a text; the last one says so when no line break ends it, as `diff` does."""
    if not data:
        return []
    *lines, last = data.decode().split("\n")
    return [*lines, f"{last}\n{NO_LINE_BREAK}"] if last else lines


def _moved(line: str, lines: int) -> str:
    """Return a line of a diff of a part, with the numbers it has in the whole."""
    if not lines or not (hunk := _HUNK.fullmatch(line)):
        return line
    return f"@@ -{int(hunk[1]) + lines}{hunk[2]} +{int(hunk[3]) + lines}{hunk[4]} @@"
