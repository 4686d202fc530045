"""Plans the changes of tidying in one area of a memory, from its files alone. Pure.

What recurs in the days is copied into the file that lasts; what is there twice is struck once; what does not agree is
marked; what was struck long ago leaves `MEMORY.md`. Nothing else of any file changes, and of files that were tidied up
nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence

from hub.memory.front_matter import front_matter
from hub.memory.places import CURATED_LIMIT_BYTES, PRIVATE_AREA
from hub.memory.tidy.entries import Area, AreaFile, area_entries
from hub.memory.tidy.marks import marks_in
from hub.memory.tidy.pairs import PairQuestion, questions_in, relations_by_rule, statements_of
from hub.memory.tidy.round import KnownEntries, Merged, Round, TidyPlan

__all__ = ["KnownEntries", "Merged", "TidyPlan", "plan", "questions"]
ROUNDS = 5
BROKEN = "\ufffd"
"""Stands for bytes that are not text; a file that holds it cannot be written back as it was."""


def questions(area: Area, files: Sequence[AreaFile], known: KnownEntries) -> list[PairQuestion]:
    """Return the pairs of an area that a model may judge and has not yet, most informative first."""
    statements = statements_of(area_entries(area, files, known.today))
    return questions_in(statements, relations_by_rule(statements, known.alike), known.judged)


def plan(area: Area, files: Sequence[AreaFile], known: KnownEntries) -> TidyPlan:
    """Return the planned changes in an area.

    Args:
        area: The area.
        files: Its files.
        known: What else is known.
    """
    whole = TidyPlan()
    before = {file.path: file.text for file in files}
    for path in {area.curated, area.settled} & before.keys():
        if BROKEN in before[path] or not front_matter(before[path])[0].trusted:
            whole.problem = f"{path} holds bytes that are not text, or says that it is not to be trusted"
            return whole
    now: dict[str, AreaFile] = {file.path: file for file in files}
    for _ in range(ROUNDS):
        changed = Round(area, list(now.values()), known, whole).run()
        if not changed:
            break
        now |= {path: AreaFile(path, text) for path, text in changed.items()}
    for path, file in now.items():
        if file.text != before.get(path):
            goes = not file.text and path != area.curated
            whole.texts[path] = None if goes else file.text
    settled = now.get(area.settled)
    whole.unsettled = sum(not mark.both_hold for mark in marks_in(settled.text)) if settled else 0
    curated = now.get(area.curated)
    is_large = curated is not None and len(curated.text.encode()) > CURATED_LIMIT_BYTES
    whole.over_limit = area.name == PRIVATE_AREA and (whole.over_limit or is_large)
    return whole
