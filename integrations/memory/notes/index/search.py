"""A search: dates and words, both engines, filters before ranking, what is shown; degrades, never guesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hub.memory.contract import Filters, Hit
from hub.memory.days_asked import asked_for
from hub.memory.places import day_of
from hub.memory.ranking import Candidate, Ranked, RankingRules, rank, snippet
from hub.memory.words import words_asked
from integrations.memory.notes.hits import hit_of
from integrations.memory.notes.index.catalog import Row
from integrations.memory.notes.index.contract import EngineUnavailable
from integrations.memory.notes.index.generations import CATALOG, KEYWORDS, UNSOUND, VECTORS, Generation
from integrations.memory.notes.index.passages import Outline
from integrations.memory.notes.worker_job import TRANSCRIPTS

if TYPE_CHECKING:
    from integrations.memory.notes.index.contract import Vector

CANDIDATES = 4
"""Times the number of passages wanted, from each engine."""
LATEST_SCORE = 0.25


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, taken apart.

    Attributes:
        text: The question without its dates.
        words: What is looked for by word.
        dates: For each date that was named, the marks of which one must be there.
        areas, filters: What may be looked at.
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
class Found:
    """What a search brought: the passages, the engines that were asked, and why others were not."""

    hits: list[Hit] = field(default_factory=list)
    engines: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class NothingLeft(Exception):
    """Neither engine can be asked; whoever asked looks through the files."""


def ask(query: str, areas: Sequence[str], filters: Filters, limit: int, today: date) -> Asked:
    """Take a question apart."""
    rest, dates = asked_for(query, today)
    words = frozenset(words_asked(rest))
    return Asked(rest.strip(), words, tuple(dates), tuple(dict.fromkeys(areas)), filters, limit, today)


def rules_of(settings: Mapping[str, Any]) -> RankingRules:
    """Return the rules of ranking from the section `memory.search`."""
    known = {name: settings[name] for name in RankingRules.__struct_fields__ if name in settings}
    return RankingRules(**known)


class Search:
    """One search in one generation; every method blocks, and is called in the thread of the engines.

    Args:
        generation: Where.
        asked: What.
        leaving_out: What is told of conversations that something is left out of, by path.

    Attributes:
        found: What it brought, once `by_word` and `by_meaning` were called.
    """

    def __init__(self, generation: Generation, asked: Asked, leaving_out: Mapping[str, str]) -> None:
        self._generation = generation
        self._asked = asked
        self._leaving_out = leaving_out
        self.found = Found()
        self._allowed: set[int] | None = None
        self._by_word: list[int] = []
        self._narrowed = False

    def by_word(self) -> None:
        """Ask the engine for words.

        Raises:
            NothingLeft: The catalog is damaged, without which nothing can be said of who may see what.
        """
        self._narrow()
        asked, keywords = self._asked, self._generation.keywords
        if not asked.words:
            return
        if keywords is None:
            self.found.missing.append(_lacks("words", self._generation.broken.get(KEYWORDS, "there is none")))
            return
        try:
            # With its marks, what is of the day that was named is found though it has none of the words.
            query = " ".join([asked.text, *sorted(mark for marks in asked.dates for mark in marks)])
            found = keywords.search(query, asked.areas, CANDIDATES * asked.limit, self._allowed)
        except UNSOUND as error:
            self._generation.note_damage(KEYWORDS, error)
            self.found.missing.append(_lacks("words", str(error)))
            return
        self._by_word = [id_ for id_, _ in found]
        self.found.engines.append(f"keywords:{keywords.name}")

    def by_meaning(self, vector: Vector | None, why_not: str | None, rules: RankingRules) -> None:
        """Ask the engine for vectors, put both together and find the best.

        Args:
            vector: Of what is asked; None when there is none.
            why_not: Why there should be one and is none.
            rules: How passages are ranked.

        Raises:
            NothingLeft: No engine could be asked.
        """
        asked = self._asked
        if not asked.words:
            self._latest()
            return
        by_meaning, cosines = self._near(vector, why_not)
        if not self.found.engines:
            raise NothingLeft("; ".join(self.found.missing))
        ranks = {id_: place for place, id_ in enumerate(self._by_word)}
        candidates = {
            each.id: Candidate(
                each.id, each.words, aging_day(each.path, each.day), cosines.get(each.id), ranks.get(each.id)
            )
            for each in self._outlines([*self._by_word, *by_meaning])
        }
        while True:
            ranked = rank(candidates.values(), rules, asked.today, asked.limit)
            rows = self._rows(each.id for each in ranked)
            unsound = [each.id for each in ranked if each.id not in rows]
            if not unsound:
                break
            for id_ in unsound:
                del candidates[id_]
        self.found.hits = [_hit(rows[each.id], each, asked.words) for each in ranked]
        self._note_damage()

    def _narrow(self) -> None:
        """Decide what may be looked at, before anything is ranked."""
        asked, catalog = self._asked, self._generation.catalog
        try:
            self._allowed = catalog.allowed(asked.areas, asked.filters)
            for marks in asked.dates:
                marked = catalog.marked(marks, asked.areas)
                narrower = marked if self._allowed is None else marked & self._allowed
                if narrower:  # a date that nothing has says nothing about what is meant
                    self._allowed, self._narrowed = narrower, True
        except UNSOUND as error:
            self._generation.note_damage(CATALOG, error)
            raise NothingLeft(_lacks("who may see what", str(error))) from error

    def _near(self, vector: Vector | None, why_not: str | None) -> tuple[list[int], dict[int, float]]:
        asked, generation = self._asked, self._generation
        vectors = generation.vectors
        if vector is None or vectors is None:
            reason = why_not or generation.broken.get(VECTORS) or generation.away
            if reason is not None and not self._is_empty():
                self.found.missing.append(_lacks("vectors", reason))
            return [], {}
        try:
            found = vectors.search(vector, asked.areas, CANDIDATES * asked.limit, self._allowed)
            cosines = dict(found)
            cosines |= vectors.cosines(vector, [id_ for id_ in self._by_word if id_ not in cosines])
        except EngineUnavailable as error:
            generation.lose_vectors(error)
            self.found.missing.append(_lacks("vectors", error.text))
            return [], {}
        except (ValueError, *UNSOUND) as error:
            generation.note_damage(VECTORS, error)
            self.found.missing.append(_lacks("vectors", str(error)))
            return [], {}
        self.found.engines.insert(0, f"vectors:{vectors.name}")
        return [id_ for id_, _ in found], cosines

    def _is_empty(self) -> bool:
        """Whether there is no passage yet that could have a vector: then nothing is missed without them."""
        generation = self._generation
        try:
            return generation.embedder is None and not generation.catalog.waiting(1)
        except UNSOUND as error:
            generation.note_damage(CATALOG, error)
            return False

    def _latest(self) -> None:
        """Return the newest entries, of a day when one was named."""
        asked, generation = self._asked, self._generation
        try:
            ids = generation.catalog.latest(asked.areas, asked.limit, self._allowed)
            if self._narrowed and len(ids) < asked.limit and self._allowed is not None:
                ids += sorted(self._allowed - set(ids), reverse=True)[: asked.limit - len(ids)]
        except UNSOUND as error:
            generation.note_damage(CATALOG, error)
            raise NothingLeft(_lacks("the catalog", str(error))) from error
        rows = self._rows(ids)
        why: dict[str, float] = {}
        latest = [Ranked(id_, LATEST_SCORE, None, None, why) for id_ in ids if id_ in rows]
        self.found.hits = [_hit(rows[each.id], each, frozenset()) for each in latest]
        self.found.engines.append("latest")
        self._note_damage()

    def _outlines(self, ids: Iterable[int]) -> list[Outline]:
        """Return what passages are ranked by; of those that are damaged, nothing."""
        wanted = list(dict.fromkeys(ids))
        try:
            return self._generation.catalog.outlines(wanted)
        except UNSOUND as error:
            self._generation.note_damage(CATALOG, error)
        rows = self._generation.rows(wanted).values()
        return [Outline(row.id, row.path, row.chunk.day, row.words) for row in rows]

    def _rows(self, ids: Iterable[int]) -> dict[int, Row]:
        """Return what was found, of the areas asked for alone, whatever an engine says."""
        areas = set(self._asked.areas)
        rows = self._generation.rows(dict.fromkeys(ids))
        there = self._generation.without_forgotten(rows.values(), self._leaving_out)
        return {row.id: row for row in there if row.area in areas}

    def _note_damage(self) -> None:
        if CATALOG in self._generation.broken:
            self.found.missing.append("some passages are damaged and left out; the index is being built anew")


def aging_day(path: str, day: str | None) -> date | None:
    """Return the day from which a passage ages; None for what stands in a file that is about no day."""
    if day is None or (day_of(path) is None and not path.startswith(f"{TRANSCRIPTS}/")):
        return None
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None


def _hit(row: Row, ranked: Ranked, words: frozenset[str]) -> Hit:
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


def _lacks(what: str, why: str) -> str:
    return f"{what} cannot be asked: {why.rstrip('.')}"
