"""Finds the rows that can match a filter, by its words in the stored data, so that the others are never built.

What is found is more than what matches, never less: a row is made of what is stored of it and of what lies beside it,
so that both are looked through, and whatever is tied to a find is found with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from hub.core.sql import SqlConnection

FOUND_LIMIT = 2_000
"""Finds in one table; with more, rows are looked through in their order, and a page is soon full."""
VALUES_LIMIT = 30_000
"""Values of one statement; databases take 32 766."""
_OWN = (  # as one text: a word that is searched may be the beginning or the end of one of them
    "a answer answered applied asked at be budget called came changed closed command conversation could delivered "
    "did do does else errors for from home hub instead is left list locked looked may memory message motion no not "
    "now of off on opened program question ran read said saw searched sees settings somebody started the those to "
    "turned unlocked up used was web went were what who with work write wrote"
)
"""The words of the hub's own titles and reasons, which are in no table."""
_RUNS = re.compile(r"[a-z0-9]+|[^\W\d_a-zA-Z]+")


class Found(Struct):
    """The records that hold a word.

    Attributes:
        contexts: The contexts of states and events, and of runs.
        runs: Ids of runs.
        positions: The positions of rows that match by themselves, by the letter of their source.
    """

    contexts: set[str]
    runs: set[str]
    positions: dict[str, set[int]]


class TooMany(Exception):
    """There are so many finds that narrowing is no gain."""


def word_of(text: str) -> str | None:
    """Return the longest word of a search that is written in a table as it is; None when all may be the hub's own.

    It is in lower case: of letters that SQLite knows no small form of, those before and behind are taken.
    """
    parts: list[str] = []
    for run in _RUNS.findall(text.casefold().strip("s")):
        if run.isascii():
            parts += run.split("ss")  # which may stand for ß, as one of them may at either end
        else:
            parts += re.findall(r"[^\W\d_]+", "".join(each if each == each.upper() else " " for each in run))
    whole = [part for part in parts if part and part not in _OWN]
    return max(whole, key=len, default=None)


def in_hub(connection: SqlConnection, word: str, titled: Sequence[str], found: Found) -> None:
    """Add the places of a word in the hub database.

    Args:
        titled: Keys of conversations that have it in their title.

    Raises:
        TooMany: It is in too many rows.
    """
    pattern = f"%{word}%"  # a word has letters alone
    runs = _all(
        connection,
        "SELECT id, context_id FROM runs WHERE lower(agent_id || ' ' || coalesce(model, '') || ' '"
        " || coalesce(error, '') || ' ' || coalesce(authority, '')) LIKE ?",
        (pattern,),
    )
    keys = {*titled, *(key for (key,) in _all(connection, _SUBAGENTS, (pattern,)))}
    runs += _among(connection, _OF_SESSIONS, keys)
    said = _all(
        connection,
        "SELECT position, run_id FROM inbox WHERE lower(channel || ' ' || coalesce(person, '') || ' '"
        " || coalesce(principal, '') || ' ' || coalesce(reason, '') || ' '"
        " || substr(coalesce(message, ''), 1, 8000)) LIKE ?",
        (pattern,),
    )
    asked = _all(
        connection,
        "SELECT position, run_id FROM approvals WHERE lower(kind || ' ' || title || ' ' || text || ' '"
        " || details || ' ' || reason || ' ' || requested_by || ' ' || coalesce(decided_by, '')) LIKE ?",
        (pattern,),
    )
    found.positions["m"] = {position for position, _ in said}
    found.positions["a"] = {position for position, _ in asked}
    found.runs |= {id for id, _ in runs} | {id for _, id in (*said, *asked) if id is not None}
    found.contexts |= {context for _, context in runs if context is not None}
    contexts = _among(connection, _CONTEXTS, found.runs)
    found.contexts |= {context for (context,) in contexts if context is not None}


def in_history(connection: SqlConnection, word: str, found: Found) -> None:
    """Add the places of a word in the history, and the records tied to all finds: causes and effects.

    Raises:
        TooMany: It is in too many rows.
    """
    pattern = f"%{word}%"
    for query in (_STATES, _EVENTS):
        for row in _all(connection, query, (pattern,)):
            found.contexts |= {each for each in row if each is not None}
    failed = {run_id for (run_id,) in _all(connection, _TRACES, (pattern,))}
    for context_id, data in connection.execute(_TRIGGERED).fetchall() if failed else ():
        if orjson.loads(data).get("run_id") in failed:
            found.contexts.add(context_id)
    found.runs |= {run_id for (run_id,) in _all(connection, _FELL_BACK, (pattern,))}
    found.positions["s"] = {position for (position,) in _all(connection, _SKIPPED, (pattern,))}
    for context_id, parent_id, data in connection.execute(_BEGUN).fetchall():
        begun = orjson.loads(data)
        tied = {context_id, *(begun.get("chain") or ()), *([parent_id] if parent_id else [])}
        if begun.get("run_id") in found.runs or not tied.isdisjoint(found.contexts):
            found.runs.add(str(begun.get("run_id")))
            found.contexts |= tied
    for source, query in (("c", _NOTED_STATES), ("e", _NOTED_EVENTS)):
        found.positions[source] = {id for (id,) in _among(connection, query, found.contexts, found.contexts)}


def of_runs(connection: SqlConnection, found: Found) -> None:
    """Add the positions of the runs and the approvals that are tied to the finds."""
    found.positions["r"] = {position for (position,) in _among(connection, _RUNS_OF, found.runs, found.contexts)}
    found.positions["a"] |= {position for (position,) in _among(connection, _ASKED_BY, found.runs)}


_OF_SESSIONS = "SELECT id, context_id FROM runs WHERE session_key IN ({})"
_CONTEXTS = "SELECT context_id FROM runs WHERE id IN ({})"
_RUNS_OF = "SELECT position FROM runs WHERE id IN ({}) OR context_id IN ({})"
_ASKED_BY = "SELECT position FROM approvals WHERE run_id IN ({})"
_NOTED_STATES = "SELECT id FROM states WHERE noted = 1 AND (context_id IN ({}) OR parent_id IN ({}))"
_NOTED_EVENTS = "SELECT id FROM events WHERE noted = 1 AND (context_id IN ({}) OR parent_id IN ({}))"
_SUBAGENTS = "SELECT session_key FROM subagents WHERE lower(task) LIKE ?"
_STATES = (
    "SELECT context_id, parent_id FROM states WHERE noted = 1 AND lower(entity_id || ' '"
    " || coalesce(before, '') || ' ' || coalesce(state, '') || ' '"
    " || coalesce(principal, '') || ' ' || coalesce(person, '') || ' ' || coalesce(attributes, '')) LIKE ?"
)
_EVENTS = (
    "SELECT context_id, parent_id FROM events WHERE (noted = 1"
    " OR type IN ('automation_finished', 'heartbeat', 'service_called')) AND lower(data) LIKE ?"
)
_TRACES = "SELECT run_id FROM traces WHERE outcome != 'finished' AND lower(data) LIKE ?"
_TRIGGERED = "SELECT context_id, data FROM events WHERE type = 'automation_triggered' AND context_id IS NOT NULL"
_FELL_BACK = """SELECT run_id FROM run_traces WHERE data LIKE '%"failed":[{%' AND lower(data) LIKE ?"""
_SKIPPED = "SELECT id FROM not_run WHERE lower(automation_id || ' ' || data) LIKE ?"
_BEGUN = "SELECT context_id, parent_id, data FROM events WHERE type = 'run_started'"


def _all(connection: SqlConnection, query: str, values: Sequence[Any]) -> list[Any]:
    rows = connection.execute(f"{query} LIMIT {FOUND_LIMIT + 1}", values).fetchall()
    if len(rows) > FOUND_LIMIT:
        raise TooMany
    return rows


def _among(connection: SqlConnection, query: str, *groups: Collection[str]) -> list[Any]:
    """Fill each `IN ({})` of a statement with a group, and return what it selects."""
    if sum(map(len, groups)) > VALUES_LIMIT:
        raise TooMany
    marks = (",".join("?" * len(group)) or "NULL" for group in groups)
    return _all(connection, query.format(*marks), [value for group in groups for value in group])


def positions_of(found: Found) -> Mapping[str, Sequence[int]]:
    """Return the positions of each source, in order."""
    return {source: sorted(of) for source, of in found.positions.items()}
