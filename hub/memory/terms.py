"""The words and dates of a passage and of a query, independent of any engine's syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hub.memory.dates import marks_in
from hub.memory.engine_contract import KeywordDocument
from hub.memory.words import search_words, words_of

MAX_QUERY_TERMS = 128
"""Of a longer query the first words count."""
MAX_QUERY_CHARACTERS = 4_000
FIELDS = ("title", "headings", "text", "marks")
WEIGHTS = (2.5, 1.5, 1.0, 2.0)
"""How much a word counts in each of the fields."""

_MARK = re.compile(r"(?<!\S)@(?:\d{4}(?:-\d\d){0,2}|\d\d(?:-\d\d)?|--\d\d-\d\d)(?!\S)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of a passage, by field, in order."""

    title: list[str]
    headings: list[str]
    text: list[str]
    marks: list[str]


def terms_of(document: KeywordDocument) -> Terms:
    """Return the search words of a passage."""
    return Terms(
        title=words_of(document.title),
        headings=words_of(document.headings),
        text=words_of(document.text),
        marks=[mark for mark in document.marks if _MARK.fullmatch(mark)],
    )


def query_terms(query: str) -> list[str]:
    """Return the words of a query, each once, and its dates; marks (`@2026-05`) are allowed."""
    query = query[:MAX_QUERY_CHARACTERS]
    marks = [*_MARK.findall(query), *marks_in(query)]
    words = search_words(_MARK.sub(" ", query))
    return list(dict.fromkeys([*marks, *words]))[:MAX_QUERY_TERMS]
