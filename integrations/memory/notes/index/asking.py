"""Answers a search in an index: embeds the query while words are searched, and reports missing parts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from hub.memory.contract import Filters, SearchAnswer
from hub.memory.ranking import RankingRules, rules_for
from integrations.memory.notes.index.agent_index import AgentIndex
from integrations.memory.notes.index.contract import EmbeddingFailed
from integrations.memory.notes.index.engine_thread import Urgency
from integrations.memory.notes.index.index_version import IndexVersion
from integrations.memory.notes.index.index_work import EMBEDDINGS, IndexUnavailable
from integrations.memory.notes.index.search import IndexUnusable, ParsedQuestion, Search, SearchResult, ask, rules_of

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector

BUILD_WAIT_S = 2.0
"""How long a search waits for an index that is built for the first time."""
LOOK_WAIT_S = 0.25
"""How long it waits for the first look at the files after a start, when there is an index already."""
LOOK_SHARE = 0.25
"""Of the time limit of an answer, how much may go by with that."""
CHOICE_WAIT_S = 1.0
QUERY_WAIT_S = 4.0
RANKING_S = 0.02
"""What is left for the ranking of the time limit of an answer."""
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The vector of a query, or why it is missing."""

    vector: Vector | None = None
    why_not: str | None = None


async def search(
    index: AgentIndex,
    query: str,
    areas: Sequence[str],
    filters: Filters,
    limit: int | None,
    today: date,
    within_s: float | None = None,
) -> SearchAnswer:
    """Return the best passages of some areas; after `within_s`, without the parts still missing.

    Raises:
        IndexUnavailable: There is no index yet, or it is damaged.
    """
    began = time.perf_counter()
    until = None if within_s is None else began + within_s - RANKING_S
    await index.open()
    await _wait_for_index(index, until)
    rules = rules_of(index.settings.search)
    asked = ask(query, areas, filters, limit or rules.limit, today)
    try:
        found = await _found(index, asked, rules, until)
    except IndexUnusable as error:
        raise IndexUnavailable(str(error)) from error
    finally:
        index.repair()
    missing = list(dict.fromkeys([*found.missing, *index.engines.notes.values()]))
    took_ms = (time.perf_counter() - began) * 1_000
    return SearchAnswer(
        found.hits, found.engines, round(took_ms, 3), "; ".join(each.rstrip(". ") for each in missing) or None
    )


async def _wait_for_index(index: AgentIndex, until: float | None) -> None:
    if index.first_look.is_set():
        return
    wait_s = BUILD_WAIT_S if index.version is None else LOOK_WAIT_S
    if until is not None:
        wait_s = min(wait_s, (until - time.perf_counter()) * LOOK_SHARE)
    try:
        async with asyncio.timeout(wait_s):
            await index.first_look.wait()
    except TimeoutError:
        return


async def _found(index: AgentIndex, asked: ParsedQuestion, rules: RankingRules, until: float | None) -> SearchResult:
    """Search in the present index; repeated if another one replaced it meanwhile."""
    meaning: asyncio.Task[_Meaning] | None = None
    try:
        for _ in range(ATTEMPTS):
            version = index.version
            if version is None:
                raise IndexUnavailable(_why_none(index))
            one = Search(version, asked, index.leaving_out)
            if meaning is None and asked.words and asked.areas:
                meaning = index.begin(_meaning(index, asked.text))
            if not await index.in_thread(partial(_unless_closed, version, one.by_word), Urgency.SEARCH):
                continue
            vector, why_not = None, None
            if meaning is not None:
                result = await _by_then(meaning, until)
                vector, why_not = _fitting(result, version, index)
            finish = partial(one.search_vectors, vector, why_not, rules_for(rules, asked.text, _model(index)))
            if await index.in_thread(partial(_unless_closed, version, finish), Urgency.SEARCH):
                return one.found
    finally:
        # A vector that comes too late is kept for the next time, and the connection stays warm.
        if meaning is not None and until is None:
            meaning.cancel()
    raise IndexUnavailable("the index was rebuilt several times while it was searched; try again")


def _model(index: AgentIndex) -> str | None:
    chosen = index.shared.embedders.chosen(index.settings)
    return chosen.embedder.id.model if chosen is not None and chosen.embedder is not None else None


def _unless_closed(version: IndexVersion, call: Callable[[], None]) -> bool:
    if version.closed:
        return False
    call()
    return True


async def _by_then(meaning: asyncio.Task[_Meaning], until: float | None) -> _Meaning:
    if until is None:
        return await meaning
    done, _ = await asyncio.wait([meaning], timeout=max(0.0, until - time.perf_counter()))
    return meaning.result() if done else _Meaning(why_not="who makes them did not answer in time")


async def _meaning(index: AgentIndex, text: str) -> _Meaning:
    """Return the vector of a query; never raises."""
    if not index.settings.wants_vectors:
        return _Meaning()
    chosen = index.shared.embedders.chosen(index.settings)
    if chosen is None or chosen.embedder is None:
        try:
            async with asyncio.timeout(CHOICE_WAIT_S):
                chosen = await index.shared.embedders.get(index.settings)
        except TimeoutError:
            return _Meaning(why_not="it is not known yet who makes vectors")
    if chosen.embedder is None:
        return _Meaning(why_not=" ".join(chosen.notes) or "nobody makes vectors")
    try:
        async with asyncio.timeout(QUERY_WAIT_S):
            return _Meaning(await chosen.embedder.query(text))
    except EmbeddingFailed as error:
        return _Meaning(why_not=error.text)
    except TimeoutError:
        return _Meaning(why_not=f"{chosen.embedder.id.shown} took longer than {QUERY_WAIT_S:g} s")


def _fitting(meaning: _Meaning, version: IndexVersion, index: AgentIndex) -> tuple[Vector | None, str | None]:
    """Return the vector if the index can be searched with it, else why not."""
    if meaning.vector is None:
        return None, meaning.why_not
    chosen = index.shared.embedders.chosen(index.settings)
    if version.embedder is None:
        return None, index.problems.get(EMBEDDINGS, "no passage has a vector yet")
    if chosen is None or version.embedder != chosen.fingerprint or version.dimensions != len(meaning.vector):
        return None, "the vectors are being made again by another model"
    return meaning.vector, None


def _why_none(index: AgentIndex) -> str:
    if (built := index.building) is not None:
        return f"the index is being built ({built.done} of {built.total} files)"
    return index.problems.get("index", "there is no index yet")
