"""Search results of memory: entries with their file and day, and how well they match a question. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from msgspec import Struct

from hub.memory.dates import marks_in, marks_of_day
from hub.memory.days_asked import asked_for
from hub.memory.words import words_asked, words_of
from integrations.models.offline.replies import reply, short_date
from integrations.models.offline.steps import read_items


class Told(Struct, frozen=True):
    """Something that memory told: its text, the file it is in, its day, how well it fits (0 to 1)."""

    text: str
    path: str = ""
    day: date | None = None
    score: float = 0.0
    is_ours: bool = True


class EntryQuery(Struct, frozen=True):
    """The words that a question asks for.

    Attributes:
        words: Beside the days it names.
        days: For each day it names the marks of which one must be there.
        all_words: Those by which it names days too, since an entry may have the same: "on Tuesday".
    """

    words: frozenset[str]
    days: tuple[frozenset[str], ...]
    all_words: frozenset[str]

    def share(self, told: Told) -> float:
        """Return how much of it, 0 to 1, is in what memory found."""
        own = {*words_of(told.text), *marks_in(told.text), *(marks_of_day(told.day) if told.day else ())}
        terms = [*(frozenset([word]) for word in self.words), *self.days]
        if not terms:
            return 1.0
        by_day = sum(bool(term & own) for term in terms) / len(terms)
        return max(by_day, len(self.all_words & own) / len(self.all_words) if self.all_words else 0.0)


def asked(text: str, today: date) -> EntryQuery:
    """Return what a text asks for."""
    rest, days = asked_for(text, today)
    return EntryQuery(frozenset(words_asked(rest)), tuple(days), frozenset(words_asked(text)))


def told_in(output: str, key: str) -> list[Told]:
    """Return the entries in a memory tool's result under a key: each item of a list once."""
    found: dict[str, Told] = {}
    for each in read_items(output, key):
        if "text" not in each:
            continue
        for text in _texts(str(each["text"]), is_entry="kind" in each):
            told = Told(text, str(each.get("path", "")), _day(each), _score(each), each.get("trusted") is not False)
            found.setdefault(text, told)
    return list(found.values())


def lines(items: Iterable[str]) -> str:
    """Return texts as a list."""
    return "\n".join(f"- {item}" for item in items)


def placed(items: Sequence[Told], language: str) -> str:
    """Return entries as a list, each with its place and day."""
    return lines(f"{each.text}{_where(each, language)}" for each in items)


def _where(told: Told, language: str) -> str:
    facts = [told.path, short_date(told.day, language) if told.day else ""]
    facts.append("" if told.is_ours else reply("from_outside", language))
    known = [fact for fact in facts if fact]
    return reply("place", language, facts=reply("between", language).join(known)) if known else ""


def _texts(text: str, *, is_entry: bool) -> list[str]:
    items = [line.removeprefix("- ").strip() for line in text.splitlines() if line.startswith("- ")]
    return items if items and not is_entry else [text.strip()]


def _day(item: dict[str, Any]) -> date | None:
    try:
        return date.fromisoformat(str(item.get("date")))
    except ValueError:
        return None


def _score(item: dict[str, Any]) -> float:
    score = item.get("score", 0)
    return float(score) if isinstance(score, (int, float)) else 0.0
