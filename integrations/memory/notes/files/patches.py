"""Line-based patches of a file: to show a change, undo it, and undo it beneath later changes.

Pure: texts in, texts out.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from msgspec import Struct

CONTEXT = 3
COMPARED_LIMIT = 4_000
"""Lines that are compared one by one; where more were changed, all between the first and the last is one piece."""


class Hunk(Struct, frozen=True):
    """Replaced lines; without newlines.

    Attributes:
        before_at, after_at: Its start in the old and in the new text, from 0.
        before, after: The old and the new lines.
        above, below: Up to three lines around it, the same in both texts.
    """

    before_at: int
    after_at: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


class PatchConflict(Exception):
    """The change to undo no longer exists, or is ambiguous."""


def hunks_between(before: str, after: str) -> tuple[Hunk, ...]:
    """Return the hunks that turn `before` into `after`, from the top."""
    old, new = before.split("\n"), after.split("\n")
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if head == old_end and head == new_end:
        return ()
    spans = [(head, old_end, head, new_end)]
    if old_end - head + new_end - head <= COMPARED_LIMIT:
        matcher = difflib.SequenceMatcher(None, old[head:old_end], new[head:new_end])
        spans = [
            (head + i1, head + i2, head + j1, head + j2)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            if tag != "equal"
        ]
    return tuple(
        Hunk(
            i1,
            j1,
            tuple(old[i1:i2]),
            tuple(new[j1:j2]),
            tuple(new[max(0, j1 - CONTEXT) : j1]),
            tuple(new[j2 : j2 + CONTEXT]),
        )
        for i1, i2, j1, j2 in spans
    )


def undo_exactly(text: str, hunks: Sequence[Hunk]) -> str:
    """Return the text with the change undone exactly; `text` is its result.

    Raises:
        PatchConflict: The text is not that result any more.
    """
    lines = text.split("\n")
    for hunk in reversed(hunks):
        end = hunk.after_at + len(hunk.after)
        if tuple(lines[hunk.after_at : end]) != hunk.after:
            raise PatchConflict
        lines[hunk.after_at : end] = hunk.before
    return "\n".join(lines)


def without_change(text: str, hunks: Sequence[Hunk]) -> str:
    """Return a later text with one earlier change removed; every other line stays.

    Raises:
        PatchConflict: What was changed is not there as it was, or it is not clear which of several it is.
    """
    lines = text.split("\n")
    for hunk in reversed(hunks):
        at = _place(lines, hunk)
        lines[at : at + len(hunk.after)] = hunk.before
    return "\n".join(lines)


def unified_diff(path: str, hunks: Sequence[Hunk], *, is_new: bool, is_gone: bool) -> Iterator[str]:
    """Yield the lines of a unified diff, without newlines."""
    yield "--- /dev/null" if is_new else f"--- a/{path}"
    yield "+++ /dev/null" if is_gone else f"+++ b/{path}"
    for hunk in hunks:
        above, below = hunk.above, hunk.below
        # What stands behind the last newline of a whole file is no line of it.
        before = _lines_of(hunk.before) if is_gone else hunk.before
        after = _lines_of(hunk.after) if is_new else hunk.after
        around = len(above) + len(below)
        old_at = 0 if is_new else hunk.before_at - len(above) + 1
        new_at = 0 if is_gone else hunk.after_at - len(above) + 1
        yield f"@@ -{old_at},{len(before) + around} +{new_at},{len(after) + around} @@"
        yield from (f" {line}" for line in above)
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        yield from (f" {line}" for line in below)


def _lines_of(lines: tuple[str, ...]) -> tuple[str, ...]:
    return lines[:-1] if lines[-1:] == ("",) else lines


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _place(lines: Sequence[str], hunk: Hunk) -> int:
    """Return the position of a hunk's new lines now: by their context, else by themselves."""
    size = len(hunk.after)
    there = [at for at in range(len(lines) - size + 1) if tuple(lines[at : at + size]) == hunk.after]
    near = {at: _around(lines, at, hunk) for at in there}
    if not size:
        # Lines that were taken out are put back only between those that they were between.
        near = {at: around for at, around in near.items() if _is_between(lines, at, hunk)}
    best = max(near.values(), default=0)
    places = [at for at, around in near.items() if around == best]
    if len(places) != 1:
        raise PatchConflict
    return places[0]


def _around(lines: Sequence[str], at: int, hunk: Hunk) -> int:
    """Return how many of the context lines of a hunk match, from the nearest on."""
    above = lines[max(0, at - CONTEXT) : at][::-1]
    end = at + len(hunk.after)
    return _alike(above, hunk.above[::-1]) + _alike(lines[end : end + CONTEXT], hunk.below)


def _is_between(lines: Sequence[str], at: int, hunk: Hunk) -> bool:
    return tuple(lines[max(0, at - 1) : at]) == hunk.above[-1:] and tuple(lines[at : at + 1]) == hunk.below[:1]
