"""Compares two entries by their words alone: the same, worth asking a model about, or different. Pure."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from hub.core.lazy_pattern import LazyPattern
from hub.memory.dates import extract_dates, marks_in
from hub.memory.words import SYMBOLS, fold, stem, words_of

NEAR = 0.82
"""Likeness by meaning (cosine) from which it is worth asking."""
FRAME_NEAR = 0.6
"""Share of words, beside numbers, dates, names and negations, from which it is worth asking."""
FRAME_WORDS = 2

_WEEKDAYS = {
    **{
        name: number
        for number, name in enumerate(
            ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), start=1
        )
    },
    **{name: number for number, name in enumerate("一二三四五六日", start=1)},
    "天": 7,
}
_WEEKDAY = LazyPattern(
    r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b|(?:周|星期|礼拜)([一二三四五六日天])",
    re.IGNORECASE,
)
_MONTHS = frozenset(
    "january february march april may june july august september october november december".split()  # noqa: SIM905  as elsewhere
)
_NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {
    **{character: str(number) for number, character in enumerate("零一二三四五六七八九十")},
    **{word: str(number) for number, word in enumerate(_NUMBER_WORDS.split(), start=2)},
    "两": "2",
}
_NUMBER = LazyPattern(
    rf"\d+(?:[.,:/]\d+)*|\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b"
    r"|[零〇一二两三四五六七八九十百千万亿]+(?=[个点年月日号次元块度岁米斤楼层天分秒时周期半巴升瓦台条间套片颗粒杯盒瓶])"
)
_NEGATION = LazyPattern(
    r"\b(?:no longer|not|no|never|none|cannot|without|neither|nor|\w+n['’]t)\b|不再|不|没有|没|无|未|别|勿",
    re.IGNORECASE,
)
_BOUND = LazyPattern(
    r"\b(?:today|tonight|yesterday|tomorrow|just now|right now|this (?:morning|afternoon|evening)"
    r"|(?:this|last|next) (?:night|week|month|weekend|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day))\b"
    r"|今年|去年|明年|[上下](?:周|星期|礼拜)|今天|今早|今晚|昨天|昨晚|前天|明天|后天|刚才|刚刚|现在|这周|本周|这个星期|上个星期|下个星期|这个月|上个月|下个月",
    re.IGNORECASE,
)
_WORD = LazyPattern(r"[^\W\d_][\w'’-]*")
_MARK = LazyPattern(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:>\s?)*")
_TELLING = LazyPattern(rf"\d+(?:[.,:/-]\d+)*|[^\W\d_]+|-(?=\d)|[+%°€$£¥#@{SYMBOLS}]")
_SILENT = frozenset(("an", "the", "on"))
"""Words without which a text says the same."""
_BEGINS = LazyPattern(r"(?:^|[.!?:;。！？：；“\"(])\s*\Z")


class Relation(StrEnum):
    """The relation of two entries."""

    SAME = "same"
    """They say the same."""
    UPDATED = "updated"
    """The newer takes the place of the older; only a model can tell."""
    CONTRADICTS = "contradicts"
    """They are about one thing and do not agree; only a model or a person can tell."""
    UNSURE = "unsure"
    """Much alike: a model may be asked."""
    SERIES = "series"
    """Two of many that differ in numbers and dates alone: readings, occasions. Neither is wrong, and neither lasts."""
    DIFFERENT = "different"


class Gist(Struct, frozen=True):
    """The compared parts of an entry.

    Attributes:
        words: All words, as stems.
        frame: Those beside numbers, dates, names and negations.
        numbers, weekdays, days: What entries of a series differ in.
        bound: Whether it speaks of the day on which it was noted (today, 昨天), so that the same words on another day
            say something else.
        order: Its words, numbers and weekdays in their order, which tells who gave what to whom.
        dates: Its dates one after the other.
    """

    words: frozenset[str]
    frame: frozenset[str]
    numbers: frozenset[str]
    weekdays: frozenset[int]
    days: frozenset[str]
    bound: bool
    order: tuple[str, ...]
    dates: tuple[str, ...]

    @property
    def identity(self) -> tuple[object, ...]:
        """The parts that are equal in entries that say the same."""
        return self.order, self.dates

    @property
    def values(self) -> tuple[object, ...]:
        """The parts that differ between readings or occasions of one series."""
        return self.numbers, self.weekdays, self.days


def fact_key(text: str) -> str:
    """Return the key of a text: its words without case, punctuation and list marks."""
    return " ".join(_TELLING.findall(fold(_MARK.sub("", text, count=1))))


def gist_of(text: str) -> Gist:
    """Return the compared parts of a text."""
    plain = fold(text)
    undated, _ = extract_dates(text)
    rest = _WEEKDAY.sub(" ", undated)
    numbers = frozenset(_number(match[0]) for match in _NUMBER.finditer(fold(rest)))
    names = frozenset(_names_in(text))
    frame = _WORD.sub(lambda match: " " if fold(match[0]) in names else match[0], rest)
    frame = _NEGATION.sub(" ", _NUMBER.sub(" ", fold(frame)))
    # That a date has no year sets it apart from none that has one.
    dates = tuple(mark for mark in marks_in(text) if not mark.startswith("@--"))
    return Gist(
        frozenset(words_of(text)),
        frozenset(words_of(frame)),
        numbers,
        frozenset(_WEEKDAYS[match[1] or match[2]] for match in _WEEKDAY.finditer(plain)),
        frozenset(dates),
        _BOUND.search(plain) is not None,
        tuple(stem(_number(each)) for each in _TELLING.findall(fold(undated)) if each not in _SILENT),
        dates,
    )


def relation_of(mine: Gist, theirs: Gist, likeness: float = 0.0) -> Relation:
    """Return the relation of two texts, as far as words tell: `SAME`, `UNSURE` or `DIFFERENT`; symmetric.

    Args:
        mine, theirs: The compared parts.
        likeness: 0 to 1, by meaning; 0 when unknown.
    """
    if mine.bound or theirs.bound:
        return Relation.DIFFERENT
    if mine.identity == theirs.identity and mine.order:
        return Relation.SAME
    common = len(mine.frame & theirs.frame)
    share = common / (len(mine.frame | theirs.frame) or 1)
    is_near = likeness >= NEAR or share == 1 or (share >= FRAME_NEAR and common >= FRAME_WORDS)
    return Relation.UNSURE if is_near else Relation.DIFFERENT


def is_same_series(mine: Gist, theirs: Gist) -> bool:
    """Whether two texts differ in numbers and dates alone."""
    return mine.frame == theirs.frame and mine.values != theirs.values


def _number(text: str) -> str:
    return _NUMBERS.get(text, text).replace(",", ".")


def _names_in(text: str) -> list[str]:
    """Return words spelt like names; the first word of a sentence is always capitalised, and does not count."""
    found = []
    for match in _WORD.finditer(text):
        word = match[0]
        plain = fold(word)
        if not word[0].isupper() or word == "I" or plain in _MONTHS or plain.rstrip("s") in _WEEKDAYS:
            continue
        if not _BEGINS.search(text[max(0, match.start() - 3) : match.start()]):
            found.append(plain)
    return found
