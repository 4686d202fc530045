"""One search: parses the question, asks both engines within the filters, and ranks the results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hub.memory.contract import Filters, Hit
from hub.memory.days_asked import extract_days
from hub.memory.engine_contract import EngineUnavailable
from hub.memory.places import day_of
from hub.memory.ranking import Candidate, Ranked, RankingRules, rank, rarity, snippet
from hub.memory.words import query_words
from integrations.memory.notes.hits import hit_of
from integrations.memory.notes.index.index_version import UNSOUND, IndexVersion
from integrations.memory.notes.index.stored import StoredPassage
from integrations.memory.notes.job import TRANSCRIPTS

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

CANDIDATES = 4
"""Times the number of passages wanted, from each engine."""
LATEST_SCORE = 0.25
BESIDE_LIMIT = 200
"""Characters shown of an entry beside a hit."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question.

    Attributes:
        text: The question without its dates.
        words: The searched words.
        dates: For each named date, the marks of which one must be there.
        areas, filters: The limits of the search.
        limit: Passages wanted.
        today: The day on which it is asked.
    """

    text: str
    words: frozenset[str]
    dates: tuple[frozenset[str], ...]
    areas: tuple[str, ...]
    filters: Filters
    limit: int
    today: date


@dataclass(slots=True)
class SearchResult:
    """The result of a search: the passages, the engines used, and why others were not."""

    hits: list[Hit] = field(default_factory=list)
    engines: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class IndexUnusable(Exception):
    """The index is damaged and cannot be searched; the files have to be."""


def ask(query: str, areas: Sequence[str], filters: Filters, limit: int, today: date) -> ParsedQuestion:
    """Parse a query."""
    rest, dates = extract_days(query, today)
    words = frozenset(query_words(rest))
    return ParsedQuestion(rest.strip(), words, tuple(dates), tuple(dict.fromkeys(areas)), filters, limit, today)


def rules_of(settings: Mapping[str, Any]) -> RankingRules:
    """Return the rules of ranking from the section `memory.search`."""
    known = {name: settings[name] for name in RankingRules.__struct_fields__ if name in settings}
    return RankingRules(**known)


class Search:
    """One search in one version of an index; all methods block and run in the engine thread.

    Args:
        version: The index version to search.
        asked: The question.
        leaving_out: The omissions of conversations, by path.

    Attributes:
        found: The results, once `by_word` and `search_vectors` were called.
    """

    def __init__(self, version: IndexVersion, asked: ParsedQuestion, leaving_out: Mapping[str, str]) -> None:
        self._version = version
        self._asked = asked
        self._leaving_out = leaving_out
        self.found = SearchResult()
        self._allowed: set[int] | None = None
        self._of_date: set[int] = set()
        self._by_word: dict[int, float] = {}

    def by_word(self) -> None:
        """Search the keyword engine.

        Raises:
            IndexUnusable: The index is damaged.
        """
        with self._usable():
            self._narrow()
            asked, keywords = self._asked, self._version.keywords
            if not asked.words:
                return
            # With its marks, what is of the day that was named is found though it has none of the words.
            query = " ".join([asked.text, *sorted(mark for marks in asked.dates for mark in marks)])
            for allowed in self._rounds():
                self._by_word |= dict(keywords.search(query, asked.areas, CANDIDATES * asked.limit, allowed))
            self.found.engines.append(f"keywords:{keywords.name}")

    def search_vectors(self, vector: Vector | None, why_not: str | None, rules: RankingRules) -> None:
        """Search the vector engine, combine both and rank.

        Args:
            vector: The vector of the query; None when there is none.
            why_not: Why there is none although there should be.
            rules: How passages are ranked.

        Raises:
            IndexUnusable: The index is damaged.
        """
        with self._usable():
            if self._asked.words:
                self._rank(vector, why_not, rules)
            else:
                self._latest()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            with self._version.guard_damage():
                yield
        except UNSOUND as error:
            raise IndexUnusable(f"the index is damaged and is being built again: {error}") from error

    def _rank(self, vector: Vector | None, why_not: str | None, rules: RankingRules) -> None:
        asked = self._asked
        by_meaning, cosines = self._near(vector, why_not)
        outlines = self._version.catalog.outlines(list(dict.fromkeys([*self._by_word, *by_meaning])))
        candidates = [
            Candidate(
                each.id,
                each.words,
                aging_day(each.path, each.day),
                cosines.get(each.id),
                self._by_word.get(each.id),
                tuple(id_ for id_ in (each.before, each.after) if id_ is not None),
                each.id in self._of_date,
            )
            for each in outlines
        ]
        words = rarity(asked.words, candidates)
        ranked = rank(candidates, rules, asked.today, asked.limit, words)
        beside = {each.id: (each.before, each.after) for each in outlines}
        rows = self._rows(id_ for each in ranked for id_ in (each.id, *beside[each.id]) if id_ is not None)
        shown = {each.id for each in ranked}
        self.found.hits = [
            replace(
                _hit(rows[each.id], each, words),
                before=self._beside(rows, rows[each.id], beside[each.id][0], shown),
                after=self._beside(rows, rows[each.id], beside[each.id][1], shown),
            )
            for each in ranked
            if each.id in rows
        ]

    def _beside(
        self, rows: Mapping[int, StoredPassage], row: StoredPassage, id_: int | None, shown: Collection[int]
    ) -> str | None:
        """Return the entry beside a hit, if it has the same person and trust, and is no hit itself."""
        other = rows.get(id_) if id_ is not None and id_ not in shown else None
        if other is None or (self._allowed is not None and other.id not in self._allowed):
            return None
        mine, its = row.chunk, other.chunk
        if (mine.trusted, mine.person, mine.session) != (its.trusted, its.person, its.session):
            return None
        return its.text if len(its.text) <= BESIDE_LIMIT else f"{its.text[: BESIDE_LIMIT - 1]}…"

    def _narrow(self) -> None:
        """Decide which passages may be searched, and which match the named date."""
        asked, catalog = self._asked, self._version.catalog
        self._allowed = catalog.filtered_ids(asked.areas, asked.filters)
        of_date: set[int] | None = self._allowed
        for marks in asked.dates:
            marked = catalog.marked_ids(marks, asked.areas)
            narrower = marked if of_date is None else marked & of_date
            if narrower:  # a date that nothing has says nothing about what is meant
                self._of_date = of_date = narrower

    def _rounds(self) -> list[set[int] | None]:
        """Return the sets to search: all allowed passages, and those of the date separately."""
        return [self._allowed, self._of_date] if self._of_date else [self._allowed]

    def _near(self, vector: Vector | None, why_not: str | None) -> tuple[list[int], dict[int, float]]:
        asked, version = self._asked, self._version
        vectors = version.vectors
        if vector is None or vectors is None:
            reason = why_not or version.outdated or version.away
            if reason is not None and not self._is_empty():
                self.found.missing.append(_lacks(reason))
            return [], {}
        try:
            cosines: dict[int, float] = {}
            for allowed in self._rounds():
                cosines |= dict(vectors.search(vector, asked.areas, CANDIDATES * asked.limit, allowed))
            found = list(cosines)
            cosines |= vectors.cosines(vector, [id_ for id_ in self._by_word if id_ not in cosines])
        except EngineUnavailable as error:
            version.lose_vectors(error)
            self.found.missing.append(_lacks(error.text))
            return [], {}
        self.found.engines.insert(0, f"vectors:{vectors.name}")
        return found, cosines

    def _is_empty(self) -> bool:
        """Whether no passage can have a vector yet, so that nothing is missed without them."""
        return self._version.embedder is None and not self._version.catalog.waiting(1)

    def _latest(self) -> None:
        """Return the newest entries, of a day when one was named."""
        asked = self._asked
        ids = self._version.catalog.latest(asked.areas, asked.limit, self._of_date or self._allowed)
        ids += sorted(self._of_date - set(ids), reverse=True)[: asked.limit - len(ids)]
        rows = self._rows(ids)
        why: dict[str, float] = {}
        latest = [Ranked(id_, LATEST_SCORE, None, None, why) for id_ in ids if id_ in rows]
        self.found.hits = [_hit(rows[each.id], each, {}) for each in latest]
        self.found.engines.append("latest")

    def _rows(self, ids: Iterable[int]) -> dict[int, StoredPassage]:
        """Return the found rows, restricted to the requested areas whatever an engine says."""
        areas = set(self._asked.areas)
        rows = self._version.catalog.rows(dict.fromkeys(ids))
        allowed = self._version.without_forgotten(rows.values(), self._leaving_out)
        return {row.id: row for row in allowed if row.area in areas}


def aging_day(path: str, day: str | None) -> date | None:
    """Return the day from which a passage ages; None for a file without a day."""
    if day is None or (day_of(path) is None and not path.startswith(f"{TRANSCRIPTS}/")):
        return None
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None


def _hit(row: StoredPassage, ranked: Ranked, words: Mapping[str, float]) -> Hit:
    chunk = row.chunk
    text, before = snippet(chunk.text, words)
    start_line, end_line = chunk.start_line, chunk.end_line
    if text != chunk.text and not row.path.startswith(f"{TRANSCRIPTS}/"):
        start_line = min(chunk.start_line + before, chunk.end_line)
        end_line = min(start_line + text.count("\n"), chunk.end_line)
    return replace(
        hit_of(row.path, chunk, text, ranked.score),
        start_line=start_line,
        end_line=end_line,
        vector_score=ranked.vector_score,
        text_score=ranked.text_score,
        why=dict(ranked.why) or None,
    )


def _lacks(why: str) -> str:
    return f"vectors cannot be asked: {why.rstrip('.')}"
