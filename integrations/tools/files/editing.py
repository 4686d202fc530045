"""Edits a text by its present content: pure rules, with errors that show the caller's mistake."""

from __future__ import annotations

import difflib
import re

from hub.core.errors import InvalidRequest

DIFF_LIMIT = 4_000
SHOWN_LINES = 5
LOOKED_THROUGH_LINES = 20_000
COMPARED_LINES = 500
"""Lines of the nearest place and of what changed; comparing takes the square of what is compared."""
COMPARED_CHARACTERS = 200
DIFF_CONTEXT = 2

_HUNK = re.compile(r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")


def replace_once(text: str, old: str, new: str, path: str, *, everywhere: bool = False) -> tuple[str, int]:
    r"""Return `text` with `old` replaced by `new`, and how often that was.

    Line ends of the file are kept: what is given with `\n` also fits a file with `\r\n`.

    Raises:
        InvalidRequest: `old` is not there, or more than once while one place was meant; the message shows where.
    """
    if old == new:
        raise InvalidRequest("old_text and new_text are the same; nothing would change")
    if "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    count = text.count(old)
    if count == 0:
        raise InvalidRequest(f"old_text is not in {path}{_nearest(text, old)}")
    if count > 1 and not everywhere:
        raise InvalidRequest(
            f"old_text stands {count} times in {path} (lines {_places(text, old)}); take more of the text around it, "
            "or set replace_all"
        )
    return text.replace(old, new), count


def difference(before: str, after: str, path: str) -> str:
    """Return what changed, as a unified diff of bounded length."""
    old, new = before.splitlines(), after.splitlines()
    same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    if same is None:
        same = min(len(old), len(new))
    first = max(0, same - DIFF_CONTEXT)
    alike = 0
    while alike < min(len(old), len(new)) - same and old[-1 - alike] == new[-1 - alike]:
        alike += 1
    end = max(0, alike - DIFF_CONTEXT)
    old, new = old[first : len(old) - end], new[first : len(new) - end]
    if max(len(old), len(new)) > COMPARED_LINES:
        return f"[lines {first + 1} to {first + len(old)} became {len(new)} lines: too many to show what changed]"
    lines = list(difflib.unified_diff(old, new, path, path, lineterm="", n=DIFF_CONTEXT))
    text = "\n".join(_moved(line, first) for line in lines)
    return text if len(text) <= DIFF_LIMIT else f"{text[:DIFF_LIMIT]}\n[cut]"


def _moved(line: str, lines: int) -> str:
    """Return a line of a diff of a part, with the numbers it has in the whole."""
    if not lines or not (hunk := _HUNK.fullmatch(line)):
        return line
    return f"@@ -{int(hunk[1]) + lines}{hunk[2]} +{int(hunk[3]) + lines}{hunk[4]} @@"


def _places(text: str, old: str) -> str:
    found: list[str] = []
    at = text.find(old)
    while at >= 0 and len(found) < SHOWN_LINES:
        found.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(found) + (", …" if at >= 0 else "")


def _nearest(text: str, old: str) -> str:
    """Say where something like the first line of `old` is: mostly blanks or a word differ."""
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = text.split("\n")[:LOOKED_THROUGH_LINES]
    for number, line in enumerate(lines, start=1):
        if wanted and line.strip() == wanted:
            return f", but line {number} differs only in blanks or in what follows: {line[:200]!r}. Read the file again"
    near = [line.strip()[:COMPARED_CHARACTERS] for line in lines[:COMPARED_LINES]]
    close = difflib.get_close_matches(wanted[:COMPARED_CHARACTERS], near, n=1, cutoff=0.7)
    if close:
        number = near.index(close[0]) + 1
        return f"; the nearest is line {number}: {lines[number - 1][:200]!r}"
    return "; read the file again"
