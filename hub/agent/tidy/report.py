"""The report of tidying, in words and as plain data."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from hub.memory.markdown import passages
from hub.memory.places import CURATED_LIMIT_BYTES
from hub.memory.tidy.entries import Standing
from hub.memory.tidy.marks import one_line
from hub.memory.tidy.plan import TidyPlan

CONTEXT_LINES = 3
DIFF_LIMIT = 200_000


class OtherScopes(Struct, frozen=True):
    """Changes in the memories of other people and groups: counts only."""

    areas: int = 0
    promoted: int = 0
    merged: int = 0
    contradictions: int = 0
    removed: int = 0
    gave_up: int = 0


class Tidied(Struct, frozen=True):
    """The result of one run, for its requester.

    Attributes:
        plans: The plans of the areas that the caller sees.
        diff: Unified diff of all files.
        change_id: The id for undoing it; None when nothing was written.
        others: Of areas that the caller does not see.
        dry_run: Whether it was a trial, which writes nothing.
    """

    plans: tuple[TidyPlan, ...] = ()
    diff: str = ""
    change_id: str | None = None
    others: OtherScopes = field(default_factory=OtherScopes)
    dry_run: bool = False

    @property
    def summary(self) -> str:
        """One line; empty when there was nothing to do."""
        return summary_of(self.plans)

    def as_data(self) -> dict[str, Any]:
        """Return the report as services and the gateway answer it."""
        pairs = [pair for each in self.plans for pair in each.contradictions]
        return {
            "promoted": sum(len(each.promoted) for each in self.plans),
            "merged": sum(len(each.merged) for each in self.plans),
            "contradictions": [{"older": _entry_data(one), "newer": _entry_data(other)} for one, other in pairs],
            "removed": sum(each.removed for each in self.plans),
            "unsettled": sum(each.unsettled for each in self.plans),
            "change_id": self.change_id,
            "summary": self.summary,
            "diff": self.diff,
            "problems": problems_of(self.plans),
            "dry_run": self.dry_run,
            "others": {
                "areas": self.others.areas,
                "promoted": self.others.promoted,
                "merged": self.others.merged,
                "contradictions": self.others.contradictions,
                "removed": self.others.removed,
                "gave_up": self.others.gave_up,
            },
        }


def summary_of(plans: Iterable[TidyPlan]) -> str:
    """Return one line about the planned changes; empty if there are none."""
    told = list(plans)
    if not any(each.texts for each in told):
        return ""
    promoted, merged = sum(len(each.promoted) for each in told), sum(len(each.merged) for each in told)
    removed, marked = sum(each.removed for each in told), sum(len(each.contradictions) for each in told)
    said = [
        f"kept {_count(promoted, 'entry', 'entries')} for good" if promoted else "",
        f"struck {merged} that {'was' if merged == 1 else 'were'} there twice or outdated" if merged else "",
        f"took out {removed} struck long ago" if removed else "",
        f"{_count(marked, 'contradiction', 'contradictions')} to be settled" if marked else "",
    ]
    line = ", ".join(each for each in said if each) or "took out what is settled"
    return f"{line[0].upper()}{line[1:]}."


def problems_of(plans: Iterable[TidyPlan]) -> list[str]:
    """Return the problems, one sentence each."""
    told = list(plans)
    large = (
        f"MEMORY.md is at its bound of {CURATED_LIMIT_BYTES:,} bytes, so that nothing more is put into it by itself. "
        "Shorten it, or move parts of it to files in memory/."
    )
    return [
        *([large] if any(each.over_limit for each in told) else []),
        *(each.problem for each in told if each.problem),
    ]


def diff_of(before: Mapping[str, str], after: Mapping[str, str | None]) -> str:
    """Return the changes in files as a unified diff.

    Of files that hold words from outside only the lines that change are shown: those never are from outside.

    Args:
        before: The present files, without new ones.
        after: The changed files; None for a deleted one.
    """
    lines: list[str] = []
    for path, text in sorted(after.items()):
        was = before.get(path)
        around = CONTEXT_LINES if all(each.trusted for each in passages(was or "")) else 0
        lines += difflib.unified_diff(
            (was or "").splitlines(),
            (text or "").splitlines(),
            "/dev/null" if was is None else f"a/{path}",
            "/dev/null" if text is None else f"b/{path}",
            n=around,
            lineterm="",
        )
    diff = "\n".join(lines)
    return diff if len(diff) <= DIFF_LIMIT else f"{diff[:DIFF_LIMIT]}\n… cut: {len(diff) - DIFF_LIMIT} more characters"


def _entry_data(entry: Standing) -> dict[str, Any]:
    return {
        "text": one_line(entry.passage.text),
        "path": entry.path,
        "start_line": entry.passage.start_line,
        "day": entry.day or None,
    }


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
