"""The fallback search: reads the files themselves, in English and Chinese, within limits of time and size.

No index is kept. A file is parsed only when one of the requested words may be in it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from msgspec import Struct, field
from msgspec.structs import replace

from hub.memory.contract import Filters, Hit
from hub.memory.dates import marks_of_day, search_marks
from hub.memory.markdown import Passage, passages
from hub.memory.places import day_of
from hub.memory.ranking import snippet
from hub.memory.words import fold, words_of
from integrations.memory.notes.files.matching import Term, day_in, may_have, passes
from integrations.memory.notes.hits import hit_of

TIME_LIMIT_S = 4.0
SIZE_LIMIT = 64 * 1_048_576
"""Characters that are read."""
HALF_LIFE_DAYS = 30.0
SCORE_LIMIT = 0.2
"""What has less than this share of what was asked is no answer."""
LATEST_SCORE = 0.25
PAIRS_LIMIT = 600
"""Entries that are compared with each other, the newest."""
_PER_PASSAGE = 120
"""About how many characters a passage has, to guess how many there are in files that are not taken apart."""


class Text(Struct, frozen=True):
    """A file to search, and whether its place is trusted."""

    path: str
    text: str
    trusted: bool = True


class GrepResult(Struct):
    """A passage, the matched terms, and its final score."""

    path: str
    passage: Passage
    day: date | None
    matches: frozenset[int]
    words: int
    score: float = 0.0


class Scan(Struct):
    """The result of a file search: hits, amount of text, and whether it was complete."""

    found: list[GrepResult] = field(default_factory=list)
    passages: int = 0
    is_whole: bool = True


def search(
    texts: Iterable[Text],
    terms: Sequence[Term],
    filters: Filters,
    today: date,
    limit: int,
    *,
    limit_s: float = TIME_LIMIT_S,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[list[Hit], bool]:
    """Return the passages with the most informative words, best first, and whether all files were read.

    The score is the share of query words in a passage, weighted by how rare each word is, a little less for long and
    for old passages. Without terms, the newest entries are given.

    Args:
        texts: The files, in the order in which they are read.
        terms: The search terms.
        filters: Conditions on passages.
        today: The day from which ages are counted.
        limit: How many passages at most.
        limit_s: The time after which no further file is read.
        clock: Returns seconds; measures `limit_s`.
    """
    scan = _scan(texts, terms, filters, limit, limit_s, clock)
    if not terms:
        newest = sorted(scan.found, key=lambda each: (_age(each.day, today), each.path, -each.passage.start_line))
        return [_hit(each, LATEST_SCORE, {}, None) for each in newest[:limit]], scan.is_whole
    having = Counter(number for each in scan.found for number in each.matches)
    total = max(scan.passages, len(scan.found))
    weights = [math.log(1 + (total - having[number] + 0.5) / (having[number] + 0.5)) for number in range(len(terms))]
    whole = sum(weights) or 1.0
    for each in scan.found:
        share = sum(weights[number] for number in each.matches) / whole
        density = min(1.0, len(each.matches) / max(1, each.words))
        each.score = round(min(1.0, share * (0.85 + 0.1 * density + 0.05 * _recency(each.day, today))), 4)
    # Of equals the later entry comes first: days are added to at their end.
    ranked = sorted(
        (each for each in scan.found if each.score >= SCORE_LIMIT),
        key=lambda each: (-each.score, _age(each.day, today), each.path, -each.passage.start_line),
    )
    words: dict[str, float] = {}
    for term, weight in zip(terms, weights, strict=True):
        words |= dict.fromkeys(term, weight)
    return [_hit(each, each.score, words, rank) for rank, each in enumerate(ranked[:limit])], scan.is_whole


def similar(texts: Iterable[Text], threshold: float, limit: int) -> list[tuple[Hit, Hit, float]]:
    """Return pairs of entries with common words and their share (Jaccard), highest first; only of the newest."""
    entries: list[tuple[GrepResult, frozenset[str]]] = []
    for file in texts:
        for passage in passages(file.text):
            own = frozenset(words_of(passage.text))
            if passage.is_item and not passage.struck and own:
                entries.append((_found(file, passage, frozenset(), len(own)), own))
        if len(entries) >= PAIRS_LIMIT:
            break
    pairs = [
        (one, other, len(mine & theirs) / len(mine | theirs))
        for number, (one, mine) in enumerate(entries[:PAIRS_LIMIT])
        for other, theirs in entries[number + 1 : PAIRS_LIMIT]
        if len(mine & theirs) >= threshold * max(len(mine), len(theirs))
    ]
    pairs = [pair for pair in pairs if pair[2] >= threshold]
    pairs.sort(key=lambda pair: (-pair[2], pair[0].path, pair[0].passage.start_line, pair[1].path))
    return [
        (_hit(one, 1.0, {}, None), _hit(other, 1.0, {}, None), round(share, 4)) for one, other, share in pairs[:limit]
    ]


def _scan(
    texts: Iterable[Text],
    terms: Sequence[Term],
    filters: Filters,
    limit: int,
    limit_s: float,
    clock: Callable[[], float],
) -> Scan:
    scan = Scan()
    until = clock() + limit_s
    size = 0
    for file in texts:
        if clock() > until or size > SIZE_LIMIT:
            scan.is_whole = False
            break
        size += len(file.text)
        if terms and not _may_have(file, terms):
            scan.passages += len(file.text) // _PER_PASSAGE + 1
            continue
        for passage in passages(file.text):
            if passage.struck:
                continue
            scan.passages += 1
            _look(scan, file, passage, terms, filters)
        if not terms and len(scan.found) >= limit and day_of(file.path) is not None:
            break  # days come newest first
    return scan


def _look(scan: Scan, file: Text, passage: Passage, terms: Sequence[Term], filters: Filters) -> None:
    found = _found(file, passage, frozenset(), 0)
    if not passes(found.passage, filters):
        return
    if not terms:
        if passage.is_item:
            scan.found.append(found)
        return
    words = words_of(passage.text)
    marks = [*search_marks(passage.text), *(marks_of_day(found.day) if found.day else ())]
    own = {*words, *words_of(passage.heading), *marks}
    matches = frozenset(number for number, term in enumerate(terms) if term & own)
    if matches:
        found.matches, found.words = matches, len(words)
        scan.found.append(found)


def _found(file: Text, passage: Passage, matches: frozenset[int], words: int) -> GrepResult:
    if not file.trusted:
        # In a place nobody vouches for, nobody is believed who says who said something.
        passage = replace(passage, trusted=False, kind=None, person=None, session=None)
    return GrepResult(file.path, passage, day_in(file.path, passage), matches, words)


def _may_have(file: Text, terms: Sequence[Term]) -> bool:
    """Whether parsing a file may find one of the terms: cheap, and never falsely negative."""
    folded = fold(file.text)
    marks: list[str] | None = None
    for word in frozenset[str]().union(*terms):
        if not word.startswith("@"):
            if may_have(folded, word):
                return True
            continue
        if marks is None:
            day = day_of(file.path)
            marks = [*search_marks(file.text), *(marks_of_day(day) if day else ())]
        if any(mark == word or mark.startswith(f"{word}-") for mark in marks):
            return True
    return False


def _hit(found: GrepResult, score: float, words: Mapping[str, float], rank: int | None) -> Hit:
    text, _ = snippet(found.passage.text, words)
    return replace(
        hit_of(found.path, found.passage, text, score),
        text_score=None if rank is None else round(1 / (1 + rank), 4),
        day=found.day.isoformat() if found.day else None,
    )


def _age(day: date | None, today: date) -> int:
    return (today - (day or date.min)).days


def _recency(day: date | None, today: date) -> float:
    if day is None:
        return 1.0
    return float(0.5 ** (max(0, _age(day, today)) / HALF_LIFE_DAYS))
