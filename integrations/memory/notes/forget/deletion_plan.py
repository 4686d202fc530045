"""Plans which entries and whole files are forgotten. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.memory.alike import Relation, fact_key, gist_of, relation_of
from hub.memory.contract import Forget, Hit
from hub.memory.front_matter import front_matter
from hub.memory.markdown import Passage, passages, without_lines
from hub.memory.places import PERSON_AREA, area_of, areas_of, may_strike, may_write
from hub.memory.ranking import SNIPPET_LIMIT
from hub.memory.scope import MemoryScope
from integrations.memory.notes.files.matching import Term, example_hint, matching_entries
from integrations.memory.notes.files.memory_files import displayable
from integrations.memory.notes.hits import hit_of

FORGET_LIMIT = 5
"""Entries, and things that were said, that words alone may name."""

Replacements = Mapping[str, Collection[str]]
"""What entries replaced, as far as it is on record: `fact_key` of the newer, and of the older ones."""


class DeletionPlan(Struct, frozen=True):
    """The planned deletion in one file.

    Attributes:
        path: The file.
        text: The whole text.
        passages: The deleted ones; None: all of the file.
        is_seen: Whether the session sees it; if not, only its existence is reported.
        older: How many of the passages are deleted as older versions of others.
    """

    path: str
    text: str
    passages: tuple[Passage, ...] | None
    is_seen: bool
    older: int = 0

    @property
    def lines(self) -> list[str]:
        """The deleted lines."""
        if self.passages is None:
            return self.text.split("\n")
        return [line for passage in self.passages for line in passage.text.split("\n")]

    @property
    def rest(self) -> str | None:
        """The remaining text; None if the file is deleted."""
        if self.passages is None:
            return None
        return without_lines(self.text, [(each.start_line, each.end_line) for each in self.passages])

    def hits(self) -> list[Hit]:
        """Return it as results; without text that the session may not see."""
        if self.passages is None:
            text = displayable(self.text[:SNIPPET_LIMIT]) if self.is_seen else ""
            return [Hit(self.path, 1, self.text.count("\n") + 1, text, 1.0, trusted=front_matter(self.text)[0].trusted)]
        return [
            hit_of(self.path, each, displayable(each.text[:SNIPPET_LIMIT]) if self.is_seen else "")
            for each in self.passages
        ]


def areas_searched(what: Forget, scope: MemoryScope) -> tuple[str, ...] | None:
    """Return the areas to search for deletions; None for all.

    Forgetting needs no reading: an owner may have forgotten all that came from a person or a session, wherever it is.
    By words only visible areas are searched, or the answer would reveal whether somebody else's memory has them.
    """
    return None if scope.private and not what.query else areas_of(scope)


def deletion_plans(
    texts: Iterable[tuple[str, str]], what: Forget, terms: list[Term], scope: MemoryScope, replaced: Replacements
) -> list[DeletionPlan]:
    """Return the planned deletions, by file.

    Args:
        texts: Path and text of the files that are looked through.
        what: The request.
        terms: The terms of its query.
        scope: The scope of the caller.
        replaced: The replaced versions of entries.
    """
    whole: list[DeletionPlan] = []
    entries: dict[str, tuple[str, list[Passage]]] = {}
    older: list[tuple[str, Passage]] = []
    seen = areas_of(scope)
    for path, text in texts:
        if not what.query and _is_whole(path, text, what) and (scope.private or may_write(path, scope)):
            whole.append(DeletionPlan(path, text, None, area_of(path) in seen))
            continue
        found = [each for each in passages(text) if _is_from(path, each, what)]
        if not scope.private:
            found = [each for each in found if may_strike(path, each.person, scope)]
        if found:
            entries[path] = (text, found)
    if what.query:
        there = [(path, each) for path, (_, found) in entries.items() for each in found]
        matches = matching_entries(there, what.query, terms)
        older = older_versions(matches, there, replaced)
        matches += older
        chosen = {path: [each for at, each in matches if at == path] for path, _ in matches}
        entries = {path: (entries[path][0], found) for path, found in chosen.items()}
    parts = [
        DeletionPlan(path, text, tuple(found), area_of(path) in seen, sum(at == path for at, _ in older))
        for path, (text, found) in entries.items()
    ]
    return [*parts, *whole]


def older_versions(
    chosen: Sequence[tuple[str, Passage]], there: Sequence[tuple[str, Passage]], replaced: Replacements
) -> list[tuple[str, Passage]]:
    """Return the struck entries that the chosen ones replaced, transitively."""
    found: list[tuple[str, Passage]] = []
    struck = [each for each in there if each[1].struck and each not in chosen]
    newer = [passage for _, passage in chosen]
    while newer:
        passage = newer.pop()
        older = [each for each in struck if _was_replaced_by(each[1], passage, replaced)]
        struck = [each for each in struck if each not in older]
        newer += [each for _, each in older]
        found += older
    return found


def _was_replaced_by(older: Passage, newer: Passage, replaced: Replacements) -> bool:
    """Whether an entry replaced another: by the record, or because one was struck for the other that day."""
    if fact_key(older.text) in replaced.get(fact_key(newer.text), ()):
        return True
    if older.superseded is None or older.superseded != newer.day:
        return False
    return relation_of(gist_of(older.text), gist_of(newer.text)) is not Relation.DIFFERENT


def within_limit(hits: Sequence[Hit], what: Forget, older: int = 0) -> None:
    """Refuse a query that names too much; older versions of named entries do not count.

    Raises:
        InvalidRequest: Too many entries match.
    """
    count = len(hits) - older
    if what.query and what.session is None and what.person is None and count > FORGET_LIMIT:
        raise InvalidRequest(
            f"{count} entries match, and nothing was forgotten. Say more precisely which, or of which session or "
            f"person, {example_hint(hits)}"
        )


def _is_from(path: str, passage: Passage, what: Forget) -> bool:
    if not passage.is_item:
        return False
    theirs = area_of(path) == f"{PERSON_AREA}{what.person}"
    person = what.person is None or passage.person == what.person or theirs
    return person and (what.session is None or passage.session == what.session)


def _is_whole(path: str, text: str, what: Forget) -> bool:
    """Whether a whole file came from the requested source: a person's own file, or by its front matter."""
    front, _ = front_matter(text)
    theirs = area_of(path) == f"{PERSON_AREA}{what.person}"
    person = what.person is None or front.person == what.person or theirs
    return person and (what.session is None or front.session == what.session)
