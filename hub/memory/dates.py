"""Dates that people write and ask for, as marks by which passages are found: `@2026-05-12`, `@05-12`, `@2026-05`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(\d{4}))?"

_DIGIT = re.compile(r"\d")
_WRITTEN = (
    (re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)"), "ymd"),
    (re.compile(r"(?:(\d{4})\s*年\s*)?(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"), "ymd"),
    (re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.(\d{4})?(?!\d)"), "dmy"),
    (re.compile(rf"(?<![\w-]){_DAY}\s+(?:of\s+)?{_MONTH}\b\.?{_YEAR}", re.IGNORECASE), "dmy"),
    (re.compile(rf"\b{_MONTH}\.?\s+{_DAY}(?!\w){_YEAR}", re.IGNORECASE), "mdy"),
)
_MONTHS_WRITTEN = (
    (re.compile(r"(?<!\d)(\d{4})\s*年\s*(\d{1,2})\s*月(?!\s*\d)"), "ym"),
    (re.compile(rf"\b{_MONTH}\.?,?\s+(\d{{4}})(?!\d)", re.IGNORECASE), "my"),
    (re.compile(r"(?<![\d-])(\d{4})-(\d\d)(?![\d-])"), "ym"),
)
_AGO = re.compile(
    r"\b(\d{1,3}|a|one|two|three|four|five|six|seven) (day|week)s? ago\b"
    r"|(\d{1,3}|[一两二三四五六七])\s*(天|周|个?星期)(?:以)?前",
    re.IGNORECASE,
)
_NUMBERS = {
    **dict(zip(("a", "one", "two", "three", "four", "five", "six", "seven"), (1, 1, 2, 3, 4, 5, 6, 7), strict=True)),
    **dict(zip("一两二三四五六七", (1, 2, 2, 3, 4, 5, 6, 7), strict=True)),
}
_ASKED = re.compile(
    r"\b(today|tonight|yesterday|the day before yesterday|this week|last week|this month|last month|this year|last year"
    r"|(?:on |last |this )(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b"
    "|今天|昨天|前天|这周|本周|这个星期|上周|上个星期|这个月|本月|上个月|今年|去年|(?:上?(?:周|星期))[一二三四五六日天]",
    re.IGNORECASE,
)
_CHINESE = {
    "今天": "today",
    "昨天": "yesterday",
    "前天": "the day before yesterday",
    "这周": "this week",
    "本周": "this week",
    "这个星期": "this week",
    "上周": "last week",
    "上个星期": "last week",
    "这个月": "this month",
    "本月": "this month",
    "上个月": "last month",
    "今年": "this year",
    "去年": "last year",
}


def marks_of_day(day: date) -> list[str]:
    """Return the marks of something that belongs to a day."""
    return [f"@{day:%Y}", f"@{day:%Y-%m}", f"@{day:%Y-%m-%d}", f"@{day:%m-%d}"]


def marks_in(text: str) -> list[str]:
    """Return the marks of all dates that a text names."""
    found: list[str] = []
    if not _DIGIT.search(text):
        return found
    for year, month, day in _dates_in(text):
        found.append(f"@{month:02}-{day:02}")
        if year is not None:
            found += [f"@{year:04}-{month:02}-{day:02}", f"@{year:04}-{month:02}"]
    return list(dict.fromkeys([*found, *(f"@{year:04}-{month:02}" for year, month in _months_in(text))]))


def asked_for(query: str, today: date) -> tuple[str, list[frozenset[str]]]:
    """Return a query without its dates, and for each date the marks of which one must be there.

    Args:
        query: What somebody asks.
        today: The day on which it is asked.
    """
    wanted: list[frozenset[str]] = []
    for pattern, order in _WRITTEN:
        for match in pattern.finditer(query):
            if (found := _date(match, order)) is not None:
                year, month, day = found
                wanted.append(frozenset([f"@{month:02}-{day:02}" if year is None else f"@{year}-{month:02}-{day:02}"]))
        # What is no day of any calendar stays in the query: asking for the 31st of February is not asking for nothing.
        query = _without(pattern, order, _date, query)
    for year, month in _months_in(query):
        wanted.append(frozenset([f"@{year:04}-{month:02}"]))
    for pattern, order in _MONTHS_WRITTEN:
        query = _without(pattern, order, _month, query)
    for match in _AGO.finditer(query):
        wanted.append(frozenset(_ago(match, today)))
    query = _AGO.sub(" ", query)
    for match in _ASKED.finditer(query):
        words = match[0].lower()
        wanted.append(frozenset(_relative(_CHINESE.get(words, words), today)))
    return _ASKED.sub(" ", query), wanted


def _without(
    pattern: re.Pattern[str], order: str, read: Callable[[re.Match[str], str], object | None], query: str
) -> str:
    return pattern.sub(lambda match: match[0] if read(match, order) is None else " ", query)


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


def _month(match: re.Match[str], order: str) -> tuple[int, int] | None:
    parts = dict(zip(order, match.groups(), strict=True))
    month = int(parts["m"]) if parts["m"].isdecimal() else _MONTHS.index(parts["m"][:3].lower()) + 1
    return (int(parts["y"]), month) if 1 <= month <= 12 and int(parts["y"]) >= 1 else None


def _ago(match: re.Match[str], today: date) -> list[str]:
    """Return the day, or the days of the week, that is some time back."""
    number = (match[1] or match[3]).lower()
    count = int(number) if number.isdecimal() else _NUMBERS[number]
    if (match[2] or match[4]).lower() in ("day", "天"):
        return _days(today - timedelta(days=count), 1)
    return _days(today - timedelta(days=today.weekday() + 7 * count), 7)


def _date(match: re.Match[str], order: str) -> tuple[int | None, int, int] | None:
    parts = dict(zip(order, match.groups(), strict=True))
    month_text = parts["m"] or ""
    month = int(month_text) if month_text.isdecimal() else _MONTHS.index(month_text[:3].lower()) + 1
    year, day = int(parts["y"]) if parts["y"] else None, int(parts["d"] or 0)
    try:
        date(year or 2000, month, day)
    except ValueError:
        return None
    return year, month, day


def _relative(words: str, today: date) -> list[str]:
    monday = today - timedelta(days=today.weekday())
    match words:
        case "today" | "tonight":
            return _days(today, 1)
        case "yesterday":
            return _days(today - timedelta(days=1), 1)
        case "the day before yesterday":
            return _days(today - timedelta(days=2), 1)
        case "this week":
            return _days(monday, 7)
        case "last week":
            return _days(monday - timedelta(days=7), 7)
        case "this month":
            return [f"@{today:%Y-%m}"]
        case "last month":
            return [f"@{today.replace(day=1) - timedelta(days=1):%Y-%m}"]
        case "this year":
            return [f"@{today.year:04}"]
        case "last year":
            return [f"@{today.year - 1:04}"]
    return _days(_last_weekday(words, today), 1)


def _last_weekday(words: str, today: date) -> date:
    name = words.rsplit(" ", maxsplit=1)[-1]
    number = _WEEKDAYS.index(name) if name in _WEEKDAYS else min("一二三四五六日".find(words[-1]) % 7, 6)
    back = (today.weekday() - number) % 7
    return today - timedelta(days=back or (7 if words.startswith(("last", "上")) else 0))


def _days(first: date, count: int) -> list[str]:
    return [f"@{first + timedelta(days=number):%Y-%m-%d}" for number in range(count)]
