"""Finds the intended entry: by all words of a query, its exact words, or an equal meaning. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from hub.core.errors import InvalidRequest
from hub.memory.alike import fact_key
from hub.memory.contract import QUERY_LIMIT, Filters, Hit
from hub.memory.dates import marks_of_day, search_marks
from hub.memory.days_asked import extract_days
from hub.memory.markdown import Passage
from hub.memory.places import day_of
from hub.memory.words import fold, query_words, word_variants, words_of

EXAMPLES = 5
EXAMPLE_LIMIT = 80
Term = frozenset[str]
"""Words of which one must be there; mostly there is one."""


def terms_of(query: str, today: date, words: Callable[[str], list[str]] = query_words) -> list[Term]:
    """Return the terms of a query.

    Args:
        query: The question or name.
        today: The day on which it is asked.
        words: Which words count: `query_words` to name an entry, `search_words` to look for some.

    Raises:
        InvalidRequest: It is too long.
    """
    if len(query) > QUERY_LIMIT:
        raise InvalidRequest(f"a query has at most {QUERY_LIMIT} characters")
    rest, dates = extract_days(query, today)
    return [*[frozenset([word]) for word in words(rest)], *dates]


def day_in(path: str, passage: Passage) -> date | None:
    """Return the day of a passage."""
    try:
        return date.fromisoformat(passage.day) if passage.day else day_of(path)
    except ValueError:
        return day_of(path)


def matching_entries(
    passages: Iterable[tuple[str, Passage]], query: str, terms: list[Term]
) -> list[tuple[str, Passage]]:
    """Return the list items that say exactly `query`; if there is none, those with all of its terms."""
    items = [(path, each) for path, each in passages if each.is_item]
    wanted = fact_key(query)
    exact = [(path, each) for path, each in items if wanted and fact_key(each.text) == wanted]
    if exact or not terms:
        return exact
    return [(path, each) for path, each in items if has_all(each.text, day_in(path, each), terms)]


def has_all(text: str, day: date | None, terms: Sequence[Term]) -> bool:
    """Whether a text of a day has one word of each term."""
    folded = fold(text)
    if not all(any(word.startswith("@") or may_have(folded, word) for word in term) for term in terms):
        return False
    own = {*words_of(text), *search_marks(text), *(marks_of_day(day) if day else ())}
    return all(term & own for term in terms)


def may_have(folded: str, word: str) -> bool:
    """Whether parsing a text may find a word: cheap, and never falsely negative."""
    # A stem is how all forms of its word begin, but for a last y that became i.
    return word.removesuffix("i") in folded or (word[-1].isdecimal() and word in word_variants(folded))


def example_hint(named: Sequence[Passage | Hit]) -> str:
    """Return examples for an error, in trusted words only: a model reads errors unquoted."""
    ours = [each.text[:EXAMPLE_LIMIT] for each in named if each.trusted]
    if not ours:
        return "with more of its words"
    return f"for example: {'; '.join(ours[:EXAMPLES])}".encode("utf-8", "replace").decode()


def passes(passage: Passage, filters: Filters) -> bool:
    """Whether a passage passes the filters of a search."""
    return (
        (filters.person is None or passage.person == filters.person)
        and (filters.session is None or passage.session == filters.session)
        and (filters.kind is None or passage.kind == filters.kind.value)
        and (filters.trusted is None or passage.trusted is filters.trusted)
    )
