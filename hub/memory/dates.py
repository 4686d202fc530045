"""Dates as search marks: `@2026-05-12`, `@05-12`, `@2026-05`, `@05`.

`@--05-12` is a day that was named without a year, and may be of any; `@05-12` is of every year.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date

from hub.core.lazy_pattern import LazyPattern
from hub.memory.traditional import simplified

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
"""A pattern for the English name of a month."""
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(\d{4}))?"
_CHINESE_DIGITS = {**dict(zip("零一二三四五六七八九", range(10), strict=True)), "〇": 0, "两": 2}
_CHINESE = f"[{''.join(_CHINESE_DIGITS)}十]"
_UP_TO_31 = rf"(\d{{1,2}}|{_CHINESE}{{1,3}})"
_MONTH_OF = rf"(?<!\d)(?<!{_CHINESE}){_UP_TO_31}\s*月"
_YEAR_OF = rf"(?<!\d)(\d{{4}}|{_CHINESE}{{4}})\s*年"

_MAY_BE_ONE = LazyPattern(r"[\d月]")
_WRITTEN = (
    (LazyPattern(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)"), "ymd"),
    (LazyPattern(r"(?<!\d)(\d{4})/(\d{1,2})/(\d{1,2})(?!\d)"), "ymd"),
    (LazyPattern(rf"(?:{_YEAR_OF}\s*)?{_MONTH_OF}\s*{_UP_TO_31}\s*[日号]"), "ymd"),
    (LazyPattern(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.(\d{4})?(?!\d)"), "dmy"),
    (LazyPattern(rf"(?<![\w-]){_DAY}\s+(?:of\s+)?({MONTH})\b\.?{_YEAR}", re.IGNORECASE), "dmy"),
    (LazyPattern(rf"\b({MONTH})\.?\s+{_DAY}(?!\w){_YEAR}", re.IGNORECASE), "mdy"),
)
_MONTHS_WRITTEN = (
    (LazyPattern(rf"{_YEAR_OF}\s*{_UP_TO_31}\s*月(?!\s*(?:\d|{_CHINESE}{{1,3}}\s*[日号]))"), "ym"),
    (LazyPattern(rf"\b({MONTH})\.?,?\s+(\d{{4}})(?!\d)", re.IGNORECASE), "my"),
    (LazyPattern(r"(?<![\d-])(\d{4})-(\d\d)(?![\d-])"), "ym"),
)
_BARE_MONTHS = (
    # Without such a word before it, "may" is mostly no month.
    (LazyPattern(rf"\b(?:in|every|each|since|until|by|early|late|mid)[ -]({MONTH})\b(?!\.?\s+\d)", re.IGNORECASE), "m"),
    (LazyPattern(rf"(?<!年){_MONTH_OF}(?!\s*(?:\d|{_CHINESE}{{1,3}}\s*[日号]))"), "m"),
)


def marks_of_day(day: date) -> list[str]:
    """Return the marks of a day."""
    return [f"@{day:%Y}", f"@{day:%Y-%m}", f"@{day:%Y-%m-%d}", f"@{day:%m-%d}", f"@{day:%m}"]


def marks_in(text: str) -> list[str]:
    """Return the marks of all dates in a text."""
    text, found = simplified(text), list[str]()
    if _MAY_BE_ONE.search(text):
        for year, month, day in _dates_in(text):
            found += [f"@{month:02}-{day:02}", f"@{month:02}"]
            if year is not None:
                found += [f"@{year:04}-{month:02}-{day:02}", f"@{year:04}-{month:02}"]
        for year, month in _months_in(text):
            found += [f"@{year:04}-{month:02}", f"@{month:02}"]
    found += [f"@{month:02}" for month in _bare_months_in(text)]
    return list(dict.fromkeys(found))


def search_marks(text: str) -> list[str]:
    """Return the search marks of a text: of all dates in it, and of days without a year as such."""
    text, found = simplified(text), marks_in(text)
    if _MAY_BE_ONE.search(text):
        found += [f"@--{month:02}-{day:02}" for year, month, day in _dates_in(text) if year is None]
    return list(dict.fromkeys(found))


def extract_dates(text: str) -> tuple[str, list[frozenset[str]]]:
    """Return a text without its dates, and for each date the marks of which one must match.

    What is not a day of any calendar stays in the text: asking for the 31st of February is not asking for nothing.
    """
    wanted: list[frozenset[str]] = []
    if _MAY_BE_ONE.search(text):
        for pattern, order in _WRITTEN:
            days = [found for match in pattern.finditer(text) if (found := _date(match, order)) is not None]
            for year, month, day in days:
                mark = f"@{month:02}-{day:02}" if year is None else f"@{year:04}-{month:02}-{day:02}"
                wanted.append(frozenset([mark]))
            if days:
                text = _without(pattern, order, _date, text)
        if months := [frozenset([f"@{year:04}-{month:02}"]) for year, month in _months_in(text)]:
            wanted += months
            for pattern, order in _MONTHS_WRITTEN:
                text = _without(pattern, order, _month, text)
    if bare := [frozenset([f"@{month:02}"]) for month in _bare_months_in(text)]:
        wanted += bare
        for pattern, order in _BARE_MONTHS:
            text = _without(pattern, order, _bare_month, text)
    return text, wanted


def number_of(text: str) -> int:
    """Return the value of digits or Chinese numerals: `12`, 十二, 二〇二六."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if ten:
        return (_digits(tens) or 1) * 10 + _digits(ones)
    return _digits(text)


def _digits(text: str) -> int:
    number = 0
    for each in text:
        number = number * 10 + _CHINESE_DIGITS.get(each, 0)
    return number


def _without(pattern: LazyPattern, order: str, read: Callable[[re.Match[str], str], object | None], text: str) -> str:
    return pattern.sub(lambda match: match[0] if read(match, order) is None else " ", text)


def _dates_in(text: str) -> Iterable[tuple[int | None, int, int]]:
    for pattern, order in _WRITTEN:
        for match in pattern.finditer(text):
            if (found := _date(match, order)) is not None:
                yield found


def _months_in(text: str) -> Iterable[tuple[int, int]]:
    for pattern, order in _MONTHS_WRITTEN:
        for match in pattern.finditer(text):
            if (found := _month(match, order)) is not None:
                yield found


def _bare_months_in(text: str) -> Iterable[int]:
    for pattern, order in _BARE_MONTHS:
        for match in pattern.finditer(text):
            if (found := _bare_month(match, order)) is not None:
                yield found


def _date(match: re.Match[str], order: str) -> tuple[int | None, int, int] | None:
    parts = dict(zip(order, match.groups(), strict=True))
    year = number_of(parts["y"]) if parts["y"] else None
    month, day = month_number(parts["m"]), number_of(parts["d"])
    try:
        date(2000 if year is None else year, month, day)
    except ValueError:
        return None
    return year, month, day


def _month(match: re.Match[str], order: str) -> tuple[int, int] | None:
    parts = dict(zip(order, match.groups(), strict=True))
    year, month = number_of(parts["y"]), month_number(parts["m"])
    return (year, month) if 1 <= month <= 12 and 1 <= year <= 9_999 else None


def _bare_month(match: re.Match[str], _: str) -> int | None:
    month = month_number(match[1])
    return month if 1 <= month <= 12 else None


def month_number(name: str) -> int:
    """Return the number of a month by its English name, or by its number in digits or Chinese."""
    short = name[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else number_of(name)
