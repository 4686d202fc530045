"""An index in memory over memory files: read again when a file changed, searched by words; it can always be rebuilt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from hub.memory.dates import marks_in, marks_of_day
from hub.memory.markdown import PASSAGE_LIMIT, Passage, passages
from hub.memory.words import positions, words_of
from hub.security.root import Entry as FileEntry
from integrations.memory.notes.places import day_of

HALF_LIFE_DAYS = 30.0
Stamp = tuple[int, int, int]
Term = frozenset[str]
"""Words of which one must be there; mostly there is one."""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One memory file, taken apart.

    Attributes:
        path: Relative to the workspace.
        stamp: Time, size and inode by which a change is seen.
        passages: What is in it.
        sizes: Words of each passage.
        postings: For each word the numbers of the passages that have it.
        days: The day each passage belongs to.
    """

    path: str
    stamp: Stamp
    passages: tuple[Passage, ...]
    sizes: tuple[int, ...]
    postings: dict[str, list[int]]
    days: tuple[date | None, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A passage with its score, 0 to 1."""

    path: str
    passage: Passage
    score: float


def stamp_of(entry: FileEntry) -> Stamp:
    """Return what changes when a file does."""
    return (entry.mtime_ns, entry.size_bytes, entry.inode)


def index_file(path: str, text: str, stamp: Stamp) -> IndexedFile:
    """Take a file apart and note where each word is."""
    file_day = day_of(path)
    found = passages(text)
    postings: dict[str, list[int]] = {}
    sizes, days = [], []
    for number, passage in enumerate(found):
        own = words_of(passage.text)
        day = _day(passage) or file_day
        marks = [*marks_in(passage.text), *(marks_of_day(day) if day else ())]
        for word in {*own, *words_of(passage.heading), *marks}:
            postings.setdefault(word, []).append(number)
        sizes.append(len(own))
        days.append(day)
    return IndexedFile(path, stamp, tuple(found), tuple(sizes), postings, tuple(days))


def search(files: Iterable[IndexedFile], terms: list[Term], today: date, limit: int) -> list[Found]:
    """Return the passages that have the most telling of the words, the best first.

    The score is the share of what was asked that is there, weighed by how rare each word is, a little less for long and
    for old passages.
    """
    searched = list(files)
    matches = [_having(searched, term) for term in terms]
    total = sum(len(each.passages) for each in searched)
    weights = [math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5)) for found in matches]
    whole = sum(weights)
    if not whole:
        return []
    have: Counter[tuple[int, int]] = Counter()
    shares: dict[tuple[int, int], float] = {}
    for found, weight in zip(matches, weights, strict=True):
        for place in found:
            shares[place] = shares.get(place, 0.0) + weight
            have[place] += 1
    ranked = []
    for (file_number, number), share in shares.items():
        file = searched[file_number]
        density = min(1.0, have[file_number, number] / max(1, file.sizes[number]))
        recency = _recency(file.days[number], today)
        score = share / whole * (0.85 + 0.1 * density + 0.05 * recency)
        ranked.append(Found(file.path, file.passages[number], round(min(1.0, score), 4)))
    # Of equals the later entry comes first: days are added to at their end.
    ranked.sort(key=lambda each: (each.score, day_of(each.path) or date.min, each.passage.start_line), reverse=True)
    return ranked[:limit]


def latest(files: Iterable[IndexedFile], limit: int, score: float) -> list[Found]:
    """Return the newest entries, for a question that names nothing."""
    dated = [
        (day or date.min, file.path, number)
        for file in files
        for number, day in enumerate(file.days)
        if file.passages[number].is_item
    ]
    by_path = {file.path: file for file in files}
    dated.sort(reverse=True)
    return [Found(path, by_path[path].passages[number], score) for _, path, number in dated[:limit]]


def having_all(file: IndexedFile, terms: list[Term]) -> list[Passage]:
    """Return the list items of a file that have every term in their own text or date."""
    found = []
    for number, passage in enumerate(file.passages):
        if not passage.is_item:
            continue
        day = file.days[number]
        own = {*words_of(passage.text), *marks_in(passage.text), *(marks_of_day(day) if day else ())}
        if all(term & own for term in terms):
            found.append(passage)
    return found


def excerpt(text: str, words: frozenset[str]) -> str:
    """Return at most 700 characters of a passage, around the first of the words."""
    if len(text) <= PASSAGE_LIMIT:
        return text
    first = next(positions(text, words), 0)
    begin = max(0, min(first - PASSAGE_LIMIT // 4, len(text) - PASSAGE_LIMIT))
    return text[begin : begin + PASSAGE_LIMIT]


def _having(files: list[IndexedFile], term: Term) -> set[tuple[int, int]]:
    return {
        (file_number, number)
        for file_number, file in enumerate(files)
        for word in term
        for number in file.postings.get(word, ())
    }


def _day(passage: Passage) -> date | None:
    return date.fromisoformat(passage.day) if passage.day and _is_date(passage.day) else None


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _recency(day: date | None, today: date) -> float:
    if day is None:
        return 1.0
    age: timedelta = today - day
    return float(0.5 ** (max(0, age.days) / HALF_LIFE_DAYS))
