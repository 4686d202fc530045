"""How two entries stand to each other, by their words alone: the same, apart in a number, date, name or negation. Pure.

It is careful: what a rule cannot decide is `UNSURE`, and whoever has a model may ask it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from datetime import date
from enum import StrEnum

from msgspec import Struct

from hub.memory.claims import Claim, claim_of, of_other_things, told_otherwise
from hub.memory.dates import marks_in, named_in
from hub.memory.lazy_pattern import LazyPattern
from hub.memory.words import SYMBOLS, fold, stem, words_of

ALIKE = 0.9
"""Likeness (cosine, or share of words) from which two entries say the same unless something sets them apart."""
NEAR = 0.82
"""Likeness from which it is worth asking."""
FRAME_ALIKE = 0.8
"""Share of words, beside numbers, dates, names and negations, that two entries about one thing have in common."""
FRAME_NEAR = 0.6
FRAME_WORDS = 2
OTHER_WORDS = 0.25
"""Share of words below which likeness by meaning is no likeness of words."""
PART_WORDS = 3
PART_SHARE = 0.75
MOVED_DAYS = 6
"""Days by which something that is one occasion is moved; what is a week apart comes round each week."""
RECURS_DAYS = 31
"""Days from which on two dates are surely of two occasions."""

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
_LETTER = LazyPattern(r"(?<![a-z])[a-z](?![a-z])")
_MARK = LazyPattern(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:>\s?)*")
_TELLING = LazyPattern(rf"\d+(?:[.,:/-]\d+)*|[^\W\d_]+|-(?=\d)|[+%°€$£¥#@{SYMBOLS}]")
_SILENT = frozenset(("an", "the", "on"))
"""Words without which a text says the same."""
_BEGINS = LazyPattern(r"(?:^|[.!?:;。！？：；“\"(])\s*\Z")


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
    SERIES = "series"
    """Two of many: readings, occasions, values that change by themselves; neither is wrong, and neither lasts."""
    DIFFERENT = "different"


class Gist(Struct, frozen=True):
    """What of an entry is compared.

    Attributes:
        words: All of them, as stems.
        core: Those beside numbers and dates.
        frame: Those beside numbers, dates, names and negations.
        numbers, weekdays, days, names: What sets entries apart that are about one thing.
        negated: Whether it says that something is not so.
        bound: Whether it speaks of the day on which it was noted (today, 昨天), so that the same words on another day
            say something else.
        order: Its words, numbers and weekdays one after the other: who gave whom what.
        dates: Its dates one after the other.
        claim: What sort of statement it is.
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
    order: tuple[str, ...]
    dates: tuple[str, ...]
    claim: Claim

    @property
    def identity(self) -> tuple[object, ...]:
        """What two entries share that say the same."""
        return self.order, self.dates

    @property
    def values(self) -> tuple[object, ...]:
        """What entries differ in that are readings or occasions of one row."""
        return self.numbers, self.weekdays, self.days


def fact_key(text: str) -> str:
    """Return what two texts share that say the same word for word, but for case, punctuation and the mark of a list."""
    return " ".join(_TELLING.findall(fold(_MARK.sub("", text, count=1))))


def gist_of(text: str) -> Gist:
    """Return what of a text is compared."""
    plain = fold(text)
    undated, _ = named_in(text)
    rest = _WEEKDAY.sub(" ", undated)
    numbers = frozenset(_number(match[0]) for match in _NUMBER.finditer(fold(rest)))
    names = frozenset(_names_in(text))
    frame = _WORD.sub(lambda match: " " if fold(match[0]) in names else match[0], rest)
    frame = _NEGATION.sub(" ", _NUMBER.sub(" ", fold(frame)))
    # That a date has no year sets it apart from none that has one.
    dates = tuple(mark for mark in marks_in(text) if not mark.startswith("@--"))
    return Gist(
        frozenset(words_of(text)),
        frozenset(words_of(_NUMBER.sub(" ", fold(rest)))),
        frozenset(words_of(frame)),
        numbers,
        frozenset(_WEEKDAYS[match[1] or match[2]] for match in _WEEKDAY.finditer(plain)),
        frozenset(dates),
        names,
        _NEGATION.search(plain) is not None,
        _BOUND.search(plain) is not None,
        tuple(stem(_number(each)) for each in _TELLING.findall(fold(undated)) if each not in _SILENT),
        dates,
        claim_of(text, fold(rest)),
    )


def relation_of(mine: Gist, theirs: Gist, likeness: float = 0.0, *, apart: bool = False) -> Relation:
    """Return how two texts stand to each other, as far as rules tell; the order of the two is of no account.

    Args:
        mine, theirs: What of them is compared.
        likeness: 0 to 1, by what they mean; 0 when it is not known.
        apart: Whether the two were noted on different days.
    """
    if mine.bound or theirs.bound:
        return Relation.DIFFERENT
    if mine.identity == theirs.identity and mine.core:
        return Relation.SAME
    if of_other_things(mine.claim, theirs.claim):
        return Relation.DIFFERENT
    if told_otherwise(mine.claim, theirs.claim):
        return Relation.CONTRADICTS
    common = len(mine.frame & theirs.frame)
    frame_share = common / (len(mine.frame | theirs.frame) or 1)
    is_worth_asking = likeness >= NEAR or (frame_share >= FRAME_NEAR and common >= FRAME_WORDS)
    # Where each has a word that the other has not, it may be that very word that sets the two apart.
    is_one_thing = mine.frame <= theirs.frame or theirs.frame <= mine.frame
    is_alike = likeness >= ALIKE and (is_one_thing or frame_share < OTHER_WORDS)
    is_near = is_alike or (frame_share >= FRAME_ALIKE and common >= 1 and is_one_thing)
    if _clash(mine, theirs):
        return _of_clash(mine, theirs, apart) if is_near else _unsure(is_worth_asking)
    if _are_apart(mine, theirs):
        return _unsure(is_near)
    if _differ(_letters(mine), _letters(theirs)):
        return _unsure(is_worth_asking)
    if mine.words != theirs.words and (is_alike or _is_part(mine.words, theirs.words)):
        return Relation.ALIKE
    return _unsure(is_worth_asking)


def _unsure(is_worth_asking: bool) -> Relation:
    return Relation.UNSURE if is_worth_asking else Relation.DIFFERENT


def _of_clash(mine: Gist, theirs: Gist, apart: bool) -> Relation:
    """Return how two texts about one thing stand to each other that do not say the same of it."""
    claims = (mine.claim, theirs.claim)
    if _differ(mine.names, theirs.names):
        return Relation.DIFFERENT
    if apart and any(each.is_reading for each in claims):
        return Relation.SERIES
    if _differ(mine.days, theirs.days):
        return _of_dates(mine, theirs)
    if any(each.is_occasion and not each.is_seldom for each in claims):
        return Relation.SERIES if apart else Relation.UNSURE
    if mine.negated is not theirs.negated:
        return Relation.CONTRADICTS
    may_differ = apart and not _differ(mine.weekdays, theirs.weekdays)
    if all(each.is_stated or each.is_seldom or (each.has_verb and not may_differ) for each in claims):
        return Relation.CONTRADICTS
    return Relation.UNSURE


def _of_dates(mine: Gist, theirs: Gist) -> Relation:
    """Return how two texts stand to each other that name different dates: one that was moved, or two occasions."""
    if mine.claim.is_yearly or theirs.claim.is_yearly:
        return Relation.CONTRADICTS
    gap = _days_between(mine.days - theirs.days, theirs.days - mine.days)
    if gap is None:
        return Relation.UNSURE
    if any(each.claim.is_occasion and not each.claim.is_seldom for each in (mine, theirs)):
        return Relation.SERIES
    if gap <= MOVED_DAYS:
        return Relation.CONTRADICTS
    return Relation.UNSURE if gap < RECURS_DAYS else Relation.SERIES


def _days_between(mine: Iterable[str], theirs: Iterable[str]) -> int | None:
    """Return how far the nearest dates of two texts are from each other; None when they name no days."""
    ours, others = _days_of(mine), _days_of(theirs)
    gaps = [abs((one - other).days) for one in ours for other in others]
    return min(gaps, default=None)


def _days_of(marks: Iterable[str]) -> list[date]:
    whole = [date.fromisoformat(mark[1:]) for mark in marks if len(mark) == len("@2000-01-01")]
    # Without a year any will do, as long as it has a 29th of February.
    return whole or [date.fromisoformat(f"2000-{mark[1:]}") for mark in marks if len(mark) == len("@01-01")]


def _clash(mine: Gist, theirs: Gist) -> bool:
    """Whether each says something of one sort that the other says otherwise."""
    if mine.negated is not theirs.negated:
        return True
    sorts = ((mine.numbers, theirs.numbers), (mine.weekdays, theirs.weekdays), (mine.days, theirs.days))
    return any(_differ(ours, others) for ours, others in (*sorts, (mine.names, theirs.names)))


def _letters(gist: Gist) -> set[str]:
    """Return the letters that are alone: blood group A."""
    return set(_LETTER.findall(" ".join(gist.order)))


def _differ(mine: Set[object], theirs: Set[object]) -> bool:
    return bool(mine - theirs and theirs - mine)


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
