"""How two entries stand to each other, by their words alone: the same, apart in a number, date, name or negation. Pure.

It is careful: what cannot be told by rule is `UNSURE`, and whoever has a model may ask it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from hub.memory.dates import asked_for, marks_in
from hub.memory.words import fold, words_of

ALIKE = 0.9
"""Likeness (cosine, or share of words) from which two entries say the same unless something sets them apart."""
NEAR = 0.82
"""Likeness from which it is worth asking."""
FRAME_ALIKE = 0.8
"""Share of words, beside numbers, dates, names and negations, that two entries about one thing have in common."""
FRAME_NEAR = 0.6
FRAME_WORDS = 2
PART_WORDS = 3
PART_SHARE = 0.75

_SOME_DAY = date(2000, 1, 1)
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
_WEEKDAY = re.compile(
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
_NUMBER = re.compile(
    rf"\d+(?:[.,:/]\d+)*|\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b"
    r"|[零〇一二两三四五六七八九十百千万亿]+(?=[个点年月日号次元块度岁米斤楼层天分秒时周期半巴升瓦台条间套])"
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|cannot|without|neither|nor|no longer|\w+n['’]t)\b|不再|不|没有|没|无|未|别|勿",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|just now|right now|this (?:morning|afternoon|evening)"
    r"|(?:this|last|next) (?:night|week|month|weekend|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day))\b"
    r"|今年|去年|明年|[上下](?:周|星期|礼拜)|今天|今早|今晚|昨天|昨晚|前天|明天|后天|刚才|刚刚|现在|这周|本周|这个星期|上个星期|下个星期|这个月|上个月|下个月",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_MARK = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:>\s?)*")
_TELLING = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+|-(?=\d)|[+%°€$£¥#@]")
_BEGINS = re.compile(r"(?:^|[.!?:;。！？：；“\"(])\s*\Z")


class Relation(StrEnum):
    """How two entries stand to each other."""

    SAME = "same"
    """They say the same."""
    ALIKE = "alike"
    """They very likely say the same; nothing is struck for it."""
    UPDATED = "updated"
    """The newer takes the place of the older; only a model tells."""
    CONTRADICTS = "contradicts"
    """They are about one thing and do not agree."""
    UNSURE = "unsure"
    """Much alike, and no rule tells."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Gist:
    """What of an entry is compared.

    Attributes:
        words: All of them, as stems.
        core: Those beside numbers and dates.
        frame: Those beside numbers, dates, names and negations.
        numbers, weekdays, days, names: What sets entries apart that are about one thing.
        negated: Whether it says that something is not so.
        bound: Whether it speaks of the day on which it was noted (today, 昨天), so that the same words on another day
            say something else.
    """

    words: frozenset[str]
    core: frozenset[str]
    frame: frozenset[str]
    numbers: frozenset[str]
    weekdays: frozenset[int]
    days: frozenset[str]
    names: frozenset[str]
    negated: bool
    bound: bool

    @property
    def identity(self) -> tuple[object, ...]:
        """What two entries share that say the same."""
        return self.core, self.numbers, self.weekdays, self.days, self.negated


def fact_key(text: str) -> str:
    """Return what two texts share that say the same word for word, but for case, punctuation and the mark of a list."""
    return " ".join(_TELLING.findall(fold(_MARK.sub("", text, count=1))))


def gist_of(text: str) -> Gist:
    """Return what of a text is compared."""
    plain = fold(text)
    rest, _ = asked_for(text, _SOME_DAY)
    rest = _WEEKDAY.sub(" ", rest)
    numbers = frozenset(_number(match[0]) for match in _NUMBER.finditer(fold(rest)))
    names = frozenset(_names_in(text))
    frame = _WORD.sub(lambda match: " " if fold(match[0]) in names else match[0], rest)
    frame = _NEGATION.sub(" ", _NUMBER.sub(" ", fold(frame)))
    return Gist(
        frozenset(words_of(text)),
        frozenset(words_of(_NUMBER.sub(" ", fold(rest)))),
        frozenset(words_of(frame)),
        numbers,
        frozenset(_WEEKDAYS[match[1] or match[2]] for match in _WEEKDAY.finditer(plain)),
        frozenset(marks_in(text)),
        names,
        _NEGATION.search(plain) is not None,
        _BOUND.search(plain) is not None,
    )


def relation_of(mine: Gist, theirs: Gist, likeness: float = 0.0) -> Relation:
    """Return how two texts stand to each other, as far as rules tell; the order of the two is of no account.

    Args:
        mine, theirs: What of them is compared.
        likeness: 0 to 1, by what they mean; 0 when it is not known.
    """
    if mine.bound or theirs.bound:
        return Relation.DIFFERENT
    if mine.identity == theirs.identity and mine.core:
        return Relation.SAME
    common = len(mine.frame & theirs.frame)
    frame_share = common / (len(mine.frame | theirs.frame) or 1)
    is_near = likeness >= ALIKE or (frame_share >= FRAME_ALIKE and common >= FRAME_WORDS)
    if _clash(mine, theirs):
        if is_near:
            return Relation.CONTRADICTS
        return _unsure(likeness >= NEAR or (frame_share >= FRAME_NEAR and common >= FRAME_WORDS))
    if _are_apart(mine, theirs):
        return _unsure(is_near)
    if likeness >= ALIKE or _is_part(mine.words, theirs.words):
        return Relation.ALIKE
    return _unsure(likeness >= NEAR or (frame_share >= FRAME_NEAR and common >= FRAME_WORDS))


def _unsure(is_worth_asking: bool) -> Relation:
    return Relation.UNSURE if is_worth_asking else Relation.DIFFERENT


def _clash(mine: Gist, theirs: Gist) -> bool:
    """Whether each says something of one sort that the other says otherwise."""
    if mine.negated is not theirs.negated:
        return True
    sorts = ((mine.numbers, theirs.numbers), (mine.weekdays, theirs.weekdays), (mine.days, theirs.days))
    return any(ours - others and others - ours for ours, others in (*sorts, (mine.names, theirs.names)))


def _are_apart(mine: Gist, theirs: Gist) -> bool:
    return (mine.numbers, mine.weekdays, mine.days, mine.names) != (
        theirs.numbers,
        theirs.weekdays,
        theirs.days,
        theirs.names,
    )


def _is_part(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    small, large = sorted((mine, theirs), key=len)
    return small < large and len(small) >= max(PART_WORDS, PART_SHARE * len(large))


def _number(text: str) -> str:
    return _NUMBERS.get(text, text).replace(",", ".")


def _names_in(text: str) -> list[str]:
    """Return words that are written like names; the first word of a sentence always is, and tells nothing."""
    found = []
    for match in _WORD.finditer(text):
        word = match[0]
        plain = fold(word)
        if not word[0].isupper() or word == "I" or plain in _MONTHS or plain.rstrip("s") in _WEEKDAYS:
            continue
        if not _BEGINS.search(text[max(0, match.start() - 3) : match.start()]):
            found.append(plain)
    return found
