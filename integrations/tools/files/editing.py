"""Changing a text by naming what is there: pure rules, with errors that show what the caller got wrong."""

from __future__ import annotations

import difflib

from hub.core.errors import InvalidRequest

DIFF_LIMIT = 4_000
SHOWN_LINES = 5
LOOKED_THROUGH_LINES = 20_000


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
    if max(len(before), len(after)) > 1_000_000:
        return ""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2)
    text = "\n".join(lines)
    return text if len(text) <= DIFF_LIMIT else f"{text[:DIFF_LIMIT]}\n[cut]"


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
    close = difflib.get_close_matches(wanted, [line.strip() for line in lines[:2_000]], n=1, cutoff=0.7)
    if close:
        number = next(number for number, line in enumerate(lines, start=1) if line.strip() == close[0])
        return f"; the nearest is line {number}: {lines[number - 1][:200]!r}"
    return "; read the file again"
