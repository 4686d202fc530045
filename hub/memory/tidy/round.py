"""One pass over the files of an area: duplicates, recurring entries, contradictions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct, field

from hub.memory.alike import Relation, is_same_series
from hub.memory.contract import MemoryKind
from hub.memory.markdown import struck, whole_items, with_further_days, without_lines
from hub.memory.places import CURATED, CURATED_LIMIT_BYTES, LASTING, PRIVATE_AREA
from hub.memory.tidy.entries import (
    LOOK_BACK_DAYS,
    Area,
    AreaFile,
    Standing,
    area_entries,
)
from hub.memory.tidy.marks import TO_BE_SETTLED, Mark, Side, marks_in, one_line, with_marks
from hub.memory.tidy.pairs import Pair, Statement, classes_of, pair_of, relations_by_rule, statements_of
from hub.memory.tidy.promotion import is_small_talk, item_of

RECURS_DAYS = 2
"""On so many different days something has to be noted to be kept for good."""
PROMOTED_LIMIT = 500
"""Characters of what is copied; longer entries are not lines of a file that lasts."""
MARKS_LIMIT = 5
"""Contradictions that stand marked at the same time; the others wait until some of these are settled."""


class KnownEntries(Struct, frozen=True):
    """Known facts about entries, beside the files.

    Attributes:
        today: The day in this home.
        alike: Likeness of pairs of texts by meaning, 0 to 1.
        judged: A model's verdicts on pairs of texts: same, updated, contradicts, different.
        undone: Keys of the first lines of what was put or struck before and taken back by somebody; it stays undone.
    """

    today: date
    alike: Mapping[Pair, float] = field(default_factory=dict)
    judged: Mapping[Pair, Relation] = field(default_factory=dict)
    undone: frozenset[str] = frozenset()


class Merged(Struct, frozen=True):
    """A struck entry, and the one kept for it."""

    struck: Standing
    kept: Standing


class TidyPlan(Struct):
    """The planned changes.

    Attributes:
        texts: Files that change, whole; None for a deleted one.
        promoted: Entries copied into the curated file.
        merged: Struck duplicates, and the entries kept for them.
        contradictions: Newly marked pairs.
        removed: How many struck entries leave.
        unsettled: How many marks are there in the end.
        over_limit: Whether the curated file is, or would have become, larger than it may be.
        problem: Why nothing is planned for this area.
    """

    texts: dict[str, str | None] = field(default_factory=dict)
    promoted: list[Standing] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    contradictions: list[tuple[Standing, Standing]] = field(default_factory=list)
    removed: int = 0
    unsettled: int = 0
    over_limit: bool = False
    problem: str | None = None

    @property
    def sources(self) -> set[str]:
        """The files whose entries are reported under another file."""
        return {each.path for each in (*self.promoted, *(side for pair in self.contradictions for side in pair))}


class _Class(Struct):
    """Equivalent statements."""

    statements: list[Statement] = field(default_factory=list)

    @property
    def entries(self) -> list[Standing]:
        return sorted((each for one in self.statements for each in one.entries), key=lambda entry: entry.order)

    @property
    def curated(self) -> list[Standing]:
        return [each for each in self.entries if each.curated]

    @property
    def newest(self) -> Standing:
        return self.entries[-1]

    @property
    def spoken(self) -> Standing:
        """The entry shown for all of them."""
        return (self.curated or self.entries)[-1]

    @property
    def days_noted(self) -> set[str]:
        return set().union(*(each.days for each in self.statements))


class Round:
    """One pass; another follows if it changed something.

    Args:
        area, files, known: As for `plan`.
        whole: Takes what is changed.
    """

    def __init__(self, area: Area, files: Sequence[AreaFile], known: KnownEntries, whole: TidyPlan) -> None:
        self._area = area
        self._known = known
        self._whole = whole
        self._files = {file.path: file.text for file in files}
        self._marks = marks_in(self._files.get(area.settled, ""))
        self._entries = area_entries(area, files, known.today)
        statements = statements_of(self._entries)
        relations = self._relations(statements)
        same = [pair for pair, relation in relations.items() if relation is Relation.SAME]
        self._leader = classes_of(list(statements), same)
        self._classes: dict[str, _Class] = {}
        for key, statement in statements.items():
            self._classes.setdefault(self._leader[key], _Class()).statements.append(statement)
        self._between: dict[Relation, set[Pair]] = {}
        for (one, other), relation in relations.items():
            if self._leader[one] != self._leader[other]:
                pairs = self._between.setdefault(relation, set())
                pairs.add(pair_of(self._leader[one], self._leader[other]))
        self._struck: list[Merged] = []
        self._fresh: list[Standing] = []
        self._over: set[str] = set()

    def run(self) -> dict[str, str]:
        """Return the changed files, and record the changes in the plan."""
        self._update()
        for each in self._classes.values():
            self._merge(each)
        contradictions = self._contradictions()
        text = self._without_old(self._strike(self._files.get(self._area.curated, "")))
        promoted = self._promote(text, self._blocked(contradictions))
        texts = {self._area.curated: promoted}
        settled = texts.get(self._area.settled, self._files.get(self._area.settled, ""))
        texts[self._area.settled] = self._settle(settled, contradictions)
        return {path: each for path, each in texts.items() if each != self._files.get(path, "")}

    def _relations(self, statements: Mapping[str, Statement]) -> dict[Pair, Relation]:
        found = {pair: relation for pair, (relation, _) in relations_by_rule(statements, self._known.alike).items()}
        for pair, relation in self._known.judged.items():
            if found.get(pair, Relation.SAME) is not Relation.SAME:
                found[pair] = relation
        marked = {frozenset(mark.sides): mark for mark in self._marks}
        by_shown: dict[str, list[str]] = {}
        for key, statement in statements.items():
            by_shown.setdefault(one_line(statement.newest.passage.text), []).append(key)
        for sides, mark in marked.items():
            first, second = (by_shown.get(side, []) for side in sides)
            for pair in (pair_of(one, other) for one in first for other in second):
                found[pair] = Relation.DIFFERENT if mark.both_hold else Relation.CONTRADICTS
        return found

    # --- what is there twice, or was overtaken ---

    def _update(self) -> None:
        """Replace entries by newer ones that a model said overtake them; unclear pairs are marked."""
        unclear = self._between.setdefault(Relation.CONTRADICTS, set())
        for pair in sorted(self._between.get(Relation.UPDATED, ())):
            older, newer = sorted((self._classes[key] for key in pair), key=lambda each: each.newest.order)
            outdated = older.curated
            undated = not older.newest.when or older.newest.when == newer.newest.when
            if undated or any(each.by_hand for each in outdated) or (outdated and not self._may_stand(newer)):
                unclear.add(pair)
                continue
            self._over.add(self._leader[older.newest.key])
            self._replace(outdated, newer)

    def _replace(self, outdated: Sequence[Standing], newer: _Class) -> None:
        gone = {each.struck for each in self._struck}
        wanted = [each for each in outdated if each not in gone and not self._is_undone(each)]
        if not wanted:
            return
        if not newer.curated and newer.newest not in self._fresh:
            self._fresh.append(newer.newest)
        self._struck += [Merged(each, newer.spoken) for each in wanted]

    def _may_stand(self, newer: _Class) -> bool:
        return bool(newer.curated) or (not self._is_undone(newer.newest) and self._item(newer) is not None)

    def _merge(self, one: _Class) -> None:
        """Strike duplicates in the curated file; handwritten lines stay, and the clearest entry."""
        there = one.curated
        ours = [each for each in there if not each.by_hand]
        if len(there) < 2 or not ours:
            return
        kept = next((each for each in reversed(there) if each.by_hand), None) or _clearest(ours)
        gone = {each.struck for each in self._struck}
        self._struck += [
            Merged(each, kept) for each in ours if each != kept and each not in gone and not self._is_undone(each)
        ]

    def _strike(self, text: str) -> str:
        if not self._struck:
            return text
        lines = text.split("\n")
        days: dict[Standing, set[str]] = {}
        for merged in self._struck:
            if (
                merged.kept.curated
                and not merged.kept.by_hand
                and merged.kept.gist.identity == merged.struck.gist.identity
            ):
                passage = merged.struck.passage
                days.setdefault(merged.kept, set()).update([merged.struck.day, *passage.also])
        for kept, more in days.items():
            at, end = kept.passage.start_line - 1, kept.passage.end_line
            lines[at:end] = with_further_days("\n".join(lines[at:end]), more).split("\n")
        self._whole.merged += self._struck
        return struck("\n".join(lines), [each.struck.passage for each in self._struck], self._known.today)

    def _without_old(self, text: str) -> str:
        """Return the curated file without entries struck long ago; other files keep them."""
        if self._area.curated != CURATED:
            return text
        oldest = (self._known.today - timedelta(days=LOOK_BACK_DAYS)).isoformat()
        old = [
            (each.start_line, each.end_line)
            for each in whole_items(text)
            if each.struck and each.superseded and each.superseded < oldest and each.heading != TO_BE_SETTLED
        ]
        self._whole.removed += len(old)
        return without_lines(text, old)

    # --- what recurs ---

    def _promote(self, text: str, blocked: set[str]) -> str:
        """Return the curated file with entries noted on several days, and with lasting things missing from it."""
        covered = {key for key, each in self._classes.items() if each.curated}
        left_out = covered | blocked | self._over
        chosen: list[tuple[bool, int, _Class]] = []
        for key, each in self._classes.items():
            if key in left_out or each.newest.is_todo:
                continue
            count = len(each.days_noted)
            lasts = self._area.name == PRIVATE_AREA and each.newest.passage.kind in LASTING
            if lasts or (count >= RECURS_DAYS and not is_small_talk(each.newest.passage.text)):
                chosen.append((lasts, count, each))
        forced = [self._classes[self._leader[each.key]] for each in self._fresh]
        chosen.sort(key=lambda one: (one[0], one[1], one[2].newest.order), reverse=True)
        for each in [*forced, *(one for _, _, one in chosen if one not in forced)]:
            text = self._copied(text, each, is_forced=each in forced)
        return text

    def _copied(self, text: str, one: _Class, *, is_forced: bool) -> str:
        item = None if self._is_undone(one.newest) else self._item(one)
        if item is None:
            return text
        kind = one.newest.passage.kind
        fresh, _ = self._area.place_for(MemoryKind(kind) if kind is not None else None).with_item(text, item)
        if self._area.name == PRIVATE_AREA and len(fresh.encode()) > CURATED_LIMIT_BYTES and not is_forced:
            self._whole.over_limit = True
            return text
        self._whole.promoted.append(one.newest)
        return fresh

    def _item(self, one: _Class) -> str | None:
        entry = one.newest
        if len(entry.passage.text) > PROMOTED_LIMIT:
            return None
        return item_of(entry, self._files[entry.path], one.days_noted)

    # --- what does not agree ---

    def _contradictions(self) -> list[tuple[Standing, Standing]]:
        """Return the unsettled contradictions that remain after the other changes, most informative first."""
        gone = {each.struck for each in self._struck}
        found = []
        for pair in self._between.get(Relation.CONTRADICTS, ()):
            sides = [[each for each in self._classes[key].entries if each not in gone] for key in pair]
            if (
                not all(sides)
                or any(self._classes[key].newest.is_todo for key in pair)
                or self._over.intersection(pair)
            ):
                continue
            one, other = (([each for each in some if each.curated] or some)[-1] for some in sides)
            found.append((one, other) if one.order <= other.order else (other, one))
        found.sort(key=_telling, reverse=True)
        return found

    def _blocked(self, contradictions: Iterable[tuple[Standing, Standing]]) -> set[str]:
        """Return the entries that are not promoted: unsettled ones, and those with several values."""
        pairs = self._between.get(Relation.SERIES, set()) | self._between.get(Relation.UNSURE, set())
        series = {
            key for pair in pairs if is_same_series(*(self._classes[one].newest.gist for one in pair)) for key in pair
        }
        return series | {self._leader[side.key] for pair in contradictions for side in pair}

    def _settle(self, text: str, contradictions: Sequence[tuple[Standing, Standing]]) -> str:
        struck_now = {each.struck for each in self._struck}
        stand = {
            one_line(each.passage.text): self._leader.get(each.key) for each in self._entries if each not in struck_now
        }
        kept = [mark for mark in self._marks if mark.sides <= stand.keys()]
        gone = [mark for mark in self._marks if mark not in kept]
        marked = {frozenset(stand[side] for side in mark.sides) for mark in kept}
        room = MARKS_LIMIT - sum(not mark.both_hold for mark in kept)
        fresh = [
            pair
            for pair in contradictions
            if frozenset(self._leader[side.key] for side in pair) not in marked
            and len({one_line(side.passage.text) for side in pair}) == 2
            and not all(self._is_undone_mark(side) for side in pair)
        ][: max(0, room)]
        self._whole.contradictions += fresh
        sides = [(_side(one), _side(other)) for one, other in fresh]
        own_file = self._area.settled != self._area.curated
        return with_marks(text, _in_place(text, gone), sides, f"# {TO_BE_SETTLED}" if own_file else self._area.title)

    # --- what was taken back ---

    def _is_undone(self, entry: Standing) -> bool:
        return one_line(entry.passage.text.split("\n")[0]) in self._known.undone

    def _is_undone_mark(self, entry: Standing) -> bool:
        return f"“{one_line(entry.passage.text)}”" in self._known.undone


def _telling(pair: tuple[Standing, Standing]) -> tuple[object, ...]:
    """Return the sort key of contradictions: lasting first, then recent."""
    one, other = pair
    return one.curated or other.curated, other.order, one.order


def _clearest(entries: Sequence[Standing]) -> Standing:
    """Return the newest entry, or a longer one that contains all its words."""
    best = entries[-1]
    for each in entries:
        if each.gist.words > best.gist.words:
            best = each
    return best


def _side(entry: Standing) -> Side:
    return Side(one_line(entry.passage.text), f"{entry.path}, {entry.day}" if entry.day else entry.path)


def _in_place(text: str, wanted: Sequence[Mark]) -> list[Mark]:
    """Return marks at their new positions, after other changes in their file."""
    pairs = {each.sides for each in wanted}
    return [mark for mark in marks_in(text) if mark.sides in pairs]
