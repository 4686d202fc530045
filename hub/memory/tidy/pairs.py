"""Statements of an area and how pairs of them relate, for tidying. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from hub.memory.alike import Gist, Relation, is_same_series, relation_of
from hub.memory.tidy.entries import Standing

STATEMENTS_LIMIT = 2_000
"""Statements that are compared with each other: the curated ones, and the newest."""
SERIES_FROM = 3
"""Noted so often with different values, a thing is a series of readings or occasions; two values may be a mistake."""
COMMON_LIMIT = 100
"""A word that more statements have than this brings no two of them together."""

Pair = tuple[str, str]
"""The keys of two texts, in order."""


class Statement(Struct, frozen=True):
    """A statement that one or more entries make in the same words.

    Attributes:
        entries: The entries from the earliest to the latest.
    """

    key: str
    entries: tuple[Standing, ...]

    @property
    def gist(self) -> Gist:
        """Its compared parts."""
        return self.entries[-1].gist

    @property
    def newest(self) -> Standing:
        """The latest entry that makes it."""
        return self.entries[-1]

    @property
    def is_curated(self) -> bool:
        """Whether it is in the curated file."""
        return any(each.curated for each in self.entries)

    @property
    def days(self) -> set[str]:
        """The days on which it was noted."""
        return {day for each in self.entries for day in (each.day, *each.passage.also) if day}


class PairQuestion(Struct, frozen=True):
    """Two statements that a model may judge, the older first."""

    pair: Pair
    older: Standing
    newer: Standing
    likeness: float


def pair_of(one: str, other: str) -> Pair:
    """Return the pair of two keys."""
    return (one, other) if one <= other else (other, one)


def statements_of(entries: Iterable[Standing]) -> dict[str, Statement]:
    """Return the statements of entries, by key."""
    found: dict[str, list[Standing]] = {}
    for each in sorted(entries, key=lambda entry: entry.order):
        found.setdefault(each.key, []).append(each)
    made = [Statement(key, tuple(some)) for key, some in found.items()]
    made.sort(key=lambda each: (each.is_curated, each.newest.order), reverse=True)
    return {each.key: each for each in made[:STATEMENTS_LIMIT]}


def relations_by_rule(
    statements: Mapping[str, Statement], alike: Mapping[Pair, float]
) -> dict[Pair, tuple[Relation, float]]:
    """Return the relations of statements, with their similarity; different ones are left out.

    Args:
        statements: The statements by key.
        alike: Known similarities of pairs.
    """
    found: dict[Pair, tuple[Relation, float]] = {}
    for pair, share in _candidates(statements, alike):
        one, other = statements[pair[0]], statements[pair[1]]
        relation = relation_of(one.gist, other.gist, alike.get(pair, 0.0))
        if relation is Relation.SAME:
            # What is there word for word is one statement; this is said otherwise, and only a model has it struck.
            relation = Relation.UNSURE
        if relation is not Relation.DIFFERENT:
            found[pair] = (relation, max(share, alike.get(pair, 0.0)))
    for pair in _in_series(statements, found):
        found[pair] = (Relation.SERIES, found[pair][1])
    return found


def _in_series(statements: Mapping[str, Statement], found: Iterable[Pair]) -> list[Pair]:
    """Return pairs within large series of statements that differ in numbers and dates alone.

    The newest of them and the one that it should agree with are not among them.
    """
    rows: dict[frozenset[str], dict[str, Statement]] = {}
    pairs: dict[frozenset[str], list[Pair]] = {}
    for pair in found:
        one, other = statements[pair[0]], statements[pair[1]]
        if is_same_series(one.gist, other.gist):
            rows.setdefault(one.gist.frame, {}).update({pair[0]: one, pair[1]: other})
            pairs.setdefault(one.gist.frame, []).append(pair)
    many: list[Pair] = []
    for frame, row in rows.items():
        if sum(len(each.entries) for each in row.values()) < SERIES_FROM:
            continue
        newest, *older = sorted(row.values(), key=lambda each: each.newest.order, reverse=True)
        against = next((each for each in older if each.is_curated), older[0])
        asked = pair_of(newest.key, against.key)
        many += [pair for pair in pairs[frame] if pair != asked]
    return many


def questions_in(
    statements: Mapping[str, Statement], rules: Mapping[Pair, tuple[Relation, float]], known: Iterable[Pair]
) -> list[PairQuestion]:
    """Return the pairs that a model may judge and has not yet, most informative first."""
    judged = set(known)
    found = []
    for pair, (relation, likeness) in rules.items():
        one, other = statements[pair[0]], statements[pair[1]]
        if relation is Relation.SERIES or pair in judged or (one.newest.is_todo and other.newest.is_todo):
            continue
        older, newer = sorted((one.newest, other.newest), key=lambda entry: entry.order)
        found.append(PairQuestion(pair, older, newer, likeness))
    found.sort(key=lambda each: (each.older.curated or each.newer.curated, each.likeness), reverse=True)
    return found


def classes_of(statements: Sequence[str], same: Iterable[Pair]) -> dict[str, str]:
    """Return for each key the representative of its duplicates."""
    leader = {key: key for key in statements}

    def lead(key: str) -> str:
        while leader[key] != key:
            leader[key] = key = leader[leader[key]]
        return key

    for one, other in same:
        first, second = sorted((lead(one), lead(other)))
        leader[second] = first
    return {key: lead(key) for key in statements}


def _candidates(statements: Mapping[str, Statement], alike: Mapping[Pair, float]) -> Iterator[tuple[Pair, float]]:
    """Yield pairs with enough common words, and those of similar meaning, each once."""
    having: dict[str, list[str]] = {}
    for key, statement in statements.items():
        for word in statement.gist.words:
            having.setdefault(word, []).append(key)
    seen = set()
    for key, statement in statements.items():
        own = statement.gist.words
        shared = Counter(
            other for word in own if len(having[word]) <= COMMON_LIMIT for other in having[word] if other > key
        )
        for other, count in shared.items():
            theirs = statements[other].gist.words
            if 2 * count >= min(len(own), len(theirs)):
                pair = pair_of(key, other)
                seen.add(pair)
                yield pair, len(own & theirs) / len(own | theirs)
    for pair in alike:
        if pair not in seen and pair[0] in statements and pair[1] in statements and pair[0] != pair[1]:
            yield pair, 0.0
